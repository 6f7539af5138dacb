import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.translators import gru
from near import assert_near
from saccade.errors import ShapeError
from saccade.kernels import threads
from saccade.kernels.cells import gru_cell, lstm_cell
from saccade.kernels.gates import gated, gates_forward, lstm_forward, lstm_plain


def draw(rows, size, seed, scale=1.0, dtype=torch.float32):
    numbers = torch.Generator().manual_seed(seed)
    widths = 3 * size, 3 * size, size
    made = (torch.randn(rows, width, generator=numbers, dtype=torch.float64) * scale for width in widths)
    return [tensor.to(dtype).requires_grad_() for tensor in made]


def with_gradients(function, inputs):
    output = function(*inputs)
    ramp = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
    return [output, *torch.autograd.grad((output * ramp).sum(), inputs)]


@given(st.integers(0, 40), st.integers(1, 70), st.integers(0, 99), st.sampled_from([1e-3, 1.0, 10.0, 60.0]))
def test_it_is_the_unit_with_its_gradients(rows, size, seed, scale):
    inputs = draw(rows, size, seed, scale)

    def defined(*given):
        return with_gradients(gru, [tensor.requires_grad_() for tensor in given])

    assert_near(with_gradients(gated, inputs), defined, *inputs)
    with torch.no_grad():
        assert_near(gated(*inputs), gru, *inputs)


def test_float64_is_exact_and_differentiable_again():
    inputs = draw(3, 4, 0, dtype=torch.float64)
    assert torch.autograd.gradcheck(gated, inputs) and torch.autograd.gradgradcheck(gated, inputs, fast_mode=True)


def test_rows_may_lie_apart():
    input_proj, hidden_proj, hidden = (tensor.detach() for tensor in draw(6, 5, 1))
    apart = torch.stack([input_proj, input_proj.flip(0)], 1)[:, 0]
    columns = hidden.T.contiguous().T
    assert apart.stride() == (30, 1) and columns.stride() == (1, 6)
    assert torch.equal(gated(apart, hidden_proj, columns), gated(input_proj, hidden_proj, hidden))
    wide = torch.cat([hidden_proj, hidden_proj], 1)[:, :15]
    assert torch.equal(gated(input_proj, wide, hidden), gated(input_proj, hidden_proj, hidden))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_not_a_number_stays_in_its_row(place):
    inputs = [tensor.detach() for tensor in draw(5, 4, 2)]
    clean = gated(*inputs)
    inputs[place][3] = float("nan")
    found = gated(*inputs)
    assert found[3].isnan().all() and torch.equal(found[[0, 1, 2, 4]], clean[[0, 1, 2, 4]])


def test_second_derivatives_and_many_at_once():
    def second(function, inputs):
        first = torch.autograd.grad(function(*inputs).square().sum(), inputs, create_graph=True)
        return torch.autograd.grad(sum(part.square().sum() for part in first), inputs)

    inputs = draw(3, 4, 0)
    torch.testing.assert_close(second(gated, inputs), second(gru, inputs), rtol=1e-4, atol=1e-5)
    output, ways = gated(*inputs), torch.eye(12).view(12, 3, 4)
    many = torch.autograd.grad(output, inputs, ways, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(output, inputs, way, retain_graph=True) for way in ways]
    for place, part in enumerate(many):
        torch.testing.assert_close(part, torch.stack([grads[place] for grads in each]))


def test_a_state_that_broadcasts_is_torchs():
    input_proj, hidden_proj, hidden = (tensor.detach() for tensor in draw(4, 2, 0))
    torch.testing.assert_close(gated(input_proj, hidden_proj, hidden[:1]), gru(input_proj, hidden_proj, hidden[:1]))


def test_what_a_kernel_would_not_notice_is_refused():
    input_proj, hidden_proj, hidden = (tensor.detach() for tensor in draw(4, 2, 0))
    with pytest.raises(ShapeError, match=r"input_proj: expected \(4, 6\) .*got \(4, 5\)"):
        gates_forward(input_proj[:, :5], hidden_proj, hidden)
    with pytest.raises(ShapeError, match=r"hidden_proj: .*got \(3, 6\)"):
        gates_forward(input_proj, hidden_proj[:3], hidden)
    with pytest.raises(ShapeError, match="input_proj: .*float64"):
        gates_forward(input_proj.double(), hidden_proj, hidden)
    step = gru_cell(torch.randn(6, 2, requires_grad=True), torch.zeros(6))
    with pytest.raises(ShapeError, match="input_proj"):
        step(input_proj[:, :5], hidden)


