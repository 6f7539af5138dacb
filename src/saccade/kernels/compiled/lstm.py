"""Long short-term memory from its two projections: one pass forward, one backward."""

from typing import Any

from saccade.kernels.compiled import F, floats, kernel, loops, sigmoid, take, tanh

ROWS = 8
"""Rows in a block of work."""


# Loops of few arrays each: with more, LLVM would rather not ask whether they overlap, and vectorizes nothing.


@loops
def _row(input_proj: Any, hidden_proj: Any, cell: Any, hidden: Any, new: Any, gates: Any, size: int) -> None:
    """Gates come in the order of input, forget, candidate, output; tanh of the new cell is kept behind them."""
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
def forward(table: Any) -> None:
    """[taken, blocks, input_proj, its stride, hidden_proj, cell, its stride, hidden, new cell, gates, rows, size]."""
    rows, size = table[10], table[11]
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for n in range(block * ROWS, min(rows, (block + 1) * ROWS)):
            _row(
                floats(table[2] + 4 * n * table[3], 4 * size),
                floats(table[4] + 16 * n * size, 4 * size),
                floats(table[5] + 4 * n * table[6], size),
                floats(table[7] + 4 * n * size, size),
                floats(table[8] + 4 * n * size, size),
                floats(table[9] + 20 * n * size, 5 * size),
                size,
            )


@loops
def _row_backward(
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
def backward(table: Any) -> None:
    """[taken, blocks, gradient of hidden, its stride, of the new cell, its stride, gates, cell, its stride, gradients
    of input_proj and cell, rows, size].
    """
    rows, size = table[11], table[12]
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for n in range(block * ROWS, min(rows, (block + 1) * ROWS)):
            _row_backward(
                floats(table[2] + 4 * n * table[3], size),
                floats(table[4] + 4 * n * table[5], size),
                floats(table[6] + 20 * n * size, 5 * size),
                floats(table[7] + 4 * n * table[8], size),
                floats(table[9] + 16 * n * size, 4 * size),
                floats(table[10] + 4 * n * size, size),
                size,
            )
