"""How fast a run will be: what an example takes when the model is trained, and which steps are timed."""

import time
from dataclasses import replace

import pytest
import torch

from saccade.train.options import Options
from saccade.train.speed import example_seconds
from saccade.train.task import Evaluation
from tiny import Line, line_options


class Measured:
    """A task whose evaluation takes so long, by a clock of its own: for each batch, and for each example."""

    def __init__(self, batch, example, ratio, now):
        self.batch, self.each, self.ratio, self.now, self.asked = batch, example, ratio, now, []
        self.data = self

    def size(self, split):
        return 1000

    def evaluate(self, model, split, limit=None, request=None):
        self.asked.append(limit)
        self.now[0] += (self.batch * -(-limit // 100) + self.each * limit) * self.ratio
        return Evaluation({}, {}, limit, 0, 0.0, self.ratio)


@pytest.fixture
def now(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    return clock


@pytest.mark.parametrize("ratio", [1.0, 4.0])
def test_writing_beyond_the_length_is_not_counted(now, ratio):
    task = Measured(0.0, 0.01, ratio, now)
    assert example_seconds(task, torch.nn.Identity(), Options(), 3.0) == pytest.approx(0.01)
    assert now[0] < 10


class Listener(Measured):
    """One whose time goes into reading, and that writes next to nothing yet."""

    def evaluate(self, model, split, limit=None, request=None):
        return replace(super().evaluate(model, split, limit, request), length_ratio=0.1)


def test_writing_too_little_is_not_reading_little(now):
    task = Listener(0.0, 0.01, 1.0, now)
    assert example_seconds(task, torch.nn.Identity(), Options(), 3.0) == pytest.approx(0.01)


def test_what_a_batch_takes_whatever_is_in_it_is_shared_by_many(now):
    task = Measured(1.0, 0.01, 1.0, now)
    found = example_seconds(task, torch.nn.Identity(), Options(), 0.5)
    assert task.asked == [1, 1, 8] and 0.01 < found < 0.03  # not the 0.135 of eight examples


def test_timing_steps_leaves_model_and_the_generators_alone():
    from saccade.train.engine import step_seconds

    options = line_options("")
    task = Line(options)
    model = task.build()
    before, state = [tensor.clone() for tensor in model.parameters()], torch.get_rng_state()
    assert 0 < step_seconds(task, model, options, torch.device("cpu"), 0.01) < 10
    assert all(torch.equal(one, other) for one, other in zip(before, model.parameters(), strict=True))
    assert torch.equal(torch.get_rng_state(), state)
