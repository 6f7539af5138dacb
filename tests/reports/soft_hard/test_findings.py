from reports.conftest import row_of
from reports.soft_hard.conftest import VALUES, made_up, noise_of
from saccade.reports.soft_hard.findings import Findings, summary
from tiers import every

XU = "reinforce, as in the paper"
BEHIND = dict.fromkeys([way for way in VALUES if way != "soft"], 10.0)


@every(
    ("changed", "result", "words"),
    [
        ({}, "reproduced", "rnnsearch reinforce does as well: contradicted, -2.00 ± 0.00"),
        ({XU: 22.0}, "reproduced", "rnnsearch reinforce, as in the paper does as well: reproduced, +2.00 ± 0.00"),
        ({XU: 19.7}, "reproduced", "rnnsearch reinforce, as in the paper does as well: reproduced, -0.30 ± 0.00"),
        (BEHIND, "contradicted", "every translator is behind, trained as the paper trains"),
        (
            {XU: 19.0, "straight-through": 21.0},
            "contradicted",
            "decides nothing, rnnsearch reinforce does as well: contradicted",
        ),
        (dict.fromkeys(VALUES, 0.0), "not decided", "nothing can be concluded: no model got anything right"),
    ],
)
def test_the_numbers_decide(changed, result, words):
    verdict = Findings(made_up(changed, translators=("rnnsearch",))).verdict
    assert verdict.result == result and words in verdict.reason


def test_one_translator_that_is_behind_decides_nothing_of_all(content):
    assert Findings(content).verdict.result == "reproduced"
    verdict = Findings(made_up(BEHIND)).verdict
    assert verdict.result == "not decided"
    assert verdict.reason.startswith("that every translator does as well is not shown, trained as the paper trains; ")


def test_one_seed_decides_nothing():
    for changed in ({}, BEHIND):
        assert Findings(made_up(changed, seeds=1)).verdict.result == "not decided"


def test_without_the_papers_training_nothing_is_decided(content):
    content["rows"] = [row for row in content["rows"] if not row["model"].endswith(XU)]
    verdict = Findings(content).verdict
    assert verdict.result == "not decided" and "trained as the paper trains" in verdict.reason


def test_a_loss_that_is_not_excluded_is_not_none():
    """A row that is not behind beyond its error may still lose more than counts as none."""
    content = made_up(BEHIND, translators=("rnnsearch",))
    for row in content["rows"]:
        if row["model"] == f"rnnsearch {XU}" and "score" in row:
            row.update(row_of(f"rnnsearch {XU}", 19.8, slant=0.1, seed=row["seed"], measured="score"))
    found = Findings(content)
    assert found.beside(f"rnnsearch {XU}").found.error > 0.2
    assert found.said()[f"rnnsearch {XU}"] == "not decided" == found.verdict.result
    assert "as in the paper does as well: not decided, -0.20 ± " in found.verdict.reason


def test_the_tables(content):
    found = Findings(content)
    assert found.translators == ["rnnsearch", "luong"]
    assert found.table()[1][:3] == ["rnnsearch soft", "20.00 ± 1.13", ""]
    assert found.table()[2][:3] == ["rnnsearch reinforce", "18.00 ± 1.13", "-2.00 ± 0.00"]
    header, soft, reinforce, *_ = found.noise()
    assert header == ["at the weights of", "learned baseline", "leave-one-out", "as in the paper"]
    assert soft == ["rnnsearch soft, seed 1", "-", "2.00e+00 ± 3e-01", "-"]
    assert reinforce == ["rnnsearch reinforce, seed 1", "4.00e+00 ± 6e-01", "2.00e+00 ± 3e-01", "-"]


def test_variances_are_compared_batch_by_batch(content):
    first, *_ = Findings(content).ratios()
    told = "at the weights of rnnsearch reinforce, seed 1, leave-one-out has 0.5 times the variance (0.5 to 0.5)"
    assert first == f"{told}, beside the learned baseline"
    content["rows"] = [row for row in content["rows"] if "estimators" not in row]
    content["rows"].append(noise_of("luong reinforce", learned_baseline=0.0, leave_one_out=1.0))
    assert Findings(content).ratios()[0].endswith("no variance to compare, beside the learned baseline")


def test_the_summary_ends_with_what_the_numbers_say(content):
    assert (
        summary(content)
        .splitlines()[-1]
        .startswith("reproduced: every translator does as well, trained as the paper trains")
    )
