import json
import logging
import os
import re
import signal
from dataclasses import replace
from unittest.mock import Mock

import pytest
import torch

from saccade.errors import ArgumentError, SaccadeError
from saccade.train.checkpoint import list_steps, load, load_best, state_file, weights_file
from saccade.train.fit import train
from saccade.train.run import Run, RunError
from saccade.train.trained import load_trained
from tiers import rest_slow
from tiny import Line, Points, equal, weights
from tiny import line_options as options


def test_a_run_holds_everything_that_results_need(tmp_path):
    outcome = train(Line, options(tmp_path / "a"))
    names = {path.name for path in (tmp_path / "a").iterdir()}
    expected = {"config.json", "line.json", "model.safetensors", "checkpoints", "metrics.jsonl", "results.json"}
    assert expected <= names
    assert outcome.fresh and outcome.step == 30
    results = json.loads((tmp_path / "a/results.json").read_text())
    keys = "task model metrics validation seed steps seconds tokens_per_second parameters hardware versions config"
    assert set(keys.split()) <= set(results)
    assert (results["task"], results["model"], results["steps"], results["parameters"]) == ("line", "linear", 30, 49)
    assert set(results["tokens_per_second"]) == {"train", "decode"} and results["tokens_per_second"]["train"] > 0
    lines = [json.loads(line) for line in (tmp_path / "a/metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [10, 20, 30, 30]
    assert 0 < lines[0]["validation_closeness"] < 1 and lines[0]["loss"] > 0
    assert not list(tmp_path.rglob("*.pkl")) and not list(tmp_path.rglob("*.ckpt"))


def test_the_same_seed_gives_the_same_weights_and_another_one_others(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(Line, options(tmp_path / name, seed=seed))
    assert equal(tmp_path / "a", tmp_path / "b")
    assert not equal(tmp_path / "a", tmp_path / "c")


def tied():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    model[1].weight = model[0].weight
    return model


def convolution():
    """Its optimizer's state is laid out as its weights are."""
    layer = torch.nn.Conv2d(3, 5, 2).to(memory_format=torch.channels_last)
    fold = torch.nn.Unflatten(1, (3, 2, 2))
    return torch.nn.Sequential(torch.nn.Linear(4, 12), fold, layer, torch.nn.Flatten(), torch.nn.Linear(5, 1))


PARTS = {"checkpoint_steps": 7, "validation_steps": 4, "average": 1}


@pytest.mark.parametrize(
    ("stop", "build", "changed"),
    [
        *rest_slow([(1, None, {}), (10, None, {}), (17, None, {})]),
        (15, tied, {}),
        (5, convolution, {"max_steps": 12}),
        (13, None, {"precision": "bf16"}),
    ],
)
def test_run_continued_is_the_run_that_was_not_interrupted(tmp_path, stop, build, changed, monkeypatch, capsys):
    if build is not None:
        monkeypatch.setattr(Line, "build", lambda self: build())
    train(Line, options(tmp_path / "whole", **changed))
    train(Line, options(tmp_path / "parts", average=2, **{**changed, "max_steps": stop}))
    train(Line, options(tmp_path / "parts", **PARTS, **changed))
    assert equal(tmp_path / "whole", tmp_path / "parts")
    assert f"going on in {tmp_path / 'parts'} at step {stop}" in capsys.readouterr().err
    kept = weights(tmp_path / "whole")
    assert {tensor.dtype for tensor in kept.values()} == {torch.float32} and "1.weight" not in kept
    model = load_trained(Line, Run.open(tmp_path / "whole"), torch.device("cpu")).model
    assert build is not tied or torch.equal(model[1].weight, kept["0.weight"])


def test_bf16_changes_what_is_learned(tmp_path):
    for precision in ("bf16", "32"):
        train(Line, options(tmp_path / precision, precision=precision))
    assert not equal(tmp_path / "bf16", tmp_path / "32")


def test_a_model_without_readable_checkpoints_is_kept(tmp_path, capsys):
    train(Line, options(tmp_path / "a"))
    for path in (tmp_path / "a/checkpoints").iterdir():
        path.write_bytes(path.read_bytes()[:3])
    before = {path: path.read_bytes() for path in (tmp_path / "a").rglob("*.*") if path.is_file()}
    capsys.readouterr()
    with pytest.raises(RunError, match=r"none can be read \(.*step-00000030.*; put back a copy, or .* --no-resume$"):
        train(Line, options(tmp_path / "a", max_steps=40))
    assert {path: path.read_bytes() for path in before} == before and capsys.readouterr().err == ""


def test_a_log_of_another_run_is_refused_and_left_as_it_is(tmp_path):
    for name, seed in (("a", 1), ("b", 2)):
        train(Line, options(tmp_path / name, seed=seed, max_steps=20))
    log = tmp_path / "a/metrics.jsonl"
    mine = log.read_text()
    theirs = (tmp_path / "b/metrics.jsonl").read_text()
    log.write_text(theirs)
    with pytest.raises(
        RunError, match=r"metrics.jsonl: expected the log of this run, got another file, without its line"
    ):
        train(Line, options(tmp_path / "a"))
    assert log.read_text() == theirs
    for text in ('{"my": "note"}\n' + mine, None):  # a user's own line, and a log that was moved away
        log.unlink() if text is None else log.write_text(text)
        assert train(Line, options(tmp_path / "a", max_steps=25 if text else 30)).fresh


@pytest.mark.parametrize("file", rest_slow([weights_file, state_file]))
def test_a_damaged_checkpoint_costs_one_checkpoint_and_one_line(tmp_path, capsys, file):
    train(Line, options(tmp_path / "whole"))
    train(Line, options(tmp_path / "a", max_steps=20))
    path = file(tmp_path / "a/checkpoints", 20)
    path.write_bytes(path.read_bytes()[:-9])
    capsys.readouterr()
    assert train(Line, options(tmp_path / "a")).step == 30
    text = capsys.readouterr().err
    assert re.search(r"^corrupt checkpoint: .*step-00000020.*, set aside; using step 10$", text, re.M)
    assert equal(tmp_path / "whole", tmp_path / "a")
    assert path.with_name(f"{path.name}.damaged-1").exists()


def test_with_no_checkpoint_whole_it_begins_again_and_says_so(tmp_path, capsys):
    train(Line, options(tmp_path / "whole"))
    train(Line, options(tmp_path / "a", max_steps=20))
    for path in (tmp_path / "a/checkpoints").glob("*.state.safetensors"):
        path.write_text("?")
    for name in ("results.json", "model.safetensors"):  # as a run leaves them that never came to its end
        (tmp_path / "a" / name).unlink()
    capsys.readouterr()
    train(Line, options(tmp_path / "a"))
    lines = [line for line in capsys.readouterr().err.splitlines() if "corrupt" in line]
    assert len(lines) == 1 and "step-00000020" in lines[0]
    assert lines[0].endswith(
        " and 1 more, set aside; training begins again at step 0; to go on instead, stop it and put back a copy of them"
    )
    assert equal(tmp_path / "whole", tmp_path / "a")


@pytest.mark.parametrize("other", [{"width": 7}, {"seed": 2}])
def test_a_checkpoint_of_another_run_is_refused_in_one_line(tmp_path, other):
    train(Line, options(tmp_path / "a", max_steps=10))
    train(Line, options(tmp_path / "b", max_steps=10, **other))
    (tmp_path / "b/checkpoints").rename(tmp_path / "b/elsewhere")
    (tmp_path / "a/checkpoints").rename(tmp_path / "b/checkpoints")
    with pytest.raises(RunError, match="expected checkpoints of this run, got step 10 of another one"):
        train(Line, options(tmp_path / "b", **other))


def test_results_without_what_was_trained_are_no_end(tmp_path):
    train(Line, options(tmp_path / "whole"))
    train(Line, options(tmp_path / "a"))
    (tmp_path / "a/model.safetensors").rename(tmp_path / "moved")
    (tmp_path / "a/checkpoints").rename(tmp_path / "elsewhere")
    assert train(Line, options(tmp_path / "a")).fresh
    assert equal(tmp_path / "whole", tmp_path / "a")


def test_a_model_that_cannot_be_made_leaves_no_folder(tmp_path):
    with pytest.raises(RuntimeError):
        train(Line, options(tmp_path / "a", width=10**13))
    assert list(tmp_path.iterdir()) == []


def disk(run):
    """Bytes of a run's tensors, in multiples of its weights."""
    sizes = [path.stat().st_size for path in run.rglob("*.safetensors")]
    return sum(sizes) / (run / "model.safetensors").stat().st_size


def test_last_two_checkpoints_are_kept_and_the_best_weights(tmp_path):
    outcome = train(Line, options(tmp_path / "a", max_steps=25, checkpoint_steps=5, width=500))
    assert list_steps(tmp_path / "a/checkpoints") == list_steps(tmp_path / "a/checkpoints", whole=True) == [20, 25]
    assert 7.9 < disk(tmp_path / "a") < 8.1  # twice 3, the best validation's and the model
    assert load_best(tmp_path / "a/checkpoints", outcome.results["final"]["best_step"])


@pytest.mark.parametrize(("asked", "most"), [({"average": 3}, 9.1), ({"patience": 1}, 8.1)])
def test_averages_and_patience_keep_no_optimizer(tmp_path, asked, most):
    run = options(tmp_path / "a", max_steps=40, checkpoint_steps=5, validation_steps=5, width=500, **asked)
    outcome = train(Line, run)
    assert disk(tmp_path / "a") < most
    before = weights(tmp_path / "a")
    (tmp_path / "a/model.safetensors").unlink()
    again = train(Line, run)
    assert again.results["final"] == outcome.results["final"]
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(tmp_path / "a").items())


def test_kill_before_results_leaves_last_line_of_log_once(tmp_path, monkeypatch):
    run = options(tmp_path / "a")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("saccade.train.fit.write_json", Mock(side_effect=KeyboardInterrupt))
        train(Line, run)
    log = tmp_path / "a/metrics.jsonl"
    assert log.read_text().count("final_validation") == 1 and not (tmp_path / "a/results.json").exists()
    mine = '{"step": 99, "note": "the lamp was red"}\n'
    log.write_text(mine + log.read_text()[:-5])
    train(Line, run)
    assert log.read_text().count("final_validation") == 1 and log.read_text().endswith("}\n")
    assert log.read_text().startswith(mine)


def test_a_tokenizer_of_before_is_not_trained_on_with(tmp_path):
    train(Line, options(tmp_path / "a", max_steps=10))
    (tmp_path / "a/line.json").write_text('{"width": 5}')
    with pytest.raises(RunError, match=r"line.json: not what this run was made with"):
        train(Line, options(tmp_path / "a"))


def test_what_cannot_become_a_run_is_refused_before_data_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(Line, "prepare", Mock(side_effect=AssertionError))
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RunError, match="file: it is there already and not a run"):
        train(Line, options(tmp_path / "file"))
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=r"symbolic links"):
        train(Line, options(tmp_path / "loop"))


