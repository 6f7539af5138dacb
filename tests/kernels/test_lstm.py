import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from near import assert_near
from saccade.errors import ShapeError
from saccade.kernels import threads
from saccade.kernels.cells import lstm_cell
from saccade.kernels.lstm import lstm_forward, lstm_plain


def torchs(rows, size, steps, seed, scale=1.0, dtype=torch.float32):
    """An LSTM of torch's, and words for it."""
    torch.manual_seed(seed)
    layer = torch.nn.LSTM(3, size, batch_first=True).to(dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(scale)
    return layer, torch.randn(rows, steps, 3, dtype=dtype)


def ours(layer, words):
    step = lstm_cell(layer.weight_hh_l0, layer.bias_hh_l0)
    hidden = cell = words.new_zeros(len(words), layer.hidden_size)
    states = []
    for input_proj in torch.nn.functional.linear(words, layer.weight_ih_l0, layer.bias_ih_l0).unbind(1):
        hidden, cell = step(input_proj, hidden, cell)
        states.append(hidden)
    return torch.stack(states, 1), cell


def by_definition(words, *parameters):
    """torch's, of these parameters, with their gradients."""
    layer = torch.nn.LSTM(3, parameters[1].shape[1], batch_first=True).to(words.dtype)
    with torch.no_grad():
        for mine, given in zip(layer.parameters(), parameters, strict=True):
            mine.copy_(given)
    output, (_, cell) = layer(words)
    return with_gradients(output, cell[0], list(layer.parameters()))


def with_gradients(output, cell, inputs):
    ramp = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
    return [output, cell, *torch.autograd.grad((output * ramp).sum() + cell.square().sum(), inputs)]


@given(
    st.integers(1, 20), st.integers(1, 37), st.integers(1, 4), st.integers(0, 99), st.sampled_from([1e-3, 1.0, 20.0])
)
def test_it_is_torchs_with_its_gradients(rows, size, steps, seed, scale):
    layer, words = torchs(rows, size, steps, seed, scale)
    found = with_gradients(*ours(layer, words), list(layer.parameters()))
    inputs = words, *layer.parameters()
    assert_near(found, by_definition, *inputs)
    with torch.no_grad():
        unrecorded = ours(layer, words)
    assert_near(unrecorded, lambda *given: by_definition(*given)[:2], *inputs)


def test_without_kernels_it_is_the_same(monkeypatch):
    layer, words = torchs(5, 7, 3, 0)
    found = with_gradients(*ours(layer, words), list(layer.parameters()))
    monkeypatch.setitem(threads._found, "numba", "there is none here")
    for one, other in zip(found, with_gradients(*ours(layer, words), list(layer.parameters())), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_its_gradient_is_differentiable_again():
    weight, bias, input_proj, hidden, cell = (
        torch.randn(*shape, requires_grad=True) for shape in ((8, 2), (8,), (3, 8), (3, 2), (3, 2))
    )

    def curvature(step):
        hiddens, cells = step(input_proj, hidden, cell)
        inputs = input_proj, hidden, cell, weight, bias
        first = torch.autograd.grad((hiddens.square() + cells).sum(), inputs, create_graph=True)
        return torch.autograd.grad(sum(part.square().sum() for part in first), inputs)

    expected = curvature(lambda x, h, c: lstm_plain(x, torch.nn.functional.linear(h, weight, bias), c))
    for one, other in zip(curvature(lstm_cell(weight, bias)), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match=r"hidden_proj: expected \(2, 12\)"):
        lstm_forward(torch.zeros(2, 12), torch.zeros(2, 11), torch.zeros(2, 3))
    for dtype in (torch.float64, torch.bfloat16):
        with pytest.raises(ShapeError, match="of torch.float32"):
            lstm_forward(*(torch.zeros(2, width, dtype=dtype) for width in (12, 12, 3)))


def test_a_frozen_weight_lets_gradients_through():
    layer, words = torchs(5, 7, 3, 0)
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
    words.requires_grad_(True)
    output, (_, cell) = layer(words)
    expected = with_gradients(output, cell[0], [words])
    for one, other in zip(with_gradients(*ours(layer, words), [words]), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
