"""The clock of a run with a budget in minutes: rates, validations and the end, whatever the load does."""

import itertools
import json
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from saccade.train import pace
from saccade.train.checkpoint import load
from saccade.train.optimization import learning_rate, make_optimizer
from saccade.train.options import Options
from saccade.train.pace import Mark, Watch, is_due, progress
from saccade.train.plan import start
from saccade.train.ranks import Ranks
from saccade.train.results import Training, TrainState
from saccade.train.run import Run
from tiny import Line, Points, line_options

MINUTES, STEPS, STEP = 10.0, 1000, 0.5  # a plan of 500 seconds of steps
FALLING = {"schedule": "linear", "schedule_steps": STEPS, "warmup_steps": 100, "final_rate": 0.1, "learning_rate": 1.0}
SECONDS = {"before": 20.0, "step": STEP, "validation": 2.0, "final": 18.0, "baselines": 0.0}
CLOCK = {"warmup": 0.1, "validation_steps": 0.16, "checkpoint_steps": 0.16}


class Clocked:
    """A training of ten minutes whose steps take as long as `load(seconds)` says, by a clock of its own."""

    def __init__(self, folder, patch, load, *, steps=STEPS, checkpoint=None, **changed):
        self.now, self.load = [1000.0], load
        patch.setattr(time, "perf_counter", lambda: self.now[0])
        planned = {"validation_steps": steps // 6, "checkpoint_steps": steps // 6}
        settings = {"max_steps": None, "max_minutes": MINUTES, **FALLING, **planned, **changed}
        self.options = line_options(folder, **settings)
        chosen = {**planned, **({"max_steps": self.options.max_steps} if self.options.max_steps else {})}
        plan = {"steps": steps, "seconds": SECONDS, "options": chosen, "clock": CLOCK}
        task = Line(self.options)
        config = {"task": "line", "model": "linear", "data": "points", "options": {}, "saccade": "1", "plan": plan}
        run = Run.open(folder) if checkpoint else Run.create(folder, config, task.save)
        state = TrainState(reserve=18.0)
        if checkpoint:
            scalars = {name: value for name, value in checkpoint.scalars.items() if name in state.__dict__}
            state = TrainState(checkpoint.step, **scalars)
            state.marks = [Mark(*mark) for mark in state.marks]
        training = Training(run, task, self.options, torch.device("cpu"), Ranks(), task.build(), state)
        training.ticks = start(state, plan, self.options)
        training.began = None if checkpoint else 1000.0 - SECONDS["before"]
        original = Line.evaluate

        def evaluate(task, *arguments):
            self.now[0] += 2.0 * self.load(self.state.seconds) / STEP
            return original(task, *arguments)

        patch.setattr(Line, "evaluate", evaluate)
        patch.setattr(Points, "size", lambda data, split: 27)  # in all 18 seconds
        self.prepare(training)

    def prepare(self, training):
        from saccade.train.callback import RunCallback  # here: it imports Lightning

        self.state, self.run, self.rates = training.state, training.run, {}
        bar = SimpleNamespace(note=lambda line: self.notes.append(line), update=lambda *shown: None)
        self.notes, self.callback = [], RunCallback(training, bar)
        plugin, optimizers = SimpleNamespace(state_dict=dict), [make_optimizer(training.model, self.options)]
        self.trainer = SimpleNamespace(
            optimizers=optimizers, precision_plugin=plugin, should_stop=False, loggers=[], global_step=0
        )
        self.callback.on_train_start(self.trainer, None)

    def go(self, until=10**6):
        """Take steps to the end of the budget."""
        while not self.trainer.should_stop and self.state.step < until:
            self.rates[self.state.step] = learning_rate(self.state.step, self.options, *self.state.paced)
            self.now[0] += self.load(self.state.seconds)
            outputs = {"loss": torch.tensor(0.5), "count": 6}
            self.callback.on_train_batch_end(self.trainer, None, outputs, None, 0)
        return self

    def logged(self, name):
        lines = (self.run.folder / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines if name in line]


def test_progress_follows_the_last_mark_and_never_falls():
    marks = [Mark(0, 0.0, 0.01), Mark(10, 0.1, 0.001), Mark(20, 0.11, 0.2)]
    shares = [progress(marks, step) for step in range(40)]
    assert shares[10] == pytest.approx(0.1) and shares[20] == pytest.approx(0.11) and shares[39] == 1.0
    assert all(after >= before for before, after in itertools.pairwise(shares))
    assert shares[:10] == [progress(marks[:1], step) for step in range(10)]  # a later mark changes no earlier step


@pytest.mark.parametrize("schedule", ["linear", "cosine", "inverse-sqrt", "constant"])
@pytest.mark.parametrize("warmup_share", [0.1, 0.0])
def test_rates_never_rise_after_the_warmup_whatever_the_marks(schedule, warmup_share):
    falls = {"schedule_steps": 100, "final_rate": 0.2} if schedule in ("linear", "cosine") else {}
    options = Options(schedule=schedule, warmup_steps=10, learning_rate=1.0, **falls)
    marks = [Mark(0, 0.0, 0.01), Mark(10, 0.1, 0.01), Mark(30, 0.3, 0.001), Mark(90, 0.36, 0.08)]
    rates = [learning_rate(step, options, marks, warmup_share) for step in range(120)]
    assert rates[:10] == pytest.approx([(step + 1) / 10 for step in range(10)])
    assert all(after <= before for before, after in itertools.pairwise(rates[9:]))
    assert schedule not in ("linear", "cosine") or rates[98:] == pytest.approx([0.2] * 22)


def test_a_planned_pace_is_the_plain_schedule():
    options, marks = Options(**FALLING), [Mark(0, 0.0, 1 / STEPS)]
    rates = [learning_rate(step, options, marks, 0.1) for step in range(1200)]
    assert rates == [learning_rate(step, options) for step in range(1200)]
    twice = [learning_rate(step, options, [*marks, Mark(40, 0.04, 1 / STEPS)], 0.1) for step in range(1200)]
    assert twice == pytest.approx(rates) and twice[:40] == rates[:40]
    assert [step for step in range(1, 2001) if is_due(step, 500, marks, 0.5)] == [500, 1000, 1500, 2000]


def steady(seconds):
    return STEP


def slower(seconds):
    return STEP if seconds < 280 else 5 * STEP


def faster(seconds):
    return 5 * STEP if seconds < 280 else STEP


def misjudged(seconds):
    return STEP / 3


def crowded(seconds):
    return 10 * STEP


@pytest.mark.parametrize("load", [steady, slower, faster, crowded, misjudged])
@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_the_rate_reaches_its_end_with_the_budget_under_any_load(tmp_path, monkeypatch, load, schedule):
    steps = STEPS // 50 if load is misjudged else STEPS
    schedule_steps = {"schedule_steps": steps, "warmup_steps": steps // 10}
    trained = Clocked(tmp_path / "run", monkeypatch, load, steps=steps, schedule=schedule, **schedule_steps).go()
    rates = [*trained.rates.values()]
    peak = rates.index(max(rates))
    assert max(rates) > 0.85 and all(after <= before + 1e-12 for before, after in itertools.pairwise(rates[peak:]))
    assert 0.1 <= rates[-1] < 0.14  # of a final rate of 0.1
    final = 18.0 * load(600) / STEP
    assert trained.state.seconds + final == pytest.approx(600, rel=0.03)
    validations = [line["seconds"] for line in trained.logged("validation_closeness")]
    assert len(validations) == 6 and validations[-1] > 0.9 * trained.state.seconds
    assert len(trained.state.marks) < 70
    assert len(trained.logged("pace")) == len(trained.state.marks) - 1
    assert sum(path.name.endswith(".state.safetensors") for path in trained.run.checkpoints.iterdir()) == 2


def test_a_killed_run_repeats_recorded_rates_and_goes_on_by_the_clock(tmp_path, monkeypatch):
    whole = Clocked(tmp_path / "run", monkeypatch, slower).go(until=700)
    step = max(step for step in whole.rates if is_due(step, 1, whole.state.marks, 0.16))
    checkpoint = load(whole.run.checkpoints, step)
    assert 300 < step < 700 and len(checkpoint.scalars["marks"]) > 5
    again = Clocked(tmp_path / "run", monkeypatch, steady, checkpoint=checkpoint)
    assert [*again.state.marks] == [mark for mark in whole.state.marks if mark.step <= step]
    recorded = {line["step"]: line["learning_rate"] for line in again.logged("loss") if line["step"] <= step}
    assert len(recorded) > 30
    for number, rate in recorded.items():
        assert learning_rate(number - 1, again.options, *again.state.paced) == rate == whole.rates[number - 1]
    again.go()
    assert min(again.rates) == step and [*again.rates.values()][-1] < 0.14
    assert again.state.seconds + 18 == pytest.approx(600, rel=0.03)
    assert again.rates[step] == whole.rates[step]


def test_steps_of_a_recipe_end_a_run_unless_the_clock_does_not_leave_them(tmp_path, monkeypatch):
    options = Options(**{**FALLING, "schedule_steps": 800, "max_steps": 800})
    trained = Clocked(tmp_path / "a", monkeypatch, steady, steps=800, max_steps=800, schedule_steps=800).go()
    assert trained.state.step == 800 and len(trained.state.marks) == 1 and trained.state.seconds < 500
    assert [*trained.rates.values()] == [learning_rate(step, options) for step in range(800)]  # to the last bit
    trained = Clocked(tmp_path / "b", monkeypatch, slower, steps=800, max_steps=800, schedule_steps=800).go()
    assert 500 < trained.state.step < 800 and [*trained.rates.values()][-1] < 0.14
    assert sum("slower than planned, so the schedule now ends with the minutes" in line for line in trained.notes) == 1
    first = trained.state.marks[1].step
    assert [trained.rates[step] for step in range(first)] == [learning_rate(step, options) for step in range(first)]


def test_a_load_that_ends_leaves_the_steps_of_the_recipe(tmp_path, monkeypatch):
    trained = Clocked(tmp_path / "run", monkeypatch, faster, steps=500, max_steps=500, schedule_steps=500).go()
    assert trained.state.step == 500 or trained.state.seconds > 500
    assert [*trained.rates.values()][-1] == pytest.approx(0.1, abs=0.01)


def test_steps_in_place_of_minutes_follow_the_marks_and_make_none(tmp_path, monkeypatch):
    plan = {"steps": 50, "options": {"validation_steps": 8}, "clock": CLOCK}
    state = TrainState(20, marks=[Mark(0, 0.0, 0.02), Mark(20, 0.4, 0.1)])
    options = Options(max_steps=90, validation_steps=8, **{**FALLING, "schedule_steps": 200})
    assert not start(state, plan, options) and state.clock == {"warmup": 0.1} and len(state.marks) == 2
    assert learning_rate(25, options, *state.paced) == pytest.approx(0.1) == learning_rate(80, options, *state.paced)
    assert [step for step in range(1, 30) if state.is_due("validation_steps", options, step)] == [8, 16, 24]
    fresh, without = TrainState(), {"steps": 50, "options": {}}  # of another version
    assert not start(fresh, without, options) and fresh.paced == ((), 0.0)


def test_the_final_evaluation_is_expected_to_be_as_slow_as_steps_are():
    watch = Watch(600.0, 40.0, 2.0, per_step=7.0, usual=0.5)
    watch.look(100, 0.1, 50.0, 50.0)
    assert (watch.final, watch.per_step, watch.reserve) == (40.0, 0.5, 40.25)  # the plan does not count any more
    watch.look(120, 0.12, 80.0, 80.0)  # three times slower, of which half counts
    assert (watch.final, watch.per_step, watch.reserve) == (80.0, 1.0, 80.5)
    assert watch.steps_left() == 600 - 80 - 80 - 6 * 4
    watch.validated(100.0, 5.0)
    watch.look(130, 0.13, 90.0, 90.0)  # as slow as at the validation, or slower
    assert watch.final == 100.0
    watch.look(140, 0.14, 180.0, 180.0)
    assert (watch.slowdown, watch.final) == (5.0, 300.0)
    assert watch.steps_left() == 1 and replace(watch, measured_validation=0.0).steps_left() == 24


@pytest.mark.parametrize(("share", "seconds", "due"), [(0.0, 5.0, False), (0.05, 5.0, True), (0.0, 26.0, True)])
def test_the_watch_looks_by_time_and_by_progress(share, seconds, due):
    assert Watch(600.0, 60.0, 2.0).is_due(share, seconds) is due


@pytest.mark.parametrize("marks", [[Mark(0, 0.0, 0.05)], [Mark(0, 0.0, 0.02), Mark(30, 0.6, 0.07)]])
def test_the_end_of_training_is_where_its_share_is_one(marks, monkeypatch):
    calls, end = [], next(step for step in range(99) if progress(marks, step) >= 1)
    monkeypatch.setattr(pace, "progress", lambda marks, step: calls.append(step) or progress(marks, step))
    apart = round(0.16 * end)
    due = [step for step in range(end + 1, end + 30) if is_due(step, 6, marks, 0.16)]
    assert due == list(range(end + apart, end + 30, apart))
    assert len(calls) == 29  # one look a step, however long the training was
