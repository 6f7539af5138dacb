import torch

from saccade.train.options import Options
from saccade.train.results import Books, measure
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
    assert Books(10).spent(Options(max_steps=10)) and not Books(9).spent(Options(max_steps=10))
    assert Books(1, seconds=60).spent(Options(max_minutes=1)) and not Books(1, seconds=59).spent(Options(max_minutes=1))
