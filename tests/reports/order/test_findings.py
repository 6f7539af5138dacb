import pytest

from reports.order.conftest import MODELS, made_up
from saccade.reports.order.findings import SET, Findings, summary


def test_a_set_that_loses_nothing_beside_sequences_that_do_reproduces_the_claim(content):
    verdict = Findings(content).verdict
    assert verdict.result == "reproduced" and "every other model something" in verdict.reason


@pytest.mark.parametrize(
    ("changed", "result", "words"),
    [
        ({"rnnsearch": (30.0, 30.0)}, "reproduced in part", "rnnsearch loses nothing beyond twice the error"),
        ({SET: (8.0, 4.0)}, "reproduced in part", "does not score the same"),
        ({SET: (0.0, 0.0)}, "reproduced in part", "transformer without positions got nothing right"),
        ({"rnnsearch": (0.0, 0.0)}, "reproduced", "and transformer something"),
        ({"rnnsearch": (0.0, 0.0), "transformer": (0.5, 0.0)}, "reproduced in part", "no other model got anything"),
        (dict.fromkeys(MODELS, (0.0, 0.0)), "nothing can be concluded", "no model got anything right"),
    ],
)
def test_the_numbers_decide(changed, result, words):
    verdict = Findings(made_up({**MODELS, **changed})).verdict
    assert verdict.result == result and words in verdict.reason


@pytest.mark.parametrize("deviations", [{"self-attention": 1e-3}, {"convolution": 1e-16}])
def test_a_layer_that_is_not_what_it_should_be_decides_alone(deviations):
    verdict = Findings(made_up(deviations=deviations)).verdict
    assert verdict.result == "not reproduced" and next(iter(deviations)) in verdict.reason


def test_the_tables(content):
    found = Findings(content)
    assert found.table()[1] == ["rnnsearch", "30.00 ± 1.00", "10.00 ± 1.00", "+20.00 ± 0.00", "66.7 %"]
    assert found.exact_table()[1] == ["self-attention", "equivariant", "3.0e-16", "equivariant"]
    assert found.exact_table()[-1] == ["convolution", "not equivariant", "5.0e-01", "not equivariant"]
    untaught = Findings(made_up({**MODELS, SET: (0.0, 0.0)}))
    assert untaught.table()[-1][-1] == "-"


def test_the_summary_ends_with_what_the_numbers_say(content):
    assert summary(content).splitlines()[-1].startswith("reproduced: of the layers, exactly those")
