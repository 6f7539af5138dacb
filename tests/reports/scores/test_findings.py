from reports.conftest import row_of
from reports.scores.conftest import VALUES, made_up
from saccade.reports.scores.findings import ORDER, PUBLISHED, Findings, summary
from tiers import every


@every(
    ("changed", "result", "words"),
    [
        ({}, "reproduced", "none → general: reproduced, +2.00 ± 0.00; general → location: reproduced"),
        ({"dot": 17.0, "local-p": 17.0}, "contradicted", "dot → local-p: not decided, +0.00 ± 0.00"),
        ({}, "reproduced", "location → dot: reproduced, +1.00 ± 0.00; location → local-m: reproduced"),
        (
            {"location": 12.0},
            "not decided",
            "general → location: not decided, +0.00 ± 0.00; location → dot: reproduced",
        ),
        (
            {"location": 11.0},
            "contradicted",
            "general → location: contradicted, -1.00 ± 0.00; location → dot: reproduced",
        ),
        (dict.fromkeys(VALUES, 10.0), "not decided", "local-m → local-p: not decided, +0.00 ± 0.00"),
        (dict.fromkeys(VALUES, 0.0), "not decided", "nothing can be concluded: no model got anything right"),
    ],
)
def test_the_numbers_decide_step_by_step(changed, result, words):
    verdict = Findings(made_up(changed)).verdict
    assert verdict.result == result and words in verdict.reason


def test_one_seed_decides_nothing():
    for changed in ({}, {"location": 11.0}):
        verdict = Findings(made_up(changed, seeds=1)).verdict
        assert (
            verdict.result == "not decided"
            and "one seed says nothing of how far others would differ; 2 are the fewest" in verdict.reason
        )


def test_the_order_is_that_of_the_papers_own_figures():
    """Luong, Pham, Manning 2015, tables 1 and 4: location is above general, before and after unknowns are replaced."""
    figures = [PUBLISHED[name] for name in ORDER]
    assert [before for before, _ in figures] == [14.0, 17.3, 18.1, 18.6, 18.6, 19.0]
    assert [after for _, after in figures] == [None, 19.1, 19.3, 20.5, 20.4, 20.9]
    table = Findings(made_up()).published()
    assert ["location", "18.1", "19.3", "15.00 ± 1.13"] in table and ["cosine", "-", "-", "14.00 ± 1.13"] in table


def test_a_step_is_decided_by_the_error_of_the_difference(content):
    """Where other sentences suit one of the two, their choice is in it."""
    for row in content["rows"]:
        if row["model"] == "location":
            row.update({**row_of("location", 15.0, slant=4.0), "seed": row["seed"]})
    steps = {step: said for step, _, said in Findings(content).order()[1:]}
    assert steps["general → location"] == "not decided" and steps["none → general"] == "holds"


def test_the_tables(content):
    found = Findings(content)
    header, none, general, *_ = found.table()
    assert header == ["score", "BLEU", "beside none", "steps", "seconds", "tokens/s in training", "parameters"]
    assert none == ["none", "10.00 ± 1.13", "", "5", "2", "1,234", "1,000"]
    assert general[:3] == ["general", "12.00 ± 1.13", "+2.00 ± 0.00"]
    assert found.order()[1] == ["none → general", "+2.00 ± 0.00", "holds"]


def test_the_summary_ends_with_what_the_numbers_say(content):
    assert summary(content).splitlines()[-1].startswith("reproduced: none → general: reproduced, +2.00")
