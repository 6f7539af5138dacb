"""The callback that keeps a run's state, step by step and without Lightning around it."""

import json
import math
import signal
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from saccade.errors import SaccadeError
from saccade.train.averaging import candidates
from saccade.train.checkpoint import list_steps, load, load_best, state_file
from saccade.train.optimization import make_optimizer
from saccade.train.options import origin
from saccade.train.ranks import Ranks
from saccade.train.results import Training, TrainState
from saccade.train.run import Run
from tiny import Line, Linear, line_options


class Shown:
    """A bar and a logger that keep their texts and numbers."""

    def __init__(self):
        self.notes, self.updates, self.written = [], [], {}
        self.note, self.save = self.notes.append, lambda: None
        self.update = lambda step, text, share=None: self.updates.append((step, text))
        self.log_metrics = lambda metrics, step: self.written.update({step: dict(metrics)})


class Company(Ranks):
    """Several processes, of which the others say what a test has them say."""

    others = (0.0, 0.0, 0.0, 0.0)

    def sums(self, *numbers):
        return [own + other for own, other in zip(numbers, self.others, strict=False)]


class Driver:
    """Takes steps as Lightning would: a loss, then the callback."""

    def __init__(self, folder, *, ranks=None, state=None, **changed):
        from saccade.train.callback import RunCallback  # here: it imports Lightning

        self.options = line_options(folder / "run", **changed)
        task = Line(self.options)
        config = {"task": "line", "model": "linear", "data": "points times 1.0", "options": {}, "saccade": "1"}
        self.run = Run.create(folder / "run", config, task.save)
        self.model, self.shown, self.state = task.build(), Shown(), state or TrainState()
        ranks = ranks or Ranks()
        training = Training(self.run, task, self.options, torch.device("cpu"), ranks, self.model, self.state)
        self.callback = RunCallback(training, self.shown)
        plugin = SimpleNamespace(state_dict=lambda: {"scale": 2.0})
        optimizers, loggers = [make_optimizer(self.model, self.options)], [self.shown]
        self.trainer = SimpleNamespace(
            optimizers=optimizers, precision_plugin=plugin, should_stop=False, loggers=loggers
        )
        self.callback.on_train_start(self.trainer, None)

    def step(self, loss=0.5, units=6):
        self.callback.on_train_batch_end(self.trainer, None, {"loss": torch.tensor(loss), "count": units}, None, 0)
        return self.trainer.should_stop

    def saved(self):
        return list_steps(self.run.checkpoints, whole=True)

    def logged(self):
        path = self.run.folder / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture(autouse=True)
def handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_steps_are_counted_and_events_come_when_due(tmp_path):
    driver = Driver(tmp_path, max_steps=100, checkpoint_steps=7, validation_steps=4, learning_rate=0.5, warmup_steps=20)
    for _ in range(22):
        assert not driver.step(units=5)
    assert (driver.state.step, driver.state.tokens) == (22, 110)
    assert driver.saved() == [14, 21]
    assert [line["step"] for line in driver.logged()] == sorted({4, 7, 8, 10, 12, 14, 16, 20, 21})
    assert [line["step"] for line in driver.logged() if "validation_closeness" in line] == [4, 8, 12, 16, 20]
    assert driver.logged()[3]["loss"] == 0.5 and driver.logged()[3]["learning_rate"] == pytest.approx(0.25)  # step 10
    assert driver.shown.written.keys() == {line["step"] for line in driver.logged()}
    taken = [step for step, text in driver.shown.updates if "measuring" not in text]
    assert taken == list(range(1, 23)) and all(text.endswith(" left") for _, text in driver.shown.updates)
    assert [step for step, text in driver.shown.updates if "measuring" in text] == [4, 8, 12, 16, 20]
    assert not any("nan" in text for _, text in driver.shown.updates)
    assert "points/s" in driver.shown.updates[-1][1] and "closeness" in driver.shown.updates[-1][1]


