"""Rows of unit length, and their gradients. A table begins as those of `rows` do.

Lengths are float64: no square of a float32 number is too large or too small for it.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import kernel, loops, numbers, take
from saccade.kernels.compiled.rows_backward import dot

__all__ = ["backward", "forward"]


@loops
def _length(row: Any) -> float:
    """The length of a row, 1 of zeros."""
    total = np.float64(0)
    for j in range(row.size):
        total += np.float64(row[j]) * np.float64(row[j])
    return np.sqrt(total) if total != 0 else np.float64(1)


@loops
def _divided(row: Any, length: float, found: Any) -> None:
    factor = 1.0 / length
    for j in range(row.size):
        found[j] = np.float32(np.float64(row[j]) * factor)


@loops
def _across(grad: Any, unit: Any, length: float, found: Any) -> None:
    """The part of a gradient that is across a row, over its length; zeros of zeros, whatever the row holds."""
    along, factor, some = dot(grad, unit), 1.0 / length, np.float32(0)
    for j in range(grad.size):
        some += abs(grad[j])
    if some == 0:
        found[:] = 0
        return
    for j in range(grad.size):
        found[j] = np.float32(np.float64(grad[j] - along * unit[j]) * factor)


@kernel
def forward(table: Any) -> None:
    """8 rows, 9 where those of unit length go, 10 their lengths, float64."""
    width, kind = table[2], np.float32(0)
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for i in range(block * table[4], min(table[3], (block + 1) * table[4])):
            row, length = numbers(table[8], i * width, width, kind), numbers(table[10], i, 1, np.float64(0))
            length[0] = _length(row)
            _divided(row, length[0], numbers(table[9], i * width, width, kind))


@kernel
def backward(table: Any) -> None:
    """8 gradients of what was of unit length, 9 that itself, 10 lengths, 11 where the gradients of the rows go."""
    width, kind = table[2], np.float32(0)
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for i in range(block * table[4], min(table[3], (block + 1) * table[4])):
            grad, unit = numbers(table[8], i * width, width, kind), numbers(table[9], i * width, width, kind)
            length = numbers(table[10], i, 1, np.float64(0))[0]
            _across(grad, unit, length, numbers(table[11], i * width, width, kind))
