import pytest
import torch

from saccade.train.optimization import flat_from, learning_rate, make_optimizer, optimizer_tensors, restore_optimizer
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


def test_learning_rate_rises_and_falls_and_knows_no_budget():
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


def step_of_images(model, optimizer, numbers):
    for number in numbers:
        optimizer.zero_grad()
        images = torch.full((2, 3, 5, 7), float(number)).cumsum(-1).to(memory_format=torch.channels_last)
        model(images).square().mean().backward()
        optimizer.step()


def channels_last():
    torch.manual_seed(1)
    return torch.nn.Conv2d(3, 11, (2, 3)).to(memory_format=torch.channels_last)


def test_a_channels_last_weight_keeps_its_layout():
    first, second = channels_last(), channels_last()
    optimizer, other = make_optimizer(first, Options()), make_optimizer(second, Options())
    step_of_images(first, optimizer, range(3))
    saved = optimizer_tensors(optimizer)
    assert all(tensor.is_contiguous() for tensor in saved.values())  # as files have them
    second.load_state_dict(first.state_dict())
    restore_optimizer(other, {name: tensor.clone() for name, tensor in saved.items()})
    for own, again in zip(optimizer.state.values(), other.state.values(), strict=True):
        for name in own:
            assert torch.equal(own[name], again[name]) and own[name].stride() == again[name].stride()
    step_of_images(first, optimizer, range(3, 6))
    step_of_images(second, other, range(3, 6))
    assert torch.equal(first.weight, second.weight) and torch.equal(first.bias, second.bias)


def test_tensors_are_named_by_the_number_of_their_parameter():
    model = torch.nn.Linear(3, 2)
    optimizer = make_optimizer(model, Options())
    assert optimizer_tensors(optimizer) == {}  # before the first step there is no state
    steps(model, optimizer, [1])
    names = {f"{number}.{name}" for number in (0, 1) for name in ("step", "exp_avg", "exp_avg_sq")}
    assert set(optimizer_tensors(optimizer)) == names


@pytest.mark.parametrize(("decay", "kind"), [(0.0, torch.optim.Adam), (0.1, torch.optim.AdamW)])
def test_there_is_weight_decay_only_where_it_is_asked_for(decay, kind):
    optimizer = make_optimizer(torch.nn.Linear(3, 2), Options(weight_decay=decay, beta1=0.8, beta2=0.95))
    assert type(optimizer) is kind and optimizer.defaults["betas"] == (0.8, 0.95)
    assert [group["weight_decay"] for group in optimizer.param_groups] == ([0.0] if not decay else [0.1, 0.0])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"schedule": "constant"}, False),
        ({"schedule": "cosine", "schedule_steps": 2000, "max_steps": 2000}, False),
        ({"schedule": "cosine", "schedule_steps": 2000, "max_steps": 2001}, True),
        ({"schedule": "cosine", "schedule_steps": 2000, "max_steps": None, "max_minutes": 1.0}, True),
    ],
)
def test_a_rate_that_stays_at_its_last_is_said(changed, said):
    assert (flat_from(Options(**changed)) is not None) is said