def test_the_budget_stops_and_the_last_step_is_saved_once(tmp_path):
    driver = Driver(tmp_path, max_steps=12, checkpoint_steps=10, validation_steps=50)
    assert [driver.step() for _ in range(12)] == [False] * 11 + [True]
    assert driver.saved() == [10] and not driver.callback.interrupted
    driver.callback.on_train_end(driver.trainer, None)
    assert driver.saved() == [10, 12]
    path = state_file(driver.run.checkpoints, 12)
    before = path.stat().st_mtime_ns
    driver.callback.on_train_end(driver.trainer, None)
    assert path.stat().st_mtime_ns == before


def test_a_checkpoint_has_all_that_the_run_goes_on_from(tmp_path):
    driver = Driver(tmp_path, checkpoint_steps=3, validation_steps=2, patience=9)
    for _ in range(3):
        driver.step()
    found = load(driver.run.checkpoints, 3)
    assert found.step == 3 and set(found.model) == set(driver.model.state_dict())
    assert found.scalars["origin"] == origin(driver.run.config, driver.options)
    assert found.scalars["scaler"] == {"scale": 2.0} and found.scalars["threads"] == torch.get_num_threads()
    assert found.scalars["best"] == driver.state.best and found.scalars["best_step"] == 2
    assert found.scalars["tokens"] == 18 and found.scalars["seconds"] >= found.scalars["training_seconds"] >= 0


