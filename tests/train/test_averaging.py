import pytest
import torch

from saccade.train.averaging import needed, regular
from saccade.train.checkpoint import list_steps, load_best, load_weights, weights_file
from saccade.train.fit import train
from saccade.train.options import Options
from saccade.train.results import TrainState, measure
from saccade.train.run import Run
from saccade.train.trained import load_trained
from tiers import rest_slow
from tiny import Line, equal, weights
from tiny import line_options as options


def test_the_last_regular_steps_make_the_model_with_the_end():
    def tens(step):
        return step % 10 == 0

    assert regular([10, 20, 30], 30, tens, 1) == []
    assert regular([10, 20, 30, 35], 35, tens, 3) == [20, 30]
    assert regular([10, 14, 20], 20, tens, 5) == [10]  # at 14 the run was interrupted
    assert regular([10, 20, 30], 20, tens, 2) == [10]  # later steps are no part of it


def test_what_the_end_may_need_stays_wherever_it_comes():
    steps = range(10, 60, 10)
    assert needed(steps, TrainState(50), Options(checkpoint_steps=10, average=3)) == {30, 40, 50}
    assert needed(steps, TrainState(50), Options(checkpoint_steps=10)) == {50}
    state = TrainState(50, best=0.5, best_step=20)
    assert needed(steps, state, Options(checkpoint_steps=10, average=2, patience=5)) == {10, 40, 50}


@pytest.fixture
def means(monkeypatch):
    """Have every mean of checkpoints be better than what it is the mean of."""
    monkeypatch.setattr("saccade.train.fit.choose", lambda training, candidates, found: (0, []))


@pytest.mark.slow
def test_mean_of_checkpoints_is_model_and_what_is_measured(tmp_path, means):
    settings = {"checkpoint_steps": 5, "average": 3}
    outcome = train(Line, options(tmp_path / "a", **settings))
    folder = tmp_path / "a/checkpoints"
    assert list_steps(folder) == [20, 25, 30]
    several = [load_weights(folder, step)["0.weight"].double() for step in (20, 25, 30)]
    assert torch.equal(weights(tmp_path / "a")["0.weight"], (sum(several) / 3).float())
    assert outcome.results["final"]["steps"] == [20, 25, 30]
    model = load_trained(Line, Run.open(tmp_path / "a"), torch.device("cpu")).model
    assert measure(Line(options("")), model, "test", 1).metrics == outcome.results["metrics"]
    last = train(Line, options(tmp_path / "b", checkpoint_steps=5))
    assert last.results["metrics"] != outcome.results["metrics"]


@pytest.mark.parametrize("stop", rest_slow([3, 13, 25]))
def test_a_resumed_run_has_the_same_averages(tmp_path, stop, means):
    settings = {"checkpoint_steps": 5, "average": 3, "max_steps": 28}
    train(Line, options(tmp_path / "whole", **settings))
    train(Line, options(tmp_path / "parts", **{**settings, "max_steps": stop}))
    train(Line, options(tmp_path / "parts", **settings))
    assert equal(tmp_path / "whole", tmp_path / "parts")


def test_averaging_a_finished_run_again_does_not_train(tmp_path, capsys):
    def first_line(**changed):
        capsys.readouterr()
        outcome = train(Line, options(tmp_path / "b", **changed))
        assert outcome.fresh and outcome.step == 30
        return capsys.readouterr().err.splitlines()[0], outcome.results["final"]["steps"]

    train(Line, options(tmp_path / "a", average=2))
    train(Line, options(tmp_path / "b", average=1))
    assert "for the mean of steps 20, 30, " in first_line(average=2)[0] and equal(tmp_path / "a", tmp_path / "b")
    words = "--average 4: there are but 2 checkpoints of this run that --average takes (step 20, 30)"
    assert first_line(average=4)[0] == words
    words = "--average 3: there is but 1 checkpoint of this run that --average takes (step 30)"
    assert first_line(average=3, checkpoint_steps=30) == (words, [30])
    first_line(average=2)
    assert not train(Line, options(tmp_path / "b", average=2)).fresh


@pytest.mark.parametrize("mean_is_better", [True, False])
def test_the_better_of_mean_and_last_is_the_model(tmp_path, mean_is_better, monkeypatch, capsys):
    original, asked = Line.evaluate, []

    def evaluate(self, model, split, limit=None, request=None):
        found = original(self, model, split, limit, request)
        if split == "validation" and limit is None:
            asked.append(split)
            found.metrics["closeness"] = 0.5 if (len(asked) == 1) is mean_is_better else 0.25
        return found

    monkeypatch.setattr(Line, "evaluate", evaluate)
    outcome = train(Line, options(tmp_path / "a", checkpoint_steps=5, average=3))
    last = load_weights(tmp_path / "a/checkpoints", 30)["0.weight"]
    assert torch.equal(weights(tmp_path / "a")["0.weight"], last) is not mean_is_better
    final, first = outcome.results["final"], 0.5 if mean_is_better else 0.25
    assert final["steps"] == ([20, 25, 30] if mean_is_better else [30]) and len(asked) == 2
    both = [{"steps": [20, 25, 30], "closeness": first}, {"steps": [30], "closeness": 0.75 - first}]
    assert final["compared"] == both and outcome.results["validation"]["closeness"] == 0.5
    chosen = "the mean of steps 20, 25, 30" if mean_is_better else "step 30 alone"
    line = f"{first:.4f} for the mean of steps 20, 25, 30, {0.75 - first:.4f} for step 30 alone: the model is {chosen}"
    assert f"closeness on validation is {line}\n" in capsys.readouterr().err