def test_too_many_processes_for_the_memory_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("saccade._system.environment.free_bytes", lambda device: 4 << 30)
    with pytest.raises(ArgumentError, match="--processes: expected at most 11, got 1000"):
        train(Line, options(tmp_path / "a", processes=1000))
    assert list(tmp_path.iterdir()) == []


def test_a_finished_run_is_left_as_it_is(tmp_path):
    train(Line, options(tmp_path / "a"))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*") if path.name != ".lock"}
    outcome = train(Line, options(tmp_path / "a"))
    assert not outcome.fresh and outcome.results["steps"] == 30
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_missing_results_are_written_without_training(tmp_path):
    train(Line, options(tmp_path / "a"))
    before = (tmp_path / "a/results.json").read_text()
    (tmp_path / "a/results.json").unlink()
    assert train(Line, options(tmp_path / "a")).fresh
    assert json.loads((tmp_path / "a/results.json").read_text())["metrics"] == json.loads(before)["metrics"]


@pytest.mark.parametrize("steps", [5, None])
def test_minutes_are_a_budget_too_and_a_run_cut_short_says_so(tmp_path, steps, capsys):
    short = options(tmp_path / "a", max_minutes=1e-9, max_steps=steps)
    outcome = train(Line, short)
    assert outcome.step == 1 and outcome.results is not None
    line = "the minutes are over at step 1 of 5; a larger --max-minutes goes on from there"
    assert (line in capsys.readouterr().err) is bool(steps) and not train(Line, short).fresh
    train(Line, replace(short, max_minutes=60.0, max_steps=5))
    assert "the minutes are over" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "data", "words"),
    [
        ({"seed": 2}, None, "--seed 1, not 2"),
        ({"width": 5}, None, "--width 4, not 5"),
        ({"data": "stars"}, None, "--data points, not stars"),
        ({}, Points("other points"), "--data points times 1.0, not other points"),  # under the same name
    ],
)
def test_another_configuration_is_refused_and_touches_nothing(tmp_path, changed, data, words, monkeypatch):
    train(Line, options(tmp_path / "a", max_steps=3))
    before = {path: path.read_bytes() for path in (tmp_path / "a").rglob("*") if path.is_file()}
    if data is not None:
        monkeypatch.setattr(Line, "data", data)
    with pytest.raises(RunError, match=words):
        train(Line, options(tmp_path / "a", **{"max_steps": 5, **changed}))
    assert {path: path.read_bytes() for path in (tmp_path / "a").rglob("*") if path.is_file()} == before


