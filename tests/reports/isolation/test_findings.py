import pytest

from reports.isolation.conftest import LOST, made_up
from saccade.reports.isolation.findings import EXACT, Findings, summary
from saccade.reports.isolation.forgetting import SOFT, SPARSE, UNIFORM
from tiers import every


def test_what_is_forgotten_is_a_difference_seed_by_seed(content):
    found = Findings(content)
    assert found.forgotten(UNIFORM, "sgd").value == pytest.approx(0.91)
    assert found.more(UNIFORM, SOFT, "sgd").text() == "0.70 ± 0.00"
    assert found.forgotten(SPARSE, "adam").text() == "0.00 ± 0.00" and found.kept(SPARSE, "adam") == "3 of 3"
    assert found.kept(SOFT, "sgd") == "0 of 3" and list(found.graphs) == ["uniform", "softmax", "sparsemax"]


@every(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"seeds": 1}, "not decided"),
        ({"deviation": 2 * EXACT}, "contradicted"),
        ({"leak": 1e-300}, "contradicted"),
        ({"same": False}, "contradicted"),
        ({"lost": {**LOST, UNIFORM: 0.1}}, "contradicted"),  # the soft ones forget more
        ({"lost": {**LOST, SOFT: 0.0}}, "not decided"),  # nothing is forgotten by soft weights, as by sparse ones
        ({"adam": 0.0}, "not decided"),  # by adam nothing is forgotten
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_tables_have_a_row_a_gate_and_a_row_a_normalizer(content):
    found = Findings(content)
    header, first, *_ = found.table("sgd")
    assert header[:5] == ["gate", "weight", "first task, before", "after", "forgotten"] and first[0] == UNIFORM
    assert first[4] == "91.0 ± 1.2" and len(found.table("adam")) == 10
    assert found.gradients()[1] == ["uniform", "2.0e-16", "9 of 1,320", "0.0e+00"]
    text = summary(content)
    assert "trained by adam, percent" in text and "\nreproduced: each value's gradient is its weights" in text
    assert "bit for bit: reproduced, 3 of 3 seeds by sgd and 3 of 3 seeds by adam" in text