@pytest.mark.parametrize("gates", [torch.bfloat16, torch.float32])
def test_a_state_of_another_type_stays_as_exact_as_it_is(gates):
    """As under autocast, where products are of a half type and a first state is not."""
    entering, before, hidden = torch.randn(3, 6, dtype=gates), torch.randn(3, 6, dtype=gates), torch.randn(3, 2)
    found = gated(entering, before, hidden)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, gated(entering.float(), before.float(), hidden), atol=0.05, rtol=0.05)


def torchs(rows, size, steps, seed, scale=1.0, dtype=torch.float32):
    """An LSTM of torch's, and words for it."""
    torch.manual_seed(seed)
    layer = torch.nn.LSTM(3, size, batch_first=True).to(dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(scale)
    return layer, torch.randn(rows, steps, 3, dtype=dtype)


def by_steps(layer, words):
    step = lstm_cell(layer.weight_hh_l0, layer.bias_hh_l0)
    hidden = cell = words.new_zeros(len(words), layer.hidden_size)
    states = []
    for input_proj in torch.nn.functional.linear(words, layer.weight_ih_l0, layer.bias_ih_l0).unbind(1):
        hidden, cell = step(input_proj, hidden, cell)
        states.append(hidden)
    return torch.stack(states, 1), cell


def by_torch(words, *parameters):
    """torch's, of these parameters, with their gradients."""
    layer = torch.nn.LSTM(3, parameters[1].shape[1], batch_first=True).to(words.dtype)
    with torch.no_grad():
        for mine, given in zip(layer.parameters(), parameters, strict=True):
            mine.copy_(given)
    output, (_, cell) = layer(words)
    return lstm_gradients(output, cell[0], list(layer.parameters()))


def lstm_gradients(output, cell, inputs):
    ramp = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
    return [output, cell, *torch.autograd.grad((output * ramp).sum() + cell.square().sum(), inputs)]


@given(
    st.integers(1, 20), st.integers(1, 37), st.integers(1, 4), st.integers(0, 99), st.sampled_from([1e-3, 1.0, 20.0])
)
def test_an_lstm_is_torchs_with_its_gradients(rows, size, steps, seed, scale):
    layer, words = torchs(rows, size, steps, seed, scale)
    found = lstm_gradients(*by_steps(layer, words), list(layer.parameters()))
    inputs = words, *layer.parameters()
    assert_near(found, by_torch, *inputs)
    with torch.no_grad():
        unrecorded = by_steps(layer, words)
    assert_near(unrecorded, lambda *given: by_torch(*given)[:2], *inputs)


def test_an_lstm_without_kernels_is_the_same(monkeypatch):
    layer, words = torchs(5, 7, 3, 0)
    found = lstm_gradients(*by_steps(layer, words), list(layer.parameters()))
    monkeypatch.setitem(threads._state, "numba", "there is none here")
    for one, other in zip(found, lstm_gradients(*by_steps(layer, words), list(layer.parameters())), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_gradients_of_an_lstm_are_differentiable_again():
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


def test_shapes_that_do_not_fit_an_lstm_are_refused():
    with pytest.raises(ShapeError, match=r"hidden_proj: expected \(2, 12\)"):
        lstm_forward(torch.zeros(2, 12), torch.zeros(2, 11), torch.zeros(2, 3))
    for dtype in (torch.float64, torch.bfloat16):
        with pytest.raises(ShapeError, match="of torch.float32"):
            lstm_forward(*(torch.zeros(2, width, dtype=dtype) for width in (12, 12, 3)))


def test_a_frozen_lstm_lets_gradients_through():
    layer, words = torchs(5, 7, 3, 0)
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
    words.requires_grad_(True)
    output, (_, cell) = layer(words)
    expected = lstm_gradients(output, cell[0], [words])
    for one, other in zip(lstm_gradients(*by_steps(layer, words), [words]), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
