from dataclasses import replace

import torch

from saccade.train.options import Options
from saccade.train.results import TrainState, measure, sample
from tiny import Line, LineOptions


def test_measuring_leaves_no_trace():
    task = Line(LineOptions())
    model = task.build().train()
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    first = measure(task, model, "validation", 1)
    assert model.training and torch.equal(torch.rand(1), expected)
    assert first.metrics == measure(task, model.eval(), "validation", 1).metrics and not model.training


def test_a_budget_is_steps_or_minutes():
    assert TrainState(10).spent(Options(max_steps=10)) and not TrainState(9).spent(Options(max_steps=10))
    minute = Options(max_minutes=1)
    assert TrainState(1, seconds=60).spent(minute) and not TrainState(1, seconds=59).spent(minute)


def test_how_long_a_run_goes_on_is_said_for_any_budget():
    state = TrainState(step=40, seconds=50.0, reserve=9.0)
    assert state.seconds_left(Options(max_steps=60), 0.5) == 19.0
    assert state.seconds_left(Options(max_steps=None, max_minutes=1.0), 0.5) == 10.0
    assert state.seconds_left(Options(max_steps=None, max_minutes=0.5), 0.5) == 0.0


def test_sample_is_a_line_of_at_most_two_hundred_characters(monkeypatch):
    task = Line(LineOptions())
    model = task.build().eval().requires_grad_(False)
    assert sample(task, model, 1, 5).startswith("validation ")
    original = Line.example
    bell = "rings \x07, reddens \x1b[31m and\nends"
    monkeypatch.setattr(Line, "example", lambda *where: original(*where)._replace(text=bell))
    assert sample(task, model, 1, 5).startswith("rings ·, reddens ·[31m and ends → ")
    long = "a  very\nlong text " * 99
    monkeypatch.setattr(Line, "example", lambda *where: original(*where)._replace(text=long, answer=long))
    found = sample(task, model, 1, 5)
    assert 150 < len(found) <= 198 and found.count("…") == 2 and found.endswith("; by a line)")


def test_a_run_without_another_end_stops_after_ten_validations():
    endless, state = Options(validation_steps=5), TrainState(100, best=0.5, best_step=50, stale=10)
    assert state.ended(endless) and not replace(state, stale=9).ended(endless)
    assert not replace(state, best_step=5).ended(endless)  # never improved: perhaps it learns later
    falling = Options(validation_steps=5, schedule="linear", schedule_steps=5000)
    for options in (replace(endless, max_minutes=9.0), falling):
        assert options.early_stopping is None and not state.ended(options)
    assert replace(state, best_step=5).ended(replace(falling, patience=10))
