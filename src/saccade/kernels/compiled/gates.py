"""Gated recurrent units and LSTMs from their two projections, one pass each way."""

from typing import Any

from saccade.kernels.compiled import F, apart, blocks, floats, kernel, loops
from saccade.kernels.compiled.functions import sigmoid, tanh
from saccade.kernels.gates import ROWS, Gru, GruBackward, Lstm, LstmBackward

# Loops of few arrays each: with more, LLVM does not check whether they overlap, and vectorizes nothing.


@loops
def _gru_row(input_proj: Any, hidden_proj: Any, hidden: Any, new: Any, gates: Any, size: int) -> None:
    for i in range(2 * size):
        gates[i] = sigmoid(input_proj[i] + hidden_proj[i])
    candidate = gates[2 * size :]
    for i in range(size):
        candidate[i] = input_proj[2 * size + i] + gates[i] * hidden_proj[2 * size + i]
    for i in range(size):
        candidate[i] = tanh(candidate[i])
    for i in range(size):
        new[i] = candidate[i] + gates[size + i] * (hidden[i] - candidate[i])


@kernel
def gru(t: Gru) -> None:
    """The next state and the gates."""
    size = t.size
    for block in blocks(t):
        for n in range(block * ROWS, min(t.rows, (block + 1) * ROWS)):
            _gru_row(
                floats(t.input_proj, n * t.input_stride, 3 * size),
                floats(t.hidden_proj, 3 * n * size, 3 * size),
                floats(t.hidden, n * t.hidden_stride, size),
                floats(t.new, n * size, size),
                floats(t.gates, 3 * n * size, 3 * size),
                size,
            )


@loops
def _gru_row_backward(
    grad: Any,
    gates: Any,
    hidden_proj: Any,
    hidden: Any,
    input_proj_grad: Any,
    hidden_proj_grad: Any,
    hidden_grad: Any,
    size: int,
) -> None:
    apart()
    for i in range(size):
        j, k = size + i, 2 * size + i
        reset, update, candidate = gates[i], gates[j], gates[k]
        kept = grad[i] * update
        inside = (grad[i] - kept) * (F(1.0) - candidate * candidate)
        of_reset = inside * hidden_proj[k] * reset * (F(1.0) - reset)
        of_update = kept * (hidden[i] - candidate) * (F(1.0) - update)
        input_proj_grad[i], input_proj_grad[j], input_proj_grad[k] = of_reset, of_update, inside
        hidden_proj_grad[i], hidden_proj_grad[j], hidden_proj_grad[k] = of_reset, of_update, inside * reset
        hidden_grad[i] = kept


@kernel
def gru_backward(t: GruBackward) -> None:
    """The gradients of both projections and of the state."""
    size = t.size
    for block in blocks(t):
        for n in range(block * ROWS, min(t.rows, (block + 1) * ROWS)):
            _gru_row_backward(
                floats(t.grad, n * t.grad_stride, size),
                floats(t.gates, 3 * n * size, 3 * size),
                floats(t.hidden_proj, 3 * n * size, 3 * size),
                floats(t.hidden, n * t.hidden_stride, size),
                floats(t.input_proj_grad, 3 * n * size, 3 * size),
                floats(t.hidden_proj_grad, 3 * n * size, 3 * size),
                floats(t.hidden_grad, n * size, size),
                size,
            )


@loops
def _lstm_row(input_proj: Any, hidden_proj: Any, cell: Any, hidden: Any, new: Any, gates: Any, size: int) -> None:
    """Gates in the order input, forget, candidate, output, then tanh of the cell."""
    for i in range(2 * size):
        gates[i] = sigmoid(input_proj[i] + hidden_proj[i])
    for i in range(2 * size, 3 * size):
        gates[i] = tanh(input_proj[i] + hidden_proj[i])
    for i in range(3 * size, 4 * size):
        gates[i] = sigmoid(input_proj[i] + hidden_proj[i])
    for i in range(size):
        new[i] = gates[i] * gates[2 * size + i] + gates[size + i] * cell[i]
    tanh_cell = gates[4 * size :]
    for i in range(size):
        tanh_cell[i] = tanh(new[i])
    for i in range(size):
        hidden[i] = gates[3 * size + i] * tanh_cell[i]


@kernel
def lstm(t: Lstm) -> None:
    """The next state and cell, and the gates."""
    size = t.size
    for block in blocks(t):
        for n in range(block * ROWS, min(t.rows, (block + 1) * ROWS)):
            _lstm_row(
                floats(t.input_proj, n * t.input_stride, 4 * size),
                floats(t.hidden_proj, 4 * n * size, 4 * size),
                floats(t.cell, n * t.cell_stride, size),
                floats(t.hidden, n * size, size),
                floats(t.new, n * size, size),
                floats(t.gates, 5 * n * size, 5 * size),
                size,
            )


@loops
def _lstm_row_backward(
    hidden_grad: Any, new_grad: Any, gates: Any, cell: Any, input_proj_grad: Any, cell_grad: Any, size: int
) -> None:
    tanh_cell = gates[4 * size :]
    for i in range(size):  # the new cell's gradient, in the memory where the old one's will be
        cell_grad[i] = new_grad[i] + hidden_grad[i] * gates[3 * size + i] * (F(1.0) - tanh_cell[i] * tanh_cell[i])
    for i in range(size):
        input_proj_grad[i] = cell_grad[i] * gates[2 * size + i] * gates[i] * (F(1.0) - gates[i])
    for i in range(size):
        input_proj_grad[size + i] = cell_grad[i] * cell[i] * gates[size + i] * (F(1.0) - gates[size + i])
    for i in range(size):
        input_proj_grad[2 * size + i] = cell_grad[i] * gates[i] * (F(1.0) - gates[2 * size + i] * gates[2 * size + i])
    for i in range(size):
        opened = gates[3 * size + i]
        input_proj_grad[3 * size + i] = hidden_grad[i] * tanh_cell[i] * opened * (F(1.0) - opened)
    for i in range(size):
        cell_grad[i] = cell_grad[i] * gates[size + i]


@kernel
def lstm_backward(t: LstmBackward) -> None:
    """The gradients of the input's projection and of the cell."""
    size = t.size
    for block in blocks(t):
        for n in range(block * ROWS, min(t.rows, (block + 1) * ROWS)):
            _lstm_row_backward(
                floats(t.hidden_grad, n * t.hidden_grad_stride, size),
                floats(t.new_grad, n * t.new_grad_stride, size),
                floats(t.gates, 5 * n * size, 5 * size),
                floats(t.cell, n * t.cell_stride, size),
                floats(t.input_proj_grad, 4 * n * size, 4 * size),
                floats(t.cell_grad, n * size, size),
                size,
            )
