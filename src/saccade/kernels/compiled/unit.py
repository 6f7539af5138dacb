"""Rows of unit length, and their gradients.

Lengths are float64: no square of a float32 number is too large or too small for it.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, kernel, loops, numbers, rows_of
from saccade.kernels.compiled.rows_backward import dot
from saccade.kernels.unit import Unit


@loops
def _length(row: Any) -> float:
    """The length of a row, 1 of zeros."""
    total = np.float64(0)
    for j in range(row.size):
        total += np.float64(row[j]) * np.float64(row[j])
    return np.sqrt(total) if total != 0 else np.float64(1)


@loops
def _divided(row: Any, length: float, unit: Any) -> None:
    factor = 1.0 / length
    for j in range(row.size):
        unit[j] = np.float32(np.float64(row[j]) * factor)


@loops
def _across(grad: Any, unit: Any, length: float, across: Any) -> None:
    """Part of a gradient across a row, over its length. Zeros if the gradient is."""
    along, factor, some = dot(grad, unit), 1.0 / length, np.float32(0)
    for j in range(grad.size):
        some += abs(grad[j])
    if some == 0:
        across[:] = 0
        return
    for j in range(grad.size):
        across[j] = np.float32(np.float64(grad[j] - along * unit[j]) * factor)


@kernel
def forward(t: Unit) -> None:
    width, kind = t.rows.width, np.float32(0)
    for block in blocks(t):
        for i in rows_of(block, t.rows.block, t.rows.length):
            vector, length = numbers(t.vectors, i * width, width, kind), numbers(t.lengths, i, 1, np.float64(0))
            length[0] = _length(vector)
            _divided(vector, length[0], numbers(t.units, i * width, width, kind))


@kernel
def backward(t: Unit) -> None:
    width, kind = t.rows.width, np.float32(0)
    for block in blocks(t):
        for i in rows_of(block, t.rows.block, t.rows.length):
            grad, unit = numbers(t.grads, i * width, width, kind), numbers(t.units, i * width, width, kind)
            length = numbers(t.lengths, i, 1, np.float64(0))[0]
            _across(grad, unit, length, numbers(t.vectors_grad, i * width, width, kind))
