import torch

from saccade.train.options import Options
from saccade.train.results import TrainState, measure
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
