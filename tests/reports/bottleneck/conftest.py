import pytest

from saccade.reports.bottleneck.codes import AUTOENCODER, CODES, PIXELS, PRINCIPAL
from saccade.reports.bottleneck.copying import ATTENTION, VECTOR

LENGTHS = (10, 100, 1000)
SPENT = {"steps": 9, "seconds": 1.5, "parameters": 1000}
COPIED = {ATTENTION: (1.0, 0.99, 0.95), VECTOR: (0.9, 0.3, 0.1)}
ERRORS, NAMED = (0.05, 0.04, 0.03, 0.02, 0.015, 0.01), (0.4, 0.6, 0.8, 0.85, 0.88, 0.9)


def made_up(copied=COPIED, errors=ERRORS, named=NAMED, seeds=3):
    """report.json of shares that are copied by length, and of codes; seeds differ by a point."""
    drawn = ["0f" * 2] * 10
    rows = [
        {"part": "codes", "model": PIXELS, "code": 0, "seed": 0, "error": 0.0, "right": 0.92, "shown": drawn},
        *(
            {"part": "codes", "model": PRINCIPAL, "code": code, "seed": 0, "error": 0.06, "right": 0.5}
            for code in CODES
        ),
    ]
    for seed in range(1, seeds + 1):
        for model, shares in copied.items():
            lengths = {
                str(length): {"sequences": 20, "right": share - 0.005 * seed, "bits": 3.0 * length * share - 1}
                for length, share in zip(LENGTHS, shares, strict=True)
            }
            rows.append({"part": "copying", "model": model, "seed": seed, "lengths": lengths, **SPENT})
        for code, error, right in zip(CODES, errors, named, strict=True):
            about = {"part": "codes", "model": AUTOENCODER, "code": code, "seed": seed}
            about |= {"error": error + 1e-4 * seed, "right": right + 1e-3 * seed}
            rows.append({**about, **({"shown": drawn} if seed == 1 else {}), **SPENT})
    runs = {
        str(place): {
            **{key: row[key] for key in ("model", "seed", *SPENT)},
            "budget": {"max_steps": 9, "max_minutes": 1},
        }
        for place, row in enumerate(rows)
        if "steps" in row
    }
    arguments = {"data": "some digits", "width": 64, "side": 2}
    where = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    return {"report": "bottleneck", "command": "c", "arguments": arguments, "runs": runs, "rows": rows, **where}


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
