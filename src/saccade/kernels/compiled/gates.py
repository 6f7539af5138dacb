"""The gated recurrent unit from its two projections: one pass forward, one backward."""

from typing import Any

from saccade.kernels.compiled import F, apart, floats, kernel, loops, sigmoid, take, tanh

ROWS = 8
"""Rows in a block of work."""


# Forward loops of few arrays each: all in one took 1.15 times as long.


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
