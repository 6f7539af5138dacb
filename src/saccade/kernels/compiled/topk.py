"""The largest of each row's log-probabilities, without the log-probabilities."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import F, above, exp, floats, integers, kernel, loops, take

PART = 512
"""Logits that go through the cache together."""

FEW = 64
"""Logits that are looked at one by one where there is one among them that counts."""


@loops
def _add(logits: Any, bias: Any) -> None:
    for i in range(logits.size):
        logits[i] += bias[i]


@loops
def _exponentials(logits: Any, largest: float) -> float:
    total = F(0.0)
    for i in range(logits.size):
        total += exp(logits[i] - largest)
    return total


@loops
def _insert(value: float, place: int, values: Any, places: Any) -> None:
    """Put a value among those found, after any that is not smaller."""
    at = values.size - 1
    while at > 0 and values[at - 1] < value:
        values[at], places[at] = values[at - 1], places[at - 1]
        at -= 1
    values[at], places[at] = value, place


@loops
def _search(part: Any, first: int, values: Any, places: Any) -> None:
    """Put those of a part in that are among the largest."""
    for start in range(0, part.size, FEW):
        some = part[start : min(part.size, start + FEW)]
        if above(some, values[-1]):
            for i in range(some.size):
                if some[i] > values[-1]:
                    _insert(some[i], first + start + i, values, places)


@loops
def _unordered(logits: Any) -> bool:
    """Whether one is NaN."""
    count = 0
    for i in range(logits.size):
        count += logits[i] != logits[i]
    return count > 0


@loops
def _fill(places: Any) -> None:
    """Where fewer tokens than wanted have any probability, those of none follow in their order."""
    token = 0
    for i in range(places.size):
        while places[i] < 0:
            taken = False
            for other in range(places.size):
                taken = taken or places[other] == token
            if not taken:
                places[i] = token
            token += 1


@loops
def _row(logits: Any, bias: Any, wanted: int, values: Any, places: Any) -> float:
    """Fill in the largest and where they are, equal ones in their order; returns the log-probability of `wanted`."""
    size, largest, total = logits.size, F(-np.inf), F(0.0)
    values[:], places[:] = F(-np.inf), -1
    for first in range(0, size, PART):
        part = logits[first : min(size, first + PART)]
        _add(part, bias[first : min(size, first + PART)])
        if above(part, values[-1]):
            _search(part, first, values, places)
        if values[0] > largest:  # the sum so far was of exponentials over the largest until then
            total *= exp(largest - values[0])
            largest = values[0]
        if largest > F(-np.inf):
            total += _exponentials(part, largest)
        elif _unordered(part):
            total = F(np.nan)
    _fill(places)
    log_sum = largest + F(np.log(total))
    for i in range(values.size):
        values[i] -= log_sum
    return logits[wanted] - log_sum


@kernel
def forward(table: Any) -> None:
    """[taken, rows, products, size, bias, values, places, count, wanted token, its log-probabilities]; the products
    become logits.
    """
    size, count = table[3], table[7]
    bias = floats(table[4], size)
    while True:
        n = take(table)
        if n >= table[1]:
            return
        values, places = floats(table[5] + 4 * n * count, count), integers(table[6] + 8 * n * count, count)
        chosen = floats(table[9] + 4 * n, 1)
        chosen[0] = _row(floats(table[2] + 4 * n * size, size), bias, table[8], values, places)