def test_no_resume_starts_beside(tmp_path):
    for _ in range(3):
        train(Line, options(tmp_path / "a", max_steps=3, resume=False))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a-2", "a-3"]


def test_the_default_folder_names_task_data_and_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(train(Line, options("", max_steps=2)).run.folder) == "runs/line-points-linear"


@pytest.fixture
def hangups():
    """They end a process: under nohup they are ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangups")
@pytest.mark.parametrize("number", rest_slow([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
def test_ctrl_c_keeps_a_checkpoint_of_the_last_step(tmp_path, number, monkeypatch):
    train(Line, options(tmp_path / "whole"))
    original, before = Line.loss, signal.getsignal(signal.SIGINT)  # a shell's job in the background ignores it

    def interrupted(self, model, batch):
        if torch.equal(batch, self.batch(13)) and not (tmp_path / "once").exists():
            (tmp_path / "once").touch()
            os.kill(os.getpid(), number)
        return original(self, model, batch)

    monkeypatch.setattr(Line, "loss", interrupted)
    outcome = train(Line, options(tmp_path / "a"))
    assert outcome.results is None and outcome.step == 14
    assert list_steps(tmp_path / "a/checkpoints", whole=True) == [10, 14]
    assert signal.getsignal(signal.SIGINT) is before
    train(Line, options(tmp_path / "a"))
    assert equal(tmp_path / "whole", tmp_path / "a")


def test_a_second_ctrl_c_ends_at_once(tmp_path, monkeypatch):
    original = Line.loss

    def interrupted(self, model, batch):
        for _ in range(2 if torch.equal(batch, self.batch(13)) else 0):
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, model, batch)

    monkeypatch.setattr(Line, "loss", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(Line, options(tmp_path / "a"))
    assert list_steps(tmp_path / "a/checkpoints", whole=True) == [10]


@pytest.mark.parametrize(("steps", "at"), [(30, 10), (7, 7)])
def test_a_loss_that_is_no_number_stops_the_run_and_says_nothing_else(tmp_path, steps, at, capsys):
    with pytest.raises(SaccadeError, match=rf"the loss is (nan|inf) at step {at}; lower --learning-rate"):
        train(Line, options(tmp_path / "a", scale=float("inf"), max_steps=steps))
    assert not (tmp_path / "a/checkpoints").exists() and capsys.readouterr().err == ""


def test_weights_that_are_no_numbers_are_never_saved(tmp_path, monkeypatch):
    original = Line.loss

    def spoiled(self, model, batch):
        loss = original(self, model, batch)
        zero = 0 * model[0].weight.sum()
        spoils = torch.equal(batch, self.batch(19))  # the loss stays a number, its gradient is none
        return replace(loss, total=loss.total + zero.square().sqrt()) if spoils else loss

    monkeypatch.setattr(Line, "loss", spoiled)
    with pytest.raises(SaccadeError, match=r"the weights 0.weight are not finite after step 20; lower --learning-rate"):
        train(Line, options(tmp_path / "a"))
    assert list_steps(tmp_path / "a/checkpoints", whole=True) == [10]


def test_a_rate_that_is_at_its_last_before_the_end_is_said(tmp_path, capsys):
    falling = {"schedule": "linear", "schedule_steps": 20}
    train(Line, options(tmp_path / "a", max_steps=20, **falling))
    assert "learning rate" not in capsys.readouterr().err
    train(Line, options(tmp_path / "a", max_steps=30, **falling))
    assert capsys.readouterr().err.count("the learning rate is at its last from step 20 on; a larger --schedule-s") == 1


def test_a_full_disk_is_an_error_that_keeps_everything(tmp_path, monkeypatch):
    train(Line, options(tmp_path / "a", max_steps=10))

    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("saccade.train.checkpoint.write", full)
    with pytest.raises(OSError, match="No space left"):
        train(Line, options(tmp_path / "a"))
    assert list_steps(tmp_path / "a/checkpoints", whole=True) == [10]


def test_half_precision_on_a_cpu_is_refused_first(tmp_path):
    with pytest.raises(SaccadeError, match="--precision: expected 32 or bf16 on a CPU, got 16"):
        train(Line, options(tmp_path / "a", precision="16"))
    assert list(tmp_path.iterdir()) == []


def test_tensorboard_and_any_logger_have_every_step_once_after_a_resume(tmp_path):
    from lightning.pytorch.loggers import CSVLogger

    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    train(Line, options(tmp_path / "a", max_steps=15, tensorboard=True))
    loggers = [CSVLogger(tmp_path / "csv", name="", version="")]
    train(Line, options(tmp_path / "a", tensorboard=True), loggers=loggers)
    log = events.EventAccumulator(str(tmp_path / "a/tensorboard")).Reload()
    names = {"loss", "learning_rate", "validation_closeness"}
    assert names <= set(log.Tags()["scalars"]) and [event.step for event in log.Scalars("loss")] == [10, 20, 30]
    rows = (tmp_path / "csv/metrics.csv").read_text().splitlines()
    assert len(rows) == 3 and {"step", *names} <= set(rows[0].split(","))


def test_a_logger_of_another_kind_is_refused_before_there_is_a_run(tmp_path):
    with pytest.raises(ArgumentError, match="loggers: expected loggers of lightning.pytorch.loggers, got Logger"):
        train(Line, options(tmp_path / "a"), loggers=[logging.getLogger("mine")])
    assert not (tmp_path / "a").exists()


def test_each_validation_shows_a_sample(tmp_path, capsys):
    train(Line, options(tmp_path / "a"))
    shown = [line for line in capsys.readouterr().err.splitlines() if "→" in line]
    assert len(shown) == 3
    assert all(
        re.fullmatch(r"  validation \d → -?\d+\.\d{3} \(expected: \d+\.\d{3}; by a line\)", line) for line in shown
    )


def test_a_run_makes_its_model_once(tmp_path, monkeypatch):
    made, original = [], Line.build
    monkeypatch.setattr(Line, "build", lambda self: made.append(1) or original(self))
    train(Line, options(tmp_path / "a", max_steps=2))
    assert len(made) == 1
    train(Line, options(tmp_path / "a", max_steps=4))
    assert len(made) == 2
    train(Line, options(tmp_path / "a", max_steps=4))  # it is at its end: nothing is made
    assert len(made) == 2


def test_scale_of_loss_in_half_precision_survives_a_resume(tmp_path, monkeypatch):
    from lightning.pytorch.plugins.precision import MixedPrecision

    from saccade.train import engine

    def trainer(precision, **settings):
        scaler = torch.amp.GradScaler(
            "cpu", init_scale=2.0**30, growth_interval=4
        )  # too much, until steps were skipped
        return Trainer(plugins=[MixedPrecision("16-mixed", "cpu", scaler)], **settings)

    Trainer = engine.pl.Trainer
    monkeypatch.setattr(engine.pl, "Trainer", trainer)
    monkeypatch.setattr("saccade.train.fit.check_precision", lambda precision, device: None)  # torch can, if slowly
    train(Line, options(tmp_path / "whole", precision="16"))
    train(Line, options(tmp_path / "parts", precision="16", max_steps=11))
    scaler = load(tmp_path / "parts/checkpoints", 11).scalars["scaler"]
    assert 0 < scaler["scale"] < 2.0**30
    train(Line, options(tmp_path / "parts", precision="16"))
    assert equal(tmp_path / "whole", tmp_path / "parts")
