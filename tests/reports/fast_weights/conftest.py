import pytest
import torch

from saccade.reports.fast_weights.layers import DENSE, LAYERS, SEPARABLE

SPENT = {"steps": 9, "seconds": 1.5, "parameters": 1000}
PAIRS = (2, 8, 32)
RIGHT = {"attention": (1.0, 1.0, 0.99), DENSE: (0.6, 0.3, 0.1), SEPARABLE: (0.5, 0.2, 0.1)}


def made_up(right=RIGHT, varied=0.3, still=1e-31, distance=2e-15, seeds=3, layers=tuple(LAYERS)):
    """report.json of layers that answer shares of the questions; seeds differ by half a point."""
    rows = []
    for seed in range(1, seeds + 1):
        for name in layers:
            shares = zip(PAIRS, right.get(name, (0.9, 0.8, 0.7)), strict=True)
            pairs = {str(count): share - 0.005 * seed for count, share in shares}
            variation = still if name in (DENSE, SEPARABLE) else varied + 0.01 * seed
            row = {"model": name, "seed": seed, "pairs": pairs, "variation": variation, "distance": distance}
            rows.append({**row, **({"shown": 3 * [torch.eye(4).tolist()]} if seed == 1 else {}), **SPENT})
    runs = {
        str(place): {
            **{key: row[key] for key in ("model", "seed", *SPENT)},
            "budget": {"max_steps": 9, "max_minutes": 1},
        }
        for place, row in enumerate(rows)
    }
    where = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    return {"report": "fast-weights", "command": "c", "arguments": {}, "runs": runs, "rows": rows, **where}


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
