import pytest
import torch

from saccade.train.optimization import flat_from, make_optimizer, optimizer_tensors, restore_optimizer
from saccade.train.options import Options


def test_weight_decay_pulls_matrices_and_leaves_vectors():
    model = torch.nn.Linear(3, 2)
    weight, bias = model.weight.detach().clone(), model.bias.detach().clone()
    optimizer = make_optimizer(model, Options(weight_decay=0.5, learning_rate=0.1))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert torch.allclose(model.weight, weight * (1 - 0.05)) and torch.equal(model.bias, bias)


def linear():
    torch.manual_seed(0)
    return torch.nn.Linear(3, 2), lambda number: torch.full((1, 3), number)


def channels_last():
    torch.manual_seed(1)
    images = torch.ones(2, 3, 5, 7).to(memory_format=torch.channels_last)
    model = torch.nn.Conv2d(3, 11, (2, 3)).to(memory_format=torch.channels_last)
    return model, lambda number: (number * images).cumsum(-1)


def take(model, inputs, optimizer, numbers):
    for number in numbers:
        optimizer.zero_grad()
        model(inputs(float(number))).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("build", [linear, channels_last])
def test_an_optimizer_restored_goes_on_bit_for_bit_in_the_layout_of_its_weights(build):
    (first, inputs), (second, _) = build(), build()
    optimizer, other = make_optimizer(first, Options()), make_optimizer(second, Options())
    assert optimizer_tensors(optimizer) == {}  # before the first step there is no state
    take(first, inputs, optimizer, range(3))
    saved = optimizer_tensors(optimizer)
    names = ("step", "exp_avg", "exp_avg_sq")
    assert set(saved) == {f"{number}.{name}" for number in (0, 1) for name in names}
    assert all(tensor.is_contiguous() for tensor in saved.values())  # as files have them
    second.load_state_dict(first.state_dict())
    restore_optimizer(other, {name: tensor.clone() for name, tensor in saved.items()})
    for own, again in zip(optimizer.state.values(), other.state.values(), strict=True):
        for name in own:
            assert torch.equal(own[name], again[name]) and own[name].stride() == again[name].stride()
    take(first, inputs, optimizer, range(3, 6))
    take(second, inputs, other, range(3, 6))
    assert torch.equal(first.weight, second.weight) and torch.equal(first.bias, second.bias)


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
