"""Gated recurrent units and LSTMs from their two projections, one pass each way."""

from typing import Any

from saccade.kernels.compiled import F, apart, blocks, floats, kernel, loops, rows_of
from saccade.kernels.compiled.functions import sigmoid, tanh
from saccade.kernels.gates import ROWS, Backward, Forward

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
def gru(t: Forward) -> None:
    size, wide = t.size, 3 * t.size
    for block in blocks(t):
        for n in rows_of(block, ROWS, t.rows):
            projected = floats(t.input_proj, n * t.input_stride, wide), floats(t.hidden_proj, n * wide, wide)
            states = floats(t.state, n * t.state_stride, size), floats(t.hidden, n * size, size)
            _gru_row(*projected, *states, floats(t.gates, n * wide, wide), size)


@loops
def _gru_row_backward(
    grad: Any, gates: Any, hidden_proj: Any, hidden: Any, input_grad: Any, proj_grad: Any, hidden_grad: Any, size: int
) -> None:
    apart()
    for i in range(size):
        j, k = size + i, 2 * size + i
        reset, update, candidate = gates[i], gates[j], gates[k]
        kept = grad[i] * update
        inside = (grad[i] - kept) * (F(1.0) - candidate * candidate)
        of_reset = inside * hidden_proj[k] * reset * (F(1.0) - reset)
        of_update = kept * (hidden[i] - candidate) * (F(1.0) - update)
        input_grad[i], input_grad[j], input_grad[k] = of_reset, of_update, inside
        proj_grad[i], proj_grad[j], proj_grad[k] = of_reset, of_update, inside * reset
        hidden_grad[i] = kept


@kernel
def gru_backward(t: Backward) -> None:
    size, wide = t.size, 3 * t.size
    for block in blocks(t):
        for n in rows_of(block, ROWS, t.rows):
            grad, hidden = floats(t.hidden_grad, n * t.hidden_stride, size), floats(t.state, n * t.state_stride, size)
            gates, hidden_proj = floats(t.gates, n * wide, wide), floats(t.hidden_proj, n * wide, wide)
            grads = floats(t.input_proj_grad, n * wide, wide), floats(t.hidden_proj_grad, n * wide, wide)
            _gru_row_backward(grad, gates, hidden_proj, hidden, *grads, floats(t.state_grad, n * size, size), size)


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
def lstm(t: Forward) -> None:
    size, wide = t.size, 4 * t.size
    for block in blocks(t):
        for n in rows_of(block, ROWS, t.rows):
            projected = floats(t.input_proj, n * t.input_stride, wide), floats(t.hidden_proj, n * wide, wide)
            results = floats(t.hidden, n * size, size), floats(t.cell, n * size, size)
            cell, gates = floats(t.state, n * t.state_stride, size), floats(t.gates, 5 * n * size, 5 * size)
            _lstm_row(*projected, cell, *results, gates, size)


@loops
def _lstm_row_backward(
    hidden_grad: Any, new_grad: Any, gates: Any, cell: Any, input_grad: Any, cell_grad: Any, size: int
) -> None:
    tanh_cell = gates[4 * size :]
    for i in range(size):  # the new cell's gradient, in the memory where the old one's will be
        cell_grad[i] = new_grad[i] + hidden_grad[i] * gates[3 * size + i] * (F(1.0) - tanh_cell[i] * tanh_cell[i])
    for i in range(size):
        input_grad[i] = cell_grad[i] * gates[2 * size + i] * gates[i] * (F(1.0) - gates[i])
    for i in range(size):
        input_grad[size + i] = cell_grad[i] * cell[i] * gates[size + i] * (F(1.0) - gates[size + i])
    for i in range(size):
        input_grad[2 * size + i] = cell_grad[i] * gates[i] * (F(1.0) - gates[2 * size + i] * gates[2 * size + i])
    for i in range(size):
        opened = gates[3 * size + i]
        input_grad[3 * size + i] = hidden_grad[i] * tanh_cell[i] * opened * (F(1.0) - opened)
    for i in range(size):
        cell_grad[i] = cell_grad[i] * gates[size + i]


@kernel
def lstm_backward(t: Backward) -> None:
    size = t.size
    for block in blocks(t):
        for n in rows_of(block, ROWS, t.rows):
            grads = floats(t.hidden_grad, n * t.hidden_stride, size), floats(t.cell_grad, n * t.cell_stride, size)
            gates, cell = floats(t.gates, 5 * n * size, 5 * size), floats(t.state, n * t.state_stride, size)
            results = floats(t.input_proj_grad, 4 * n * size, 4 * size), floats(t.state_grad, n * size, size)
            _lstm_row_backward(*grads, gates, cell, *results, size)
