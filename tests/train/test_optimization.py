import pytest
import torch

from saccade.train.optimization import learning_rate, make_optimizer, optimizer_tensors, restore_optimizer
from saccade.train.options import Options


def steps(model, optimizer, numbers):
    for number in numbers:
        optimizer.zero_grad()
        model(torch.full((1, 3), float(number))).square().sum().backward()
        optimizer.step()


def test_an_optimizer_restored_goes_on_bit_for_bit():
    torch.manual_seed(0)
    first = torch.nn.Linear(3, 2)
    optimizer = make_optimizer(first, Options())
    steps(first, optimizer, range(3))
    second = torch.nn.Linear(3, 2)
    second.load_state_dict(first.state_dict())
    other = make_optimizer(second, Options())
    restore_optimizer(other, {name: tensor.clone() for name, tensor in optimizer_tensors(optimizer).items()})
    steps(first, optimizer, range(3, 6))
    steps(second, other, range(3, 6))
    assert torch.equal(first.weight, second.weight)


def test_the_learning_rate_rises_and_falls_and_knows_no_budget():
    few, many = Options(warmup_steps=10, max_steps=40), Options(warmup_steps=10, max_steps=4000)
    rates = [learning_rate(step, few) for step in range(40)]
    assert rates == [learning_rate(step, many) for step in range(40)]
    assert max(rates) == rates[9] == few.learning_rate
    assert rates[:10] == sorted(rates[:10]) and rates[9:] == sorted(rates[9:], reverse=True)
    assert rates[39] == pytest.approx(few.learning_rate / 2)


def test_weight_decay_pulls_matrices_and_leaves_vectors():
    model = torch.nn.Linear(3, 2)
    weight, bias = model.weight.detach().clone(), model.bias.detach().clone()
    optimizer = make_optimizer(model, Options(weight_decay=0.5, learning_rate=0.1))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert torch.allclose(model.weight, weight * (1 - 0.05)) and torch.equal(model.bias, bias)
