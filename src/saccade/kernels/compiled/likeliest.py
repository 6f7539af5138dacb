"""The largest of each row's log-probabilities, without the log-probabilities."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import STRIDE, F, above, exp, floats, integers, kernel, loops, take

@loops
def _log_sum(logits: Any, largest: float) -> float:
    total = F(0.0)
    for i in range(logits.size):
        total += exp(logits[i] - largest)
    return largest + F(np.log(total))


@loops
def _insert(value: float, place: int, values: Any, places: Any) -> None:
    """Put a value among those found, after any that is not smaller."""
    at = values.size - 1
    while at > 0 and values[at - 1] < value:
        values[at], places[at] = values[at - 1], places[at - 1]
        at -= 1
    values[at], places[at] = value, place


@loops
def _row(logits: Any, wanted: int, values: Any, places: Any) -> float:
    """Fill in the largest and where they are, equal ones in their order; returns the log-probability of `wanted`."""
    size = logits.size
    values[:] = F(-np.inf)
    for i in range(places.size):
        places[i] = i
    for first in range(0, size, STRIDE):
        part = logits[first : min(size, first + STRIDE)]
        if above(part, values[-1]):
            for i in range(part.size):
                if part[i] > values[-1]:
                    _insert(part[i], first + i, values, places)
    log_sum = _log_sum(logits, values[0])
    for i in range(values.size):
        values[i] -= log_sum
    return logits[wanted] - log_sum


@kernel
def forward(table: Any) -> None:
    """[taken, rows, logits, their stride, size, values, places, count, wanted token, its log-probabilities]."""
    size, count = table[4], table[7]
    while True:
        n = take(table)
        if n >= table[1]:
            return
        values, places = floats(table[5] + 4 * n * count, count), integers(table[6] + 8 * n * count, count)
        chosen = floats(table[9] + 4 * n, 1)
        chosen[0] = _row(floats(table[2] + 4 * n * table[3], size), table[8], values, places)
