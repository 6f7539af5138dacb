import pytest
import torch

from models.translators import LENGTHS, SOURCE, TARGET
from saccade.data.dataset import Lazy
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.models.rnnsearch import Options as ModelOptions
from saccade.models.rnnsearch import RNNSearch
from saccade.tasks.generate.batch import Batch
from saccade.tasks.task import Job
from saccade.tasks.translate import TRANSLATE
from saccade.tasks.translate.codec import Pairs
from studies import soft_hard as module
from studies.frame.claims import judged
from studies.frame.training import settings
from studies.soft_hard import LEARNED, PAPER, STUDY, Findings, Options, estimators, noise
from study_rows import complete, content_of, described, row_of, run_of
from tiers import every, rest_slow

VALUES = {"soft": 20.0, "reinforce": 18.0, "reinforce, leave-one-out": 19.0, "reinforce, entropy bonus": 20.0}
VALUES |= {"reinforce, as in the paper": 20.0, "straight-through": 17.0}


NAMES = {"learned_baseline": "learned baseline", "leave_one_out": "leave-one-out", "paper": "as in the paper"}


def noise_of(model, **variances):
    """A row of noise, with variances that are those numbers on every batch but one."""
    estimators = {
        NAMES.get(name, name): {"variance": value, "signal": 0.5, "batches": [value] * 7 + [value * 1.5]}
        for name, value in variances.items()
    }
    sizes = {"batches": 8, "sentences": 8, "draws": 8}
    return {"model": model, "seed": 1, "measured": "noise", **sizes, "estimators": estimators, "command": ""}


def made_up(changed=None, translators=("rnnsearch", "luong"), seeds=2):
    """report.json of scores and noise; the changed values are those of the first translator."""
    rows, runs = [], []
    for place, translator in enumerate(translators):
        for way, value in {**VALUES, **({} if place else changed or {})}.items():
            name = f"{translator} {way}"
            learned = {"reinforce, as in the paper": {"paper": 8.0}, "soft": {}, "straight-through": {}}
            own = learned.get(way, {"learned_baseline": 4.0})
            rows += [row_of(name, value, seed=seed, measured="score") for seed in range(1, 1 + seeds)]
            rows.append(noise_of(name, leave_one_out=2.0, **own))
            runs += [run_of(name, seed) for seed in range(1, 1 + seeds)]
    content = content_of("soft-hard", runs, rows)
    content["arguments"] |= {"samples": 2, "entropy_bonus": 0.02}
    return content


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()


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


def test_a_loss_that_is_not_excluded_is_not_decided():
    """A row that is not behind beyond its error may still lose more than counts as none."""
    content = made_up(BEHIND, translators=("rnnsearch",))
    for row in content["rows"]:
        if row["model"] == f"rnnsearch {XU}" and "score" in row:
            row.update(row_of(f"rnnsearch {XU}", 19.8, slant=0.1, seed=row["seed"], measured="score"))
    found = Findings(content)
    assert found.beside(f"rnnsearch {XU}").number.error > 0.2
    assert judged([claim.number for claim in found.paper.values()]) == ["not decided"] == [found.verdict.result]
    assert "as in the paper does as well: not decided, -0.20 ± " in found.verdict.reason


def test_the_tables(content):
    found = Findings(content)
    assert found.translators == ["rnnsearch", "luong"]
    assert found.fields()["scores"][1][:3] == ["rnnsearch soft", "20.00 ± 1.13", ""]
    assert found.fields()["scores"][2][:3] == ["rnnsearch reinforce", "18.00 ± 1.13", "-2.00 ± 0.00"]
    header, soft, reinforce, *_ = found.fields()["noise"]
    assert header == ["at the weights of", "learned baseline", "leave-one-out", "as in the paper"]
    assert soft == ["rnnsearch soft, seed 1", "-", "2.00e+00 ± 3e-01", "-"]
    assert reinforce == ["rnnsearch reinforce, seed 1", "4.00e+00 ± 6e-01", "2.00e+00 ± 3e-01", "-"]


def test_variances_are_compared_batch_by_batch(content):
    first, *_ = Findings(content).fields()["ratios"].split("\n\n")
    told = "At the weights of rnnsearch reinforce, seed 1, leave-one-out has 0.5 times the variance (0.5 to 0.5)"
    assert first == f"{told}, beside the learned baseline."
    content["rows"] = [row for row in content["rows"] if "estimators" not in row]
    content["rows"].append(noise_of("luong reinforce", learned_baseline=0.0, leave_one_out=1.0))
    assert Findings(content).fields()["ratios"].endswith("no variance to compare, beside the learned baseline.")


class Untrained(Job):
    """Batches and models without a corpus."""

    def batch(self, step):
        return Batch(Padded(SOURCE, LENGTHS), TARGET)

    def build(self):
        return RNNSearch(13, 11, self.settings)