def test_the_loss_decides_between_mean_and_last_where_few_examples_are(tmp_path, monkeypatch, capsys):
    def mean_loss(self, model, split, limit=None):
        asked.append((split, limit))
        return 0.5 if len(asked) == 5 else 0.25

    asked = []  # by three validations, and at the end for the mean and the last step
    monkeypatch.setattr(Line, "mean_loss", mean_loss, raising=False)
    final = train(Line, options(tmp_path / "a", checkpoint_steps=5, average=3)).results["final"]
    assert asked[3:] == [("validation", None)] * 2 and final["steps"] == [20, 25, 30]
    assert [entry["loss"] for entry in final["compared"]] == [0.25, 0.5]
    assert "(loss 0.5000) for step 30 alone: the model is the mean of steps 20, 25, 30" in capsys.readouterr().err


def test_damaged_checkpoint_is_left_out_of_mean_and_said_so(tmp_path, means, capsys):
    train(Line, options(tmp_path / "a", checkpoint_steps=5, average=3))
    weights_file(tmp_path / "a/checkpoints", 25).write_bytes(b"half")
    (tmp_path / "a/results.json").unlink()
    outcome = train(Line, options(tmp_path / "a", checkpoint_steps=5, average=3))
    assert outcome.results["final"]["steps"] == [20, 30]
    assert "corrupt checkpoint" in capsys.readouterr().err


@pytest.fixture
def closeness(monkeypatch):
    """Validations that rise to step 12 and fall from there, whatever the model; the test split's are measured."""
    original = Line.evaluate

    def evaluate(self, model, split, limit=None, request=None):
        found = original(self, model, split, limit, request)
        if limit is not None:
            validations.append(split)
            found.metrics["closeness"] = 1 - abs(len(validations) - 3) / 10
        return found

    validations = []
    monkeypatch.setattr(Line, "evaluate", evaluate)
    return validations


EARLY = {"validation_steps": 4, "checkpoint_steps": 5, "patience": 3, "max_steps": 100}


def test_patience_ends_a_run_and_its_model_is_the_best(tmp_path, closeness, capsys):
    outcome = train(Line, options(tmp_path / "a", **EARLY))
    assert outcome.step == 24 and outcome.results["final"]["best_step"] == 12
    assert outcome.results["final"]["steps"] == [12]
    text = capsys.readouterr().err
    assert (
        "stopping early at step 24: 3 validations without a better one; closeness 1.0000 at step 12 was the b" in text
    )
    assert list_steps(tmp_path / "a/checkpoints") == [20, 24]
    best = load_best(tmp_path / "a/checkpoints", 12)
    assert torch.equal(weights(tmp_path / "a")["0.weight"], best["0.weight"])
    assert not train(Line, options(tmp_path / "a", **EARLY)).fresh
    assert not train(Line, options(tmp_path / "a", **{**EARLY, "max_steps": 200})).fresh


def test_a_run_stops_early_by_default(tmp_path, closeness, capsys):
    early = {**EARLY, "patience": None, "max_steps": 400}
    outcome = train(Line, options(tmp_path / "a", **early))
    final = outcome.results["final"]
    assert (outcome.step, final["best_step"], final["steps"], final["patience"]) == (52, 12, [12], 10)
    assert final["stopped_early"]
    assert "stopping early at step 52: 10 validations without a better one" in capsys.readouterr().err
    assert not train(Line, options(tmp_path / "a", **early)).fresh
    assert train(Line, options(tmp_path / "a", **{**early, "patience": 11})).step == 56


def test_more_patience_goes_on_and_none_takes_the_last_step(tmp_path, closeness, capsys):
    train(Line, options(tmp_path / "a", **EARLY))
    outcome = train(Line, options(tmp_path / "a", **{**EARLY, "patience": 4}))
    assert outcome.step == 28 and outcome.results["final"]["best_step"] == 12
    assert "the model is that of step 12, the best on validation" in capsys.readouterr().err
    outcome = train(Line, options(tmp_path / "a", **{**EARLY, "patience": None, "max_steps": 40}))
    assert outcome.step == 40 and outcome.results["final"]["steps"] == [40]


@pytest.mark.parametrize("stop", rest_slow([11, 12, 13, 21]))
def test_patience_survives_an_interruption(tmp_path, closeness, stop, means):
    settings = {**EARLY, "average": 2}
    train(Line, options(tmp_path / "whole", **settings))
    closeness.clear()
    train(Line, options(tmp_path / "parts", **{**settings, "max_steps": stop}))
    outcome = train(Line, options(tmp_path / "parts", **settings))
    assert outcome.step == 24 and outcome.results["final"]["steps"] == [10, 12]
    assert equal(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("settings", rest_slow([{**EARLY, "average": 2}, {"average": 2}, EARLY]))
def test_a_model_that_is_gone_is_made_anew_without_a_step(tmp_path, closeness, settings, capsys):
    before = train(Line, options(tmp_path / "a", **settings))
    made = (tmp_path / "a/model.safetensors").rename(tmp_path / "moved").read_bytes()
    load_trained(Line, Run.open(tmp_path / "a"), torch.device("cpu"))
    words = (
        f"model.safetensors is gone; using the checkpoint of step {before.step}; the same `saccade train` command makes"
    )
    assert words in capsys.readouterr().err
    outcome = train(Line, options(tmp_path / "a", **settings))
    assert outcome.fresh and outcome.step == before.step
    assert (tmp_path / "a/model.safetensors").read_bytes() == made
    assert outcome.results["metrics"] == before.results["metrics"] and "going on" not in capsys.readouterr().err
