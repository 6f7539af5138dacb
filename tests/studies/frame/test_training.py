import shlex
from pathlib import Path

import pytest

from commands import options
from saccade.cli.train import read_command
from saccade.tasks import load_task
from saccade.tasks.glimpse import GLIMPSE
from saccade.train.plan import fitted
from saccade.train.recipes import suit
from saccade.train.task import options_class
from studies.frame import training
from studies.frame.options import Trained
from studies.frame.study import load, make, names
from studies.frame.training import Trainings, Variant, _command, settings

ROWS = {
    "soft-hard": 6, "scores": 9, "length": 2, "order": 6, "experts": 3, "pooling": 7, "memory": 4, "pointing": 2,
}  # fmt: skip


def test_budgets_are_read_as_training_reads_them():
    variant = Variant("a", "rnnsearch")
    for typed, steps, minutes in (
        ({}, 600, 40.0),
        ({"max_steps": 3}, 3, None),
        ({"max_minutes": 2.0}, None, 2.0),
        ({"max_steps": 3, "max_minutes": 2.0}, 3, 2.0),
    ):
        run = settings(Trained(data="dates", **typed), variant, 1, Path("runs/a"), 40.0)
        assert (run.max_steps, run.max_minutes) == (steps, minutes)


def test_a_variant_has_its_own_values_and_else_the_recipe(tmp_path):
    variant = Variant("tall", "transformer", {"layers": 3, "dropout": 0.25})
    run = settings(Trained(data="dates", max_steps=5), variant, 2, tmp_path, 40.0)
    assert (run.layers, run.dropout, run.hidden_dim) == (3, 0.25, 64)
    assert (run.model, run.seed, run.max_steps, run.run) == ("transformer", 2, 5, str(tmp_path))


def test_variants_have_options_of_their_models():
    """But for eyes, which have some of the options of all eyes."""
    studies = [study for study in map(load, names()) if isinstance(study.measure, Trainings)]
    assert len(studies) > 9
    for study in (study for study in studies if study.measure.task is not GLIMPSE):
        for budget in ({"quick": True}, {"max_steps": 10}):
            for variant in study.measure.variants(study.options(data=study.measure.quick, **budget)):
                allowed = options_class(study.measure.task, variant.model).__dataclass_fields__
                assert variant.values.keys() <= allowed.keys(), (study.name, variant.name)


def test_threads_are_the_recipes_unless_they_are_given(tmp_path):
    small = Variant("small", "transformer", {})
    threads = [settings(Trained(data="dates", threads=count), small, 1, tmp_path, 40.0).threads for count in (None, 3)]
    assert threads == [1, 3]


def test_the_rows_of_quick_share_its_minutes(monkeypatch, tmp_path):
    """Together they train for less than five minutes; further seeds train as long as the first."""
    seen = []

    def stopped(kind, settings, given):
        seen.append(settings.max_minutes)
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training, "train", stopped)
    for name, rows in ROWS.items():
        study = load(name)
        for seeds in (1, 3):
            with pytest.raises(KeyboardInterrupt):
                make(study, study.options(quick=True, seeds=seeds))
            assert seen.pop() == pytest.approx(3.0 / rows)


def test_a_recipe_can_be_anothers(tmp_path):
    rates = [
        settings(Trained(data="dates"), Variant("a", "encoder-decoder", recipe=name), 1, tmp_path, 1.0).learning_rate
        for name in (None, "transformer")
    ]
    assert rates == [8e-3, 5e-3]


def test_a_command_means_the_options_that_it_was_made_from():
    kind = load_task("translate")
    for words in (
        ["--data", "dates", "--seed", "3", "--run", "my runs/a"],
        ["--data", "several-dates", "--max-minutes", "7", "--device", "cpu"],
        ["--data", "dates", "--model", "encoder-decoder", "--max-steps", "5", "--dropout", "0.5"],
        ["--data", "dates", "--max-steps", "600", "--max-minutes", "2"],
        ["--data", "dates", "--max-minutes", "1"],
    ):
        meant = options(kind, words)
        command = shlex.split(_command(kind, meant, {}, ()))
        assert command[:3] == ["saccade", "train", "translate"]
        assert options(kind, command[3:]) == meant


@pytest.fixture
def corpus(tmp_path):
    """A folder of so few pairs that `saccade train` takes another recipe than that of files."""
    for split, count in (("train", 40), ("val", 3), ("test", 3)):
        for side in ("de", "en"):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{side} {number}\n" for number in range(count)))
    return str(tmp_path)


@pytest.mark.parametrize("budget", [{"max_steps": 600}, {"max_minutes": 3.0}, {}])
def test_it_means_them_for_data_with_recipes_by_size(corpus, tmp_path, budget):
    kind, one = load_task("translate"), Variant("transformer", "transformer", {"label_smoothing": 0.2})
    report = Trained(data=corpus, source="de", target="en", **budget)
    meant = settings(report, one, 1, tmp_path / "run", 40.0)
    plan = {"warmup_steps": 60, "validation_steps": 17} if "max_minutes" in budget else {}
    meant = fitted(meant, plan, ())
    typed = shlex.split(_command(kind, meant, plan, {"label_smoothing"}))
    asked = read_command(kind, typed[3:])
    suited = suit(kind, asked.model, asked.data, asked.named)
    assert suited.reason.startswith("40 pairs") and options(kind, typed[3:], suited) == meant
    assert set(asked.named) >= {"hidden_dim", "warmup_steps", "validation_steps"}