@pytest.fixture
def trained():
    def make(**options):
        settings = ModelOptions(hidden_dim=10, embedding_dim=6, **options)
        task = Untrained(TRANSLATE, Pairs(None, None, 1, settings), Lazy(lambda: None))
        return task, task.build()

    return make


@pytest.mark.slow
def test_every_estimator_is_tried_at_the_same_weights(trained, monkeypatch):
    monkeypatch.setattr(module, "BATCHES", 2)
    task, model = trained(read="reinforce", samples=3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    wanted = estimators(2, 0.1)
    found = noise(wanted, task, model, 1)
    assert list(found) == [name for name in wanted if name != PAPER]
    assert all(len(one["batches"]) == 2 for one in found.values())
    assert all(one["variance"] > 0 for one in found.values())
    assert noise(wanted, task, model, 1) == found != noise(wanted, task, model, 2)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@pytest.mark.slow
def test_the_papers_estimator_is_right_but_noisier(trained):
    task, model = trained(**estimators(2, 0.1)[PAPER])
    model.reinforce.average.fill_(12.0)
    found = noise(estimators(2, 0.1), task, model, 1)
    assert list(found) == ["leave-one-out", PAPER, "straight-through"]
    assert found[PAPER]["variance"] > found["leave-one-out"]["variance"] > 0
    assert model.reinforce.average == 12.0


@pytest.mark.parametrize("options", rest_slow([{}, {"read": "straight-through"}, estimators(2, 0.1)["leave-one-out"]]))
def test_an_untrained_baseline_is_left_out(trained, options):
    task, model = trained(**options)
    assert list(noise(estimators(2, 0.1), task, model, 1)) == ["leave-one-out", "straight-through"]


def test_more_draws_for_a_sentence_are_less_noise(trained):
    task, model = trained(read="reinforce")
    few, many = (noise({LEARNED: estimators(samples, 0.1)[LEARNED]}, task, model, 1)[LEARNED] for samples in (2, 32))
    assert many["variance"] < few["variance"] / 4


def test_the_page_is_complete(tmp_path, content):
    words = ["1502.03044", "**reproduced**", "reads a sentence 2 times", "is 0.02 of a nat", "`s|1`", "100 sentences"]
    words += ["has 0.5 times the variance", "8 batches of 8 sentences", "the entropy 0.02, with 2 draws"]
    complete(STUDY, content, tmp_path, words, "soft-hard")
    said = described(tmp_path / "soft-hard.svg")
    assert said["title"] == "BLEU with soft attention and hard"
    assert said["desc"].startswith("rnnsearch soft: BLEU 20; rnnsearch reinforce: BLEU 18")


def test_variants_differ_in_their_reads_alone(tmp_path):
    ways = STUDY.measure.variants(Options(data="dates", samples=3, entropy_bonus=0.5, reward_weight=0.25))
    made = {one.name: settings(Options(data="dates"), one, 1, tmp_path, 1.0) for one in ways}
    reads = {name: (one.read, one.baseline, one.samples, one.entropy_bonus) for name, one in made.items()}
    xu = {name: one for name, one in made.items() if name.endswith("reinforce, as in the paper")}
    assert {(one.charge, one.soft_share) for one in xu.values()} == {("whole", 0.5)} and len(xu) == 2
    assert {(one.charge, one.soft_share) for name, one in made.items() if name not in xu} == {("to-come", 0.0)}
    assert {one.reward_weight for one in xu.values()} == {0.25}
    assert {one.reward_weight for name, one in made.items() if name not in xu} == {1.0}
    assert {name: way for name, way in reads.items() if name.startswith("luong")} == {
        "luong soft": ("soft", "learned", 1, 0.0),
        "luong reinforce": ("reinforce", "learned", 3, 0.0),
        "luong reinforce, leave-one-out": ("reinforce", "leave-one-out", 3, 0.0),
        "luong reinforce, entropy bonus": ("reinforce", "learned", 3, 0.5),
        "luong reinforce, as in the paper": ("reinforce", "moving-average", 3, 0.5),
        "luong straight-through": ("straight-through", "learned", 1, 0.0),
    }
    same = {one.learning_rate for one in made.values()}, {one.hidden_dim for one in made.values()}
    assert [len(values) for values in same] == [1, 1] and len(made) == 12


def test_quick_has_time_for_one_translator():
    assert {one.model for one in STUDY.measure.variants(Options(quick=True))} == {"rnnsearch"}


@every(
    ("said", "words"),
    [
        ({"samples": 1}, "--samples: expected a number from 2 to 1000, got 1"),
        ({"entropy_bonus": 0.0}, "--entropy-bonus: expected a number above 0, got 0.0"),
        ({"reward_weight": -1.0}, "--reward-weight: expected a number above 0, got -1.0"),
        ({"seeds": 0}, "--seeds: expected"),
    ],
)
def test_options_that_mean_nothing(said, words):
    with pytest.raises(ArgumentError, match=words):
        Options(**said)
