import pytest

from reports.regression.conftest import POWERS, made_up
from saccade.reports.regression.findings import Findings, summary
from tiers import every


def test_errors_that_fall_as_theory_says_reproduce_claim(content):
    found = Findings(content)
    assert found.verdict.result == "reproduced" and "within 0.1: reproduced, n^(-0.800 ± " in found.verdict.reason
    assert found.power("leave-one-out").value == pytest.approx(-0.85)
    assert found.power("best bandwidth", "bandwidth").value == pytest.approx(-0.2)
    assert found.excess == pytest.approx(1.4 * 512**-0.05)


@every(
    ("changed", "error", "result"),
    [
        ({"best bandwidth": (-0.5, 1.0)}, 0.01, "contradicted"),
        ({"best bandwidth": (-1.0, 1.0)}, 0.01, "contradicted"),
        ({"mean": (-0.4, 1.0)}, 0.01, "contradicted"),
        ({}, 1.0, "not decided"),
        ({"best bandwidth": (-0.77, 1.0)}, 0.01, "reproduced"),
    ],
)
def test_the_numbers_decide(changed, error, result):
    assert Findings(made_up({**POWERS, **changed}, error=error)).verdict.result == result


def test_one_number_of_points_decides_nothing():
    assert Findings(made_up(counts=(64,))).verdict.result == "not decided"


def test_table_has_row_for_each_number_of_points_and_powers(content):
    content["rows"] = [row for row in content["rows"] if row["way"] != "learned kernel" or row["n"] < 500]
    found = Findings(content)
    header, first, *_, last, powers, theory = found.table()
    assert header[:5] == ["points", "mean", "best bandwidth", "leave-one-out", "learned kernel"]
    assert (
        first[0] == "64" and last[4] == "" and powers[2].startswith("-0.800") and theory[1:4] == ["0", "-0.80", "-0.80"]
    )
    assert found.seeds["learned kernel"] == 4
    assert "reproduced: by the best bandwidth" in summary(content)


def test_without_a_learned_kernel_there_is_no_column_of_it():
    found = Findings(made_up({way: power for way, power in POWERS.items() if way != "learned kernel"}))
    assert found.ways == ["mean", "best bandwidth", "leave-one-out"] and found.verdict.result == "reproduced"
