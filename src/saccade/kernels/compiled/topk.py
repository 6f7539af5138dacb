"""The largest log-probabilities of each row, from its logits alone."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import F, blocks, floats, integers, kernel, loops
from saccade.kernels.compiled.functions import above, add, exp
from saccade.kernels.compiled.rows import sum_of
from saccade.kernels.compiled.top import insert
from saccade.kernels.topk import Forward

PART = 512
"""Logits of a part. It stays in the cache while it is read several times."""

FEW = 64
"""Logits compared at once with the smallest value so far."""


@loops
def _exponentials(logits: Any, largest: float) -> Any:
    total = F(0.0)
    for i in range(logits.size):
        total += exp(logits[i] - largest)
    return total


@loops
def _search(part: Any, first: int, values: Any, tokens: Any) -> None:
    """Insert a part's logits above the smallest value. Its first token is `first`."""
    for start in range(0, part.size, FEW):
        some = part[start : min(part.size, start + FEW)]
        if above(some, values[-1]):
            for i in range(some.size):
                if some[i] > values[-1]:
                    insert(values, tokens, values.size - 1, some[i], first + start + i)


@loops
def _fill(tokens: Any) -> None:
    """Fill the rest with tokens of probability 0, in order."""
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
def _row(logits: Any, bias: Any, token: int, values: Any, tokens: Any) -> Any:
    """Write the largest log-probabilities and tokens. Return that of `token`."""
    size, largest, total = logits.size, F(-np.inf), F(0.0)
    values[:], tokens[:] = F(-np.inf), -1
    for first in range(0, size, PART):
        part = logits[first : min(size, first + PART)]
        add(bias[first : min(size, first + PART)], part)
        if above(part, values[-1]):
            _search(part, first, values, tokens)
        if values[0] > largest:  # the sum so far is over e to the largest one until here
            total *= exp(largest - values[0])
            largest = values[0]
        if largest > F(-np.inf):
            total += _exponentials(part, largest)
        elif np.isnan(sum_of(part)):  # all others are -inf
            total = F(np.nan)
    _fill(tokens)
    log_sum = largest + F(np.log(total))
    for i in range(values.size):
        values[i] -= log_sum
    return logits[token] - log_sum


@kernel
def forward(t: Forward) -> None:
    size, count, bias = t.size, t.many, floats(t.bias, 0, t.size)
    for n in blocks(t):
        values, tokens = floats(t.values, n * count, count), integers(t.tokens, n * count, count)
        floats(t.log_probs, n, 1)[0] = _row(floats(t.products, n * size, size), bias, t.token, values, tokens)
