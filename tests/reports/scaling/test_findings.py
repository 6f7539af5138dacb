import pytest

from saccade.reports.difference import packed_counts
from saccade.reports.scaling.answering import HARD, MODELS, SOFT
from saccade.reports.scaling.findings import Findings, summary

SIDES = (28, 60, 100, 200, 400, 800)
POWERS = {"RAM": (0.0, 2.0), HARD: (0.5, 0.05), SOFT: (0.9, 0.01)}
POWERS |= {"CNN of the paper": (0.8, 0.001), "residual CNN": (1.0, 0.01)}
ERRORS = {60: 1, 100: 5, 200: 8}


def content(powers=POWERS, error=0.01):
    """A report of models whose times are powers of the pixels: from their names to exponent and factor."""
    rows = [
        {
            "measured": "time",
            "side": side,
            "rounds": 9,
            "models": {
                name: {
                    "seconds": 1e-3 * factor * side ** (2 * power),
                    "error": 1e-3 * error * factor * side ** (2 * power),
                    "flops": round(1e6 * factor * side ** (2 * power)),
                }
                for name, (power, factor) in powers.items()
            },
        }
        for side in SIDES
    ]
    run = {"steps": 5, "seconds": 1.0, "parameters": 7, "metrics": {"accuracy": 0.5}, "command": "c"}
    runs = {"ram-1": {"model": "ram", "seed": 1, **run, "hardware": {"device": "cpu"}, "versions": {"torch": "2"}}}
    for side, wrong in ERRORS.items():
        about = {"paths": 10, "wrong": packed_counts([wrong] * 20), "error": wrong / 10}
        rows.append({"model": "ram", "seed": 1, "measured": "size", "side": side, **about})
    return {"rows": rows, "runs": runs, "data": "translated", "arguments": {"seeds": 1}, "command": "c"}


def test_costs_that_grow_as_is_claimed_reproduce_it():
    found = Findings(content())
    assert found.verdict.result == "reproduced" and found.long == [200, 400, 800]
    assert list(found.models) == list(MODELS)
    assert found.time("RAM").value == pytest.approx(0.0, abs=1e-9)
    assert found.time(SOFT).value == pytest.approx(0.9) and found.operations("residual CNN") == pytest.approx(1.0)
    assert "the time of RAM does not grow: reproduced, pixels^(0.00 ± 0.01)" in found.verdict.reason


@pytest.mark.parametrize(
    ("changed", "error", "result"),
    [
        ({"RAM": (0.5, 0.01)}, 0.01, "contradicted"),
        ({SOFT: (0.0, 20.0)}, 0.01, "contradicted"),
        ({HARD: (0.9, 0.02)}, 0.01, "contradicted"),  # soft reads are cheaper
        ({}, 2.0, "not decided"),
    ],
)
def test_the_numbers_decide(changed, error, result):
    assert Findings(content({**POWERS, **changed}, error)).verdict.result == result


def test_tables_and_what_hard_reads_save():
    found = Findings(content())
    assert found.table()[0] == ["pixels a side", *POWERS] and len(found.table()) == len(SIDES) + 2
    assert found.table()[-1][1] == "0.00 ± 0.01" and found.counted()[-1][1] == "0.00"
    assert found.answered()[1:] == [
        ["ram", "60", "10.00", ""],
        ["ram", "100", "50.00", "+40.00 ± 0.00 points (standard errors: seeds not known, images 0.00)"],
        ["ram", "200", "80.00", "+70.00 ± 0.00 points (standard errors: seeds not known, images 0.00)"],
    ]
    assert "times as long as hard" in found.saved() and found.saved() in summary(content())
