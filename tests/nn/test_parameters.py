import torch

from saccade import normalizers, scores
from saccade.nn._parameters import Parameters


def test_parameters_learn_and_other_tensors_are_buffers():
    held = Parameters(normalizers.Softmax(torch.nn.Parameter(torch.ones(1)), sink=torch.zeros(1)))
    assert [name for name, _ in held.named_parameters()] == ["temperature"]
    assert [name for name, _ in held.named_buffers()] == ["sink"]
    assert held.get().temperature is held.temperature


def test_tensors_move_with_the_module():
    held = Parameters(scores.Additive(torch.nn.Parameter(torch.ones(3)))).double()
    assert held.get().v.dtype == torch.float64


def test_a_plain_callable_comes_back_as_it_is():
    function = lambda query, key: query @ key.mT
    assert Parameters(function).get() is function and not list(Parameters(function).parameters())