def test_it_says_once_where_training_is_and_from_which_step_on(tmp_path):
    driver = Driver(tmp_path, validation_steps=50)
    for _ in range(20):
        driver.step()
    assert driver.shown.notes == [f"training in {tmp_path / 'run'} at step 0"]
    (tmp_path / "more").mkdir()
    later = Driver(tmp_path / "more", state=TrainState(step=5), max_steps=40, validation_steps=50)
    for _ in range(5):
        later.step()
    assert later.shown.notes == [f"going on in {tmp_path / 'more/run'} at step 5"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_stops_after_its_step_and_second_one_at_once(tmp_path, number):
    driver = Driver(tmp_path)
    driver.step()
    signal.raise_signal(number)
    assert driver.step() and driver.callback.interrupted
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_a_signal_in_the_last_step_is_no_interruption(tmp_path):
    driver = Driver(tmp_path, max_steps=1)
    signal.raise_signal(signal.SIGINT)
    assert driver.step() and not driver.callback.interrupted


@pytest.mark.parametrize(("number", "handler"), [(signal.SIGHUP, signal.SIG_IGN), (signal.SIGINT, None)])
def test_signals_are_left_alone_under_nohup_and_in_a_thread(tmp_path, number, handler, monkeypatch):
    if handler is None:
        monkeypatch.setattr("threading.main_thread", lambda: None)
    else:
        signal.signal(number, handler)
    before = signal.getsignal(number)
    Driver(tmp_path)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_an_infinite_or_nan_loss_ends_the_run_unsaved(tmp_path, loss):
    driver = Driver(tmp_path, checkpoint_steps=2, validation_steps=50)
    driver.step()
    with pytest.raises(SaccadeError, match=rf"the loss is {loss} at step 2; lower --learning-rate"):
        driver.step(loss)
    assert driver.saved() == [] == driver.logged() == driver.shown.notes


def headlines(monkeypatch, numbers):
    """Have validations come to these."""
    original, coming = Line.evaluate, iter(numbers)

    def evaluate(self, model, split, limit=None, request=None):
        return replace(original(self, model, split, limit, request), metrics={"closeness": next(coming)})

    monkeypatch.setattr(Line, "evaluate", evaluate)


@pytest.mark.parametrize(
    ("numbers", "patience", "best"),
    [([0.1, 0.3, 0.3, 0.2], 2, 2), ([0.3, 0.1, 0.1], None, 1)],  # as good is not better
)
def test_the_best_weights_are_kept_and_patience_stops(tmp_path, monkeypatch, numbers, patience, best):
    headlines(monkeypatch, numbers)
    driver = Driver(tmp_path, validation_steps=1, checkpoint_steps=50, patience=patience)
    assert [driver.step() for _ in numbers] == [False] * (len(numbers) - 1) + [patience is not None]
    assert (driver.state.best, driver.state.best_step, driver.state.stale) == (0.3, best, 2)
    assert load_best(driver.run.checkpoints, best).keys() == driver.model.state_dict().keys()
    assert driver.saved() == [] and not driver.callback.interrupted
    told = "stopping early at step 4: 2 validations without a better one" in driver.shown.notes[-1]
    assert told is (patience is not None)


def test_a_fitted_start_is_validated_and_stops_no_training(tmp_path, monkeypatch):
    headlines(monkeypatch, [0.4, 0.1, 0.3, 0.4, 0.2])
    monkeypatch.setattr(Linear, "is_fitted", True, raising=False)
    driver = Driver(tmp_path, validation_steps=1, checkpoint_steps=50, patience=2)
    assert driver.state.best == 0.4 and load_best(driver.run.checkpoints, 0)
    assert [driver.step() for _ in range(4)] == [False] * 4
    assert (driver.state.best, driver.state.best_step, driver.state.stale) == (0.4, 0, 0)
    assert [line["validation_closeness"] for line in driver.logged()] == [0.4, 0.1, 0.3, 0.4, 0.2]
    assert driver.shown.notes[0] == "step 0: closeness 0.4000 on validation"
    [best] = candidates(driver.run, driver.model, driver.state, driver.options)
    assert best.steps == [0]
    driver.run.rewind_log(0)  # as a run that goes on without a checkpoint
    assert driver.logged() == []


def test_few_examples_are_judged_by_their_loss(tmp_path, monkeypatch):
    headlines(monkeypatch, [0.1, 0.4, 0.2, 0.3])
    losses = iter([3.0, 2.0, 1.0, 1.5])
    monkeypatch.setattr(Line, "mean_loss", lambda *given: next(losses), raising=False)
    driver = Driver(tmp_path, validation_steps=1, checkpoint_steps=50, patience=9)
    for _ in range(4):
        driver.step()
    assert (driver.state.best, driver.state.best_loss, driver.state.best_step, driver.state.stale) == (0.2, 1.0, 3, 1)
    assert [line["validation_loss"] for line in driver.logged()] == [3.0, 2.0, 1.0, 1.5]
    assert load_best(driver.run.checkpoints, 3)
    assert "closeness 0.2000 and loss 1.0000 on validation" in "\n".join(driver.shown.notes)


def test_validations_are_not_time_in_steps(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    original = Line.evaluate

    def evaluate(self, *arguments):
        now[0] += 7
        return original(self, *arguments)

    monkeypatch.setattr(Line, "evaluate", evaluate)
    driver = Driver(tmp_path, validation_steps=2, checkpoint_steps=50)
    for _ in range(4):
        now[0] += 1
        driver.step()
    assert (driver.state.training_seconds, driver.state.seconds) == (4, 18)


def test_one_that_does_not_lead_counts_and_keeps_silent(tmp_path):
    driver = Driver(tmp_path, ranks=Company(rank=1, world=2), checkpoint_steps=2, validation_steps=2)
    for _ in range(4):
        driver.step()
    driver.callback.on_train_end(driver.trainer, None)
    assert driver.state.step == 4 and driver.saved() == [] == driver.logged()
    assert driver.shown.notes == [] == driver.shown.updates


def test_what_one_process_wants_all_do(tmp_path):
    for number, (others, stops, interrupted) in enumerate(
        [
            ((6, 0, 0, 0), False, False),
            ((6, 1, 0, 0), True, True),
            ((6, 0, 1, 0), True, False),
            ((6, 1, 1, 0), True, False),
        ]
    ):
        (tmp_path / str(number)).mkdir()
        ranks = Company(rank=0, world=2)
        object.__setattr__(ranks, "others", others)
        driver = Driver(tmp_path / str(number), ranks=ranks, validation_steps=50)
        driver.callback._look = lambda loss: None  # whose sum is of another kind
        assert driver.step(units=5) is stops and driver.callback.interrupted is interrupted
        assert driver.state.tokens == 11


def test_loss_that_is_shown_is_the_mean_of_all_processes(tmp_path):
    ranks = Company(rank=0, world=4)
    object.__setattr__(ranks, "others", (3.0, 0.0, 0.0, 0.0))
    driver = Driver(tmp_path, ranks=ranks, validation_steps=50)
    for _ in range(10):
        driver.step(loss=1.0)
    assert driver.logged()[0]["loss"] == 1.0  # (1 + 3) / 4
