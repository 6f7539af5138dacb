"""The largest log-probabilities of each row, from its logits: the others are never computed."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import F, above, exp, floats, integers, kernel, loops, take

PART = 512
"""Logits of a part: what is read several times stays in the cache."""

FEW = 64
"""Logits that are compared with the smallest one found at once; where one is larger, each is looked at."""


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
def _insert(value: float, token: int, values: Any, tokens: Any) -> None:
    """Insert a value among those found, after all that are not smaller; the smallest one drops out."""
    at = values.size - 1
    while at > 0 and values[at - 1] < value:
        values[at], tokens[at] = values[at - 1], tokens[at - 1]
        at -= 1
    values[at], tokens[at] = value, token


@loops
def _search(part: Any, first: int, values: Any, tokens: Any) -> None:
    """Insert those of a part, from token `first` on, that are larger than the smallest one found."""
    for start in range(0, part.size, FEW):
        some = part[start : min(part.size, start + FEW)]
        if above(some, values[-1]):
            for i in range(some.size):
                if some[i] > values[-1]:
                    _insert(some[i], first + start + i, values, tokens)


@loops
def _unordered(logits: Any) -> bool:
    """Whether one is NaN."""
    count = 0
    for i in range(logits.size):
        count += logits[i] != logits[i]
    return count > 0


@loops
def _fill(tokens: Any) -> None:
    """Where fewer tokens than wanted have a probability above 0, those of probability 0 follow in their order."""
    token = 0
    for i in range(tokens.size):
        while tokens[i] < 0:
            taken = False
            for other in range(tokens.size):
                taken = taken or tokens[other] == token
            if not taken:
                tokens[i] = token
            token += 1


@loops
def _row(logits: Any, bias: Any, wanted: int, values: Any, tokens: Any) -> float:
    """Write the largest log-probabilities and their tokens, ties in the order of tokens; return that of `wanted`."""
    size, largest, total = logits.size, F(-np.inf), F(0.0)
    values[:], tokens[:] = F(-np.inf), -1
    for first in range(0, size, PART):
        part = logits[first : min(size, first + PART)]
        _add(part, bias[first : min(size, first + PART)])
        if above(part, values[-1]):
            _search(part, first, values, tokens)
        if values[0] > largest:  # the sum so far is over e to the largest one until here
            total *= exp(largest - values[0])
            largest = values[0]
        if largest > F(-np.inf):
            total += _exponentials(part, largest)
        elif _unordered(part):
            total = F(np.nan)
    _fill(tokens)
    log_sum = largest + F(np.log(total))
    for i in range(values.size):
        values[i] -= log_sum
    return logits[wanted] - log_sum


@kernel
def forward(table: Any) -> None:
    """[taken, rows, products, size, bias, values, tokens, count, wanted token, its log-probabilities]; the bias is
    added to the products in place.
    """
    size, count = table[3], table[7]
    bias = floats(table[4], size)
    while True:
        n = take(table)
        if n >= table[1]:
            return
        values, tokens = floats(table[5] + 4 * n * count, count), integers(table[6] + 8 * n * count, count)
        of_wanted = floats(table[9] + 4 * n, 1)
        of_wanted[0] = _row(floats(table[2] + 4 * n * size, size), bias, table[8], values, tokens)
