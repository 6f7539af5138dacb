import pytest

from reports.conftest import row_of
from reports.scores.conftest import VALUES, made_up
from saccade.reports.scores.findings import Findings, summary


@pytest.mark.parametrize(
    ("changed", "result", "words"),
    [
        ({}, "reproduced", "none → location: holds; location → general: holds"),
        ({"general": 12.0}, "reproduced in part", "3 of 4 steps hold"),
        ({"general": 11.0}, "reproduced in part", "location → general: the other way round; general → local-m: holds"),
        (
            dict.fromkeys(VALUES, 10.0),
            "not reproduced",
            "0 of 4 steps hold beyond twice the error (none",
        ),
        (dict.fromkeys(VALUES, 0.0), "nothing can be concluded", "no model got anything right"),
    ],
)
def test_the_numbers_decide_step_by_step(changed, result, words):
    verdict = Findings(made_up(changed)).verdict
    assert verdict.result == result and words in verdict.reason


def test_a_step_is_decided_by_the_error_of_the_difference(content):
    """Where other sentences suit one of the two, their choice is in it."""
    for row in content["rows"]:
        if row["model"] == "location":
            row.update(row_of("location", 12.0, slant=1.0))
    steps = {step: said for step, _, said in Findings(content).order()[1:]}
    assert steps["none → location"] == "within the error" and steps["general → local-m"] == "holds"


def test_the_tables(content):
    found = Findings(content)
    header, none, location, *_ = found.table()
    assert header == ["score", "BLEU", "beside none", "steps", "seconds", "tokens/s in training", "parameters"]
    assert none == ["none", "10.00 ± 1.00", "", "5", "2", "1,234", "1,000"]
    assert location[:3] == ["location", "12.00 ± 1.00", "+2.00 ± 0.00"]
    assert found.order()[1] == ["none → location", "+2.00 ± 0.00", "holds"]


def test_the_summary_ends_with_what_the_numbers_say(content):
    assert summary(content).splitlines()[-1].startswith("reproduced: every step is better than the one before")
