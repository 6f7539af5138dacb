import statistics

from reports.experts.conftest import WITHOUT, made_up
from saccade.reports.experts.findings import DENSE, Findings, Seeds, summary
from saccade.reports.experts.paper import PAPER
from tiers import every


@every(
    ("changed", "more", "result", "words"),
    [
        ({}, {}, "reproduced", "even loads out is reproduced, that they lower perplexity reproduced"),
        ({"load 0.2": {"load": 3.01}}, {}, "not decided", "even loads out is not decided"),
        ({"load 0.2": {"load": 4.0}}, {}, "contradicted", "even loads out is contradicted"),
        ({WITHOUT: {"perplexity": 35.65}}, {"spread": 0.5}, "not decided", "lower perplexity not decided"),
        ({WITHOUT: {"perplexity": 30.0}}, {}, "contradicted", "they lower perplexity contradicted"),
        ({}, {"seeds": 1}, "not decided", "even loads out is not decided"),
        ({}, {"quick": True}, "reproduced", "17.8 times the mean without losses and 1.14 times with both"),
        ({}, {"score": 0.0}, "not decided", "nothing can be concluded: no model got anything right"),
    ],
)
def test_the_numbers_decide(changed, more, result, words):
    verdict = Findings(made_up(changed, **more)).verdict
    assert verdict.result == result and words in verdict.reason


def test_every_setting_is_held_against_no_loss():
    claims = Findings(made_up()).claims()
    assert len(claims) == 2 * (len(PAPER) - 1) and {claim.found.result for claim in claims} == {"reproduced"}
    assert claims[0].text == "CV(load) is lower with importance 0.2 than with no loss"


def test_means_and_spreads_are_over_seeds():
    values = [1.0, 1.5, 1.1]
    assert Seeds(values).text(2) == f"1.20 ± {statistics.stdev(values):.2f}" and Seeds([1.0]).text(2) == "1.00"
    assert Seeds([1.0, 2.0]).above(Seeds([0.0, 1.0])).result == "not decided"  # 1 by an error of 0.71
    assert Seeds([1.0, 1.1]).above(Seeds([2.0, 2.1])).result == "contradicted"


def test_the_tables(content):
    found = Findings(content)
    header, dense, without, *_ = found.table()
    assert header[:3] == ["losses", "test perplexity", "BLEU"]
    assert header[3:] == ["CV(importance)", "CV(load)", "max / mean load", "the same on test"]
    assert dense == [DENSE, "40.0000 ± 0.0100", "30.0000 ± 0.0000", "", "", "", ""]
    assert without[3:] == ["3.04 ± 0.01", "3.01 ± 0.01", "17.80 ± 0.01", "2.50 ± 0.01"]
    assert found.knowledge()[1] == [WITHOUT, "0.50 ± 0.01", "0.25 ± 0.01"] and len(found.knowledge()) == 7
    assert not found.has_chance
    assert found.expenses()[1] == [DENSE, "3", "5", "2", "1,000", "1,234"]


def test_the_summary_ends_with_what_the_numbers_say(content):
    assert summary(content).splitlines()[-1].startswith("reproduced: that losses even loads out is reproduced")
