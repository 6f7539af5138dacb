import pytest
import torch
from hypothesis import given as drawn
from hypothesis import strategies as st
from torch import nn

from saccade.errors import ArgumentError, ShapeError
from saccade.look import sequential_jacobian, shares
from saccade.look._jacobian import returning


def network(seed, features, outputs):
    """A small network over five places of three numbers each, whose outputs are at four places."""
    draws = torch.Generator().manual_seed(seed)
    mix, first = torch.randn(4, 5, generator=draws).double(), torch.randn(3, features, generator=draws).double()
    weight = torch.randn(outputs, features, generator=draws).double()
    return lambda x: (mix @ (x @ first).tanh()).sin(), torch.randn(5, 3, generator=draws).double(), weight


@drawn(st.integers(0, 99), st.integers(1, 4), st.integers(1, 7), st.sampled_from([1, 2, 5, 64]))
def test_it_is_the_norm_of_what_torch_computes_entry_by_entry(seed, features, outputs, block):
    model, inputs, weight = network(seed, features, outputs)
    for mix in (None, weight):
        wanted = torch.func.jacrev(lambda x, mix=mix: model(x) if mix is None else model(x) @ mix.T)(inputs)
        found = sequential_jacobian(model, inputs, mix, block=block)
        torch.testing.assert_close(found, wanted.square().sum((1, 3)).sqrt())
        torch.testing.assert_close(sequential_jacobian(model, inputs, mix, block=block, signed=True), wanted)


def test_it_is_what_differences_of_outputs_say():
    model, inputs, weight = network(3, 4, 6)
    squares, step = torch.zeros(4, 5, dtype=torch.float64), 1e-6
    for place in range(5):
        for entry in range(3):
            moved = torch.zeros_like(inputs)
            moved[place, entry] = step
            change = (model(inputs + moved) - model(inputs - moved)) @ weight.T / (2 * step)
            squares[:, place] += change.square().sum(-1)
    torch.testing.assert_close(sequential_jacobian(model, inputs, weight), squares.sqrt(), rtol=1e-7, atol=1e-8)


def test_what_an_output_does_not_read_is_exactly_zero():
    found = sequential_jacobian(lambda x: x.flatten(2).cumsum(1), torch.randn(6, 2, 3))
    assert torch.equal(found > 0, torch.ones(6, 6).tril().bool())
    torch.testing.assert_close(found[-1], torch.full((6,), 6.0, dtype=torch.float64).sqrt())
    nothing = sequential_jacobian(lambda x: torch.ones(64, 2, 3) + 0 * x.sum(), torch.randn(4, 1))
    assert nothing.tolist() == [[0.0] * 4] * 2


def test_parameters_keep_their_gradients():
    layer = nn.Linear(3, 2).requires_grad_(False)
    with torch.inference_mode():
        found = sequential_jacobian(layer, layer(torch.randn(4, 3)) @ torch.randn(2, 3))
    torch.testing.assert_close(found, torch.eye(4, dtype=torch.float64) * layer.weight.double().norm())
    assert layer.weight.grad is None


def test_recurrent_layers_run_without_cudnn(monkeypatch):
    seen, grad = list[bool](), torch.autograd.grad

    def model(x):
        seen.append(torch.backends.cudnn.enabled)
        return x.cumsum(1)

    def gradients(*args, **more):
        seen.append(torch.backends.cudnn.enabled)
        return grad(*args, **more)

    monkeypatch.setattr(torch.autograd, "grad", gradients)
    sequential_jacobian(model, torch.randn(2, 1))
    assert len(seen) > 1 and not any(seen) and torch.backends.cudnn.enabled


def test_torchs_newer_names_of_precision_are_no_obstacle():
    before = torch.backends.cudnn.conv.fp32_precision
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    try:
        assert sequential_jacobian(lambda x: x.cumsum(1), torch.ones(2, 1)).tolist() == [[1.0, 0.0], [1.0, 1.0]]
    finally:
        torch.backends.cudnn.conv.fp32_precision = before


def test_rows_are_shares_of_their_sum():
    assert shares(torch.tensor([[0.0, 0.0], [3.0, 1.0]])).tolist() == [[0.0, 0.0], [0.75, 0.25]]


def test_a_module_returns_what_it_is_given_once():
    embedding, other = nn.Embedding(5, 2), torch.zeros(1, 2, 2)
    with returning(embedding, other):
        first, second = embedding(torch.tensor([[1, 2, 3]])), embedding(torch.tensor([[1, 2, 3]]))
    assert torch.equal(first[:, :2], other) and torch.equal(first[:, 2:], second[:, 2:])
    assert torch.equal(second, embedding.weight[None, 1:4]) and not embedding._forward_hooks
    with pytest.raises(RuntimeError, match="stop"), returning(embedding, other):
        raise RuntimeError("stop")
    assert not embedding._forward_hooks


def test_what_cannot_be_is_refused():
    with pytest.raises(ArgumentError, match="inputs: expected floating-point numbers, got torch.int64; embed them"):
        sequential_jacobian(lambda x: x, torch.zeros(2, 2).long())
    with pytest.raises(ArgumentError, match="block: expected a number above 0, got 0"):
        sequential_jacobian(lambda x: x, torch.zeros(2, 2), block=0)
    with pytest.raises(ShapeError, match=r"model: expected an output \(64, T, features\), got \(64, 2\)"):
        sequential_jacobian(lambda x: x[..., 0], torch.zeros(2, 2))
