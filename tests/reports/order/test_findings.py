import pytest

from reports.order.conftest import MODELS, made_up
from saccade.reports.order.findings import SET, Findings, summary
from tiers import every


def test_a_set_without_loss_reproduces_the_claim(content):
    verdict = Findings(content).verdict
    assert verdict.result == "reproduced" and "rnnsearch loses something: reproduced, +20.00 ± 0.00" in verdict.reason


@every(
    ("changed", "result", "words"),
    [
        ({"rnnsearch": (30.0, 30.0)}, "not decided", "rnnsearch loses something: not decided, +0.00 ± 0.00"),
        ({"rnnsearch": (30.0, 31.0)}, "contradicted", "rnnsearch loses something: contradicted, -1.00 ± 0.00"),
        ({SET: (8.0, 4.0)}, "contradicted", "transformer without positions loses less than 2%: contradicted, +4.00"),
        ({SET: (8.0, 7.9)}, "reproduced", "transformer without positions loses less than 2%: reproduced, +0.10"),
        ({SET: (0.0, 0.0)}, "not decided", "transformer without positions got nothing right"),
        ({"rnnsearch": (0.0, 0.0)}, "reproduced", "+0.00 ± 0.00; rnnsearch got nothing right"),
        ({"rnnsearch": (0.0, 0.0), "transformer": (0.5, 0.0)}, "not decided", "rnnsearch, transformer got nothing"),
        (dict.fromkeys(MODELS, (0.0, 0.0)), "not decided", "nothing can be concluded: no model got anything right"),
    ],
)
def test_the_numbers_decide(changed, result, words):
    verdict = Findings(made_up({**MODELS, **changed})).verdict
    assert verdict.result == result and words in verdict.reason


@pytest.mark.parametrize("deviations", [{"self-attention": 1e-3}, {"convolution": 1e-16}])
def test_layer_that_is_not_what_it_should_be_decides_alone(deviations):
    verdict = Findings(made_up(deviations=deviations)).verdict
    assert verdict.result == "contradicted" and next(iter(deviations)) in verdict.reason


def test_the_tables(content):
    found = Findings(content)
    assert found.table()[1] == ["rnnsearch", "30.00 ± 1.13", "10.00 ± 1.13", "+20.00 ± 0.00", "66.7 %"]
    assert found.exact_table()[1] == ["self-attention", "equivariant", "3.0e-16", "equivariant"]
    assert found.exact_table()[-1] == ["convolution", "not equivariant", "5.0e-01", "not equivariant"]
    untaught = Findings(made_up({**MODELS, SET: (0.0, 0.0)}))
    assert untaught.table()[-1][-1] == "-"


def test_the_summary_ends_with_what_the_numbers_say(content):
    assert summary(content).splitlines()[-1].startswith("reproduced: of the layers, exactly attention")
