import pytest

from studies.frame.options import Trained
from studies.frame.training import settings
from studies.scores import PUBLISHED, STUDY, VARIANTS, Findings, Options
from study_rows import complete, content_of, described, row_of, run_of, written
from tiers import every

VALUES = {"none": 10.0, "general": 12.0, "location": 15.0, "dot": 16.0, "local-m": 18.0, "local-p": 20.0}


def made_up(changed=None, models=VARIANTS, seeds=2):
    """report.json of scores; those outside the order are 14."""
    values = {**VALUES, **(changed or {})}
    rows = [(variant.name, seed) for variant in models for seed in range(1, 1 + seeds)]
    scores = [row_of(name, values.get(name, 14.0), seed=seed) for name, seed in rows]
    return content_of("scores", [run_of(name, seed) for name, seed in rows], scores)


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()


@every(
    ("changed", "result", "words"),
    [
        ({}, "reproduced", "none → general: reproduced, +2.00 ± 0.00; general → location: reproduced"),
        ({"dot": 17.0, "local-p": 17.0}, "contradicted", "dot → local-p: not decided, +0.00 ± 0.00"),
        ({}, "reproduced", "location → dot: reproduced, +1.00 ± 0.00; location → local-m: reproduced"),
        ({"location": 12.0}, "not decided", "general → location: not decided, +0.00 ± 0.00; location → dot: repro"),
        ({"location": 11.0}, "contradicted", "general → location: contradicted, -1.00 ± 0.00; location → dot: repr"),
        (dict.fromkeys(VALUES, 10.0), "not decided", "local-m → local-p: not decided, +0.00 ± 0.00"),
        (dict.fromkeys(VALUES, 0.0), "not decided", "nothing can be concluded: no model got anything right"),
    ],
)
def test_the_numbers_decide_step_by_step(changed, result, words):
    verdict = Findings(made_up(changed)).verdict
    assert verdict.result == result and words in verdict.reason


@every("changed", [{}, {"location": 11.0}])
def test_one_seed_decides_nothing(changed):
    verdict = Findings(made_up(changed, seeds=1)).verdict
    assert verdict.result == "not decided" and "one seed says nothing of how far others would" in verdict.reason


def test_the_order_is_that_of_the_papers_own_figures():
    """Luong, Pham, Manning 2015, tables 1 and 4."""
    before, after = zip(*PUBLISHED.values(), strict=True)
    assert before == (14.0, 17.3, 18.1, 18.6, 18.6, 19.0) and after == (None, 19.1, 19.3, 20.5, 20.4, 20.9)


def test_a_step_is_decided_by_the_error_of_the_difference(content):
    """The choice of sentences is in the error if other sentences suit one of the two."""
    for row in content["rows"]:
        if row["model"] == "location":
            row.update(row_of("location", 15.0, slant=4.0, seed=row["seed"]))
    steps = {step: verdict for step, _, verdict in Findings(content).fields()["order"][1:]}
    assert steps["general → location"] == "not decided" and steps["none → general"] == "holds"


def test_the_page_is_complete(tmp_path, content):
    words = ["1508.04025", "**reproduced**", "| none → general | +2.00 ± 0.00 | holds |", "100 sentences", "`s|1`"]
    words += ["| general | 17.3 | 19.1 | 12.00 ± 1.13 |", "| cosine | - | - | 14.00 ± 1.13 |", "| local-m, dot | - |"]
    words += ["| none | 10.00 ± 1.13 |  | 5 | 2 | 1,234 | 1,000 |", "| general | 12.00 ± 1.13 | +2.00 ± 0.00 |"]
    complete(STUDY, content, tmp_path, words, "scores")
    picture = described(tmp_path / "scores.svg")
    assert picture["title"] == "BLEU by what attention compares"
    assert picture["desc"].startswith("none: BLEU 10; general: BLEU 12; location: BLEU 15; dot: BLEU 16")


def test_the_claim_alone_is_six_rows(tmp_path):
    page = written(STUDY, made_up(models=STUDY.measure.variants(Options(claimed=True))), tmp_path)
    assert "| local-m → local-p | +2.00 ± 0.00 | holds |" in page and "| cosine |" not in page


def test_variants_differ_in_attention_and_score_alone(tmp_path):
    made = {one.name: vars(settings(Trained(data="dates"), one, 1, tmp_path, 1.0)) for one in VARIANTS}
    for options in made.values():
        assert {name for name in options if options[name] != made["general"][name]} <= {"attention", "score"}
    assert {name: (options["attention"], options["score"]) for name, options in made.items()} == {
        "none": ("none", "general"),
        "location": ("global", "location"),
        "dot": ("global", "dot"),
        "scaled dot": ("global", "scaled_dot"),
        "general": ("global", "general"),
        "additive": ("global", "additive"),
        "cosine": ("global", "cosine"),
        "local-m": ("local-m", "general"),
        "local-p": ("local-p", "general"),
    }
