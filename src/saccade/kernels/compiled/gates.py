"""The gated recurrent unit from its two projections: one pass forward, one backward."""

from typing import Any

from saccade.kernels.compiled import F, floats, kernel, loops, sigmoid, take, tanh

ROWS = 8
"""Rows in a block of work."""


# Loops of few arrays each: with more, LLVM would rather not ask whether they overlap, and vectorizes nothing.


@loops
def _row(input_proj: Any, hidden_proj: Any, hidden: Any, new: Any, gates: Any, size: int) -> None:
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
def forward(table: Any) -> None:
    """[taken, blocks, input_proj, its stride, hidden_proj, hidden, its stride, new, gates, rows, size]."""
    rows, size = table[9], table[10]
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for n in range(block * ROWS, min(rows, (block + 1) * ROWS)):
            _row(
                floats(table[2] + 4 * n * table[3], 3 * size),
                floats(table[4] + 12 * n * size, 3 * size),
                floats(table[5] + 4 * n * table[6], size),
                floats(table[7] + 4 * n * size, size),
                floats(table[8] + 12 * n * size, 3 * size),
                size,
            )


@loops
def _row_backward(
    grad: Any,
    gates: Any,
    hidden_proj: Any,
    hidden: Any,
    input_proj_grad: Any,
    hidden_proj_grad: Any,
    hidden_grad: Any,
    size: int,
) -> None:
    reset, update, candidate = gates[:size], gates[size : 2 * size], gates[2 * size :]
    inside, last = input_proj_grad[2 * size :], hidden_proj[2 * size :]
    for i in range(size):
        hidden_grad[i] = grad[i] * update[i]
    for i in range(size):
        inside[i] = grad[i] * (F(1.0) - update[i]) * (F(1.0) - candidate[i] * candidate[i])
    for i in range(size):
        hidden_proj_grad[2 * size + i] = inside[i] * reset[i]
    for i in range(size):
        hidden_proj_grad[i] = hidden_proj_grad[2 * size + i] * last[i] * (F(1.0) - reset[i])
    for i in range(size):
        hidden_proj_grad[size + i] = hidden_grad[i] * (hidden[i] - candidate[i]) * (F(1.0) - update[i])
    for i in range(2 * size):
        input_proj_grad[i] = hidden_proj_grad[i]


@kernel
def backward(table: Any) -> None:
    """[taken, blocks, grad, its stride, gates, hidden_proj, hidden, its stride, gradients of input_proj, hidden_proj
    and hidden, rows, size].
    """
    rows, size = table[11], table[12]
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for n in range(block * ROWS, min(rows, (block + 1) * ROWS)):
            _row_backward(
                floats(table[2] + 4 * n * table[3], size),
                floats(table[4] + 12 * n * size, 3 * size),
                floats(table[5] + 12 * n * size, 3 * size),
                floats(table[6] + 4 * n * table[7], size),
                floats(table[8] + 12 * n * size, 3 * size),
                floats(table[9] + 12 * n * size, 3 * size),
                floats(table[10] + 4 * n * size, size),
                size,
            )
