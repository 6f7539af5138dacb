"""Statistics and draws from rows of weights. A table begins as those of `rows` do."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import STRIDE, integers, kernel, log, loops, numbers, take, whole_vectors
from saccade.kernels.compiled.rows import allowed_in, sum_of
from saccade.kernels.compiled.top import LANES, lanes_of, top_of, top_one_by_one


@loops
def entropy_of(weights: Any) -> float:
    """-sum w log w over weights above 0."""
    whole_vectors()
    zero, one, total = weights.dtype.type(0), weights.dtype.type(1), weights.dtype.type(0)
    for j in range(weights.size):
        w = weights[j]
        total -= w * log(w if not w <= zero else one)
    return total


@loops
def _entropy_slopes(weights: Any, factor: float, found: Any) -> None:
    zero, one = weights.dtype.type(0), weights.dtype.type(1)
    for j in range(weights.size):
        w = weights[j]
        found[j] = zero if w <= zero else -factor * (log(w) + one)


@loops
def _entropy(table: Any, kind: Any) -> None:
    """8 weights, 9 entropies; or, backward, 10 gradients of the entropies and 11 of the weights ([12] says which)."""
    width = table[2]
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for i in range(block * table[4], min(table[3], (block + 1) * table[4])):
            weights = numbers(table[8], i * width, width, kind)
            if table[12]:
                factor = numbers(table[10], i, 1, kind)[0]
                _entropy_slopes(weights, factor, numbers(table[11], i * width, width, kind))
            else:
                numbers(table[9], i, 1, kind)[0] = entropy_of(weights)


@kernel
def entropy(table: Any) -> None:
    """Entropies of rows of float32 weights, or their gradients: see `_entropy`."""
    _entropy(table, np.float32(0))


@kernel
def entropy_double(table: Any) -> None:
    """The same of float64."""
    _entropy(table, np.float64(0))


@loops
def _top(table: Any, kind: Any) -> None:
    """8 weights, 9 values, 10 indices; [11 how many]."""
    width, count = table[2], table[11]
    room = np.empty(LANES, numbers(table[8], 0, 1, kind).dtype)
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for i in range(block * table[4], min(table[3], (block + 1) * table[4])):
            weights, allowed = numbers(table[8], i * width, width, kind), allowed_in(table, i)
            values, indices = numbers(table[9], i * count, count, kind), integers(table[10] + 8 * i * count, count)
            if np.isnan(sum_of(weights)):
                top_one_by_one(weights, allowed, values, indices)
            else:
                lanes_of(weights, room)
                top_of(weights, allowed, room, weights.dtype.type(0), values, indices)


@kernel
def top(table: Any) -> None:
    """The largest of rows of float32 weights: see `_top`."""
    _top(table, np.float32(0))


@kernel
def top_double(table: Any) -> None:
    """The same of float64."""
    _top(table, np.float64(0))


@loops
def _sums(weights: Any) -> tuple[float, float]:
    """The sum, and how many are negative."""
    zero, total, negative = weights.dtype.type(0), np.float64(0), np.float64(0)
    for j in range(weights.size):
        total += np.float64(weights[j])
        negative += np.float64(1) if weights[j] < zero else np.float64(0)
    return total, negative


@loops
def _first_beyond(weights: Any, before: float, bound: float) -> int:
    """The first index at which the sum from `before` on exceeds a bound; -1 if none."""
    total = before
    for j in range(weights.size):
        total += np.float64(weights[j])
        if total > bound and weights[j] > 0:  # a sum in another order may have passed the bound before
            return j
    return -1


@loops
def draw_of(weights: Any, uniform: float) -> int:
    """The first index whose cumulative weight exceeds uniform times the sum, -1 where the sum is not above 0."""
    total, negative = np.float64(0.0), np.float64(0.0)
    for first in range(0, weights.size, STRIDE):  # in the order in which they are summed again below
        part, few = _sums(weights[first : min(weights.size, first + STRIDE)])
        total, negative = total + part, negative + few
    if not total > 0:
        return -1
    bound, before = uniform * total, np.float64(0.0)
    step = weights.size if negative else STRIDE  # sums of negative weights may pass the bound and come back
    for first in range(0, weights.size, step):
        part = weights[first : min(weights.size, first + step)]
        after = before + _sums(part)[0]
        if after > bound or negative:
            found = _first_beyond(part, before, bound)
            if found >= 0:
                return first + found
        before = after
    for j in range(weights.size - 1, -1, -1):  # where uniform times the sum rounds up to the sum
        if weights[j] > weights.dtype.type(0):
            return j
    return -1


@loops
def _draw(table: Any, kind: Any) -> None:
    """8 weights, 9 uniforms, 10 indices."""
    width = table[2]
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for i in range(block * table[4], min(table[3], (block + 1) * table[4])):
            uniform = np.float64(numbers(table[9], i, 1, kind)[0])
            integers(table[10] + 8 * i, 1)[0] = draw_of(numbers(table[8], i * width, width, kind), uniform)


@kernel
def draw(table: Any) -> None:
    """Draws from rows of float32 weights: see `_draw`."""
    _draw(table, np.float32(0))


@kernel
def draw_double(table: Any) -> None:
    """The same of float64."""
    _draw(table, np.float64(0))
