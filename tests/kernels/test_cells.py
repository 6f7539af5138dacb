import pytest
import torch
from torch import nn
from torch.nn import functional as F

from models.translators import gru
from saccade.kernels import threads
from saccade.kernels.cells import gru_cell, gru_of, linear_cell, lstm_cell, lstm_of, plain

ROWS, HIDDEN = 3, 2


def normal(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def lstm(gates, hidden, cell):
    first, forget, candidate, last = gates.chunk(4, -1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(first) * torch.tanh(candidate)
    return torch.sigmoid(last) * torch.tanh(cell), cell


def through_gru(weight, bias, inputs, hidden):
    step = gru_cell(weight, bias)
    for entering in inputs.unbind(0):
        hidden = step(entering, hidden)
    return hidden


def through_lstm(weight, bias, inputs, hidden, cell):
    step = lstm_cell(weight, bias)
    for entering in inputs.unbind(0):
        hidden, cell = step(entering, hidden, cell)
    return hidden, cell


def of_gru(steps=2):
    torch.manual_seed(0)
    return normal(3 * HIDDEN, HIDDEN), normal(3 * HIDDEN), normal(steps, ROWS, 3 * HIDDEN), normal(ROWS, HIDDEN)


def of_lstm(steps=2):
    torch.manual_seed(0)
    parts = normal(4 * HIDDEN, HIDDEN), normal(4 * HIDDEN), normal(steps, ROWS, 4 * HIDDEN), normal(ROWS, HIDDEN)
    return *parts, normal(ROWS, HIDDEN)


@pytest.mark.parametrize(("function", "parts"), [(through_gru, of_gru()), (through_lstm, of_lstm())])
def test_derivatives_of_a_loop_are_right(function, parts):
    assert torch.autograd.gradcheck(function, parts)


@pytest.mark.parametrize(("function", "parts"), [(through_gru, of_gru(1)), (through_lstm, of_lstm(1))])
def test_second_derivatives_are_right(function, parts):
    assert torch.autograd.gradgradcheck(function, parts)


def test_a_map_in_a_loop_has_the_derivatives_of_the_map():
    torch.manual_seed(0)
    linear = nn.Linear(2, 2).double()

    def loop(rows):
        step = linear_cell(linear)
        return step(torch.tanh(step(torch.tanh(step(rows)))))

    def by_hand(rows):
        return linear(torch.tanh(linear(torch.tanh(linear(rows)))))

    rows = normal(ROWS, 2)
    assert torch.autograd.gradcheck(loop, (rows,))
    found, expected = (
        torch.autograd.grad(f(rows).square().sum(), (rows, *linear.parameters())) for f in (loop, by_hand)
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("numba", [True, False])
def test_a_module_is_the_cell_of_its_numbers(monkeypatch, numba, recording):
    if not numba:
        monkeypatch.setitem(threads._state, "numba", "there is none here")
    torch.manual_seed(0)
    gated, remembering = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, 4 * HIDDEN)
    inputs, more = torch.randn(ROWS, 3 * HIDDEN), torch.randn(ROWS, 4 * HIDDEN)
    hidden, cell = torch.randn(ROWS, HIDDEN), torch.randn(ROWS, HIDDEN)
    with torch.set_grad_enabled(recording):
        torch.testing.assert_close(gru_of(gated)(inputs, hidden), gru(inputs, gated(hidden), hidden))
        expected = lstm(more + remembering(hidden), hidden, cell)
        torch.testing.assert_close(lstm_of(remembering)(more, hidden, cell), expected)


def test_what_is_done_to_a_module_is_done_in_its_cell():
    torch.manual_seed(0)
    gated, remembering = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, 4 * HIDDEN)
    for linear in (gated, remembering):
        linear.register_forward_hook(lambda module, inputs, output: 2 * output)
        assert not plain(linear)
    inputs, more = torch.randn(ROWS, 3 * HIDDEN), torch.randn(ROWS, 4 * HIDDEN)
    hidden, cell = torch.randn(ROWS, HIDDEN), torch.randn(ROWS, HIDDEN)
    doubled = 2 * F.linear(hidden, gated.weight, gated.bias)
    torch.testing.assert_close(gru_of(gated)(inputs, hidden), gru(inputs, doubled, hidden))
    expected = lstm(more + 2 * F.linear(hidden, remembering.weight, remembering.bias), hidden, cell)
    torch.testing.assert_close(lstm_of(remembering)(more, hidden, cell), expected)
    assert linear_cell(gated) is gated


def test_a_map_is_plain_if_nothing_else_happens():
    class Doubled(nn.Linear):
        def forward(self, rows):
            return 2 * super().forward(rows)

    assert plain(nn.Linear(2, 3)) and not plain(Doubled(2, 3))
    assert not plain(nn.Identity()) and plain(nn.LSTMCell(2, 3), nn.LSTMCell)
    unbiased, linear = nn.Linear(2, 3, bias=False), nn.Linear(2, 3)
    assert linear_cell(unbiased) is unbiased
    handle = linear.register_forward_pre_hook(lambda module, inputs: None)
    assert not plain(linear)
    handle.remove()
    assert plain(linear)
    unbiased.forward = linear.forward
    assert not plain(unbiased)
    seen = []
    linear.register_full_backward_hook(lambda module, inputs, outputs: seen.append(module))
    linear_cell(linear)(torch.zeros(1, 2, requires_grad=True)).sum().backward()
    assert not plain(linear) and seen == [linear]


@pytest.mark.parametrize("frozen", ["weight", "bias"])
def test_what_is_frozen_gets_no_gradient_and_lets_others_through(frozen):
    torch.manual_seed(0)
    linear = nn.Linear(2, 2)
    getattr(linear, frozen).requires_grad_(False)
    rows = normal(ROWS, 2, dtype=torch.float32)
    step = linear_cell(linear)
    found = step(torch.tanh(step(rows))).square().sum()
    expected = linear(torch.tanh(linear(rows))).square().sum()
    learned = [rows, *(p for p in linear.parameters() if p.requires_grad)]
    for one, other in zip(torch.autograd.grad(found, learned), torch.autograd.grad(expected, learned), strict=True):
        torch.testing.assert_close(one, other)


def test_a_frozen_state_costs_the_weights_nothing():
    """The first step's rows are constants; what is learned from them is."""
    torch.manual_seed(0)
    linear, rows = nn.Linear(2, 2), torch.randn(ROWS, 2)
    grads = [torch.autograd.grad(step(rows).square().sum(), linear.weight)[0] for step in (linear_cell(linear), linear)]
    torch.testing.assert_close(*grads)
