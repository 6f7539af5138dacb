"""Statistics and draws from rows of weights. A table begins as those of `rows` do."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import STRIDE, integers, kernel, log, loops, numbers, take, whole_vectors
from saccade.kernels.compiled.rows import LANES, allowed_in, larger, sum_of


@loops
def _entropy_of(weights: Any) -> float:
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
                numbers(table[9], i, 1, kind)[0] = _entropy_of(weights)


@kernel
def entropy(table: Any) -> None:
    """Entropies of rows of float32 weights, or their gradients: see `_entropy`."""
    _entropy(table, np.float32(0))


@kernel
def entropy_double(table: Any) -> None:
    """The same of float64."""
    _entropy(table, np.float64(0))


FEW = 32
"""Numbers that are looked at one by one."""


@loops
def _insert(values: Any, indices: Any, count: int, value: float, index: int) -> None:
    """A number to its place among the first `count` that are there, falling, behind its equals."""
    at = min(count, values.size - 1)
    while at > 0 and values[at - 1] < value:
        values[at], indices[at] = values[at - 1], indices[at - 1]
        at -= 1
    values[at], indices[at] = value, index


@loops
def _least(weights: Any, values: Any, indices: Any, room: Any) -> float:
    """A bound that as many weights as there are values reach: that many of the lanes' largest do."""
    room[:] = -np.inf
    for first in range(0, weights.size, LANES):
        part = weights[first : min(weights.size, first + LANES)]
        larger(part, room[: part.size])
    larger(room[2 * FEW :], room[: 2 * FEW])
    larger(room[FEW : 2 * FEW], room[:FEW])
    values[:] = -np.inf
    last, lanes = values.size - 1, room[:FEW]
    for lane in range(lanes.size):
        if lanes[lane] > values[last]:
            _insert(values, indices, lane, lanes[lane], 0)
    return values[last]


@loops
def _at_least(weights: Any, bound: float) -> bool:
    one, count = weights.dtype.type(1), weights.dtype.type(0)
    for j in range(weights.size):
        count += one if weights[j] >= bound else weights.dtype.type(0)
    return count > weights.dtype.type(0)


@loops
def _top_of_broken(weights: Any, allowed: Any, values: Any, indices: Any) -> None:
    """The same where a weight is NaN, which counts as the largest: it must not stay unseen."""
    values[:], indices[:] = -np.inf, -1
    for j in range(weights.size):
        x = weights[j] if weights[j] == weights[j] else weights.dtype.type(np.inf)
        if x > values[-1] and (not allowed.size or allowed[j]):
            _insert(values, indices, values.size - 1, x, j)


@loops
def _top_of(weights: Any, allowed: Any, values: Any, indices: Any, room: Any) -> None:
    """The largest allowed weights and their indices; -inf and -1 beyond the allowed."""
    bound = weights.dtype.type(-np.inf)
    if np.isnan(sum_of(weights)):
        _top_of_broken(weights, allowed, values, indices)
        return
    if not allowed.size and values.size <= FEW:
        bound = _least(weights, values, indices, room)
    values[:], indices[:] = -np.inf, -1
    count, last = 0, values.size - 1
    for start in range(0, weights.size, STRIDE):
        stop = min(weights.size, start + STRIDE)
        if not _at_least(weights[start:stop], bound):
            continue
        for first in range(start, stop, FEW):
            part = weights[first : min(stop, first + FEW)]
            if not _at_least(part, bound):
                continue
            for j in range(part.size):
                if part[j] >= bound and part[j] > values[last] and (not allowed.size or allowed[first + j]):
                    _insert(values, indices, count, part[j], first + j)
                    count += 1
                    bound = max(bound, values[last])


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
            values, indices = numbers(table[9], i * count, count, kind), integers(table[10] + 8 * i * count, count)
            _top_of(numbers(table[8], i * width, width, kind), allowed_in(table, i), values, indices, room)


@kernel
def top(table: Any) -> None:
    """The largest of rows of float32 weights: see `_top`."""
    _top(table, np.float32(0))


@kernel
def top_double(table: Any) -> None:
    """The same of float64."""
    _top(table, np.float64(0))


@loops
def _partial(weights: Any, start: float) -> float:
    total = start
    for j in range(weights.size):
        total += np.float64(weights[j])
    return total


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
def _draw_of(weights: Any, uniform: float) -> int:
    """The first index whose cumulative weight exceeds uniform times the sum, -1 where the sum is not above 0."""
    total, zero = np.float64(0.0), weights.dtype.type(0)
    negative = 0
    for j in range(weights.size):
        negative += weights[j] < zero
    for first in range(0, weights.size, STRIDE):
        total = _partial(weights[first : min(weights.size, first + STRIDE)], total)
    if not total > 0:
        return -1
    bound, before = uniform * total, np.float64(0.0)
    step = weights.size if negative else STRIDE  # sums of negative weights may pass the bound and come back
    for first in range(0, weights.size, step):
        part = weights[first : min(weights.size, first + step)]
        after = _partial(part, before)
        if after > bound or negative:
            found = _first_beyond(part, before, bound)
            if found >= 0:
                return first + found
        before = after
    for j in range(weights.size - 1, -1, -1):  # where uniform times the sum rounds up to the sum
        if weights[j] > zero:
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
            integers(table[10] + 8 * i, 1)[0] = _draw_of(numbers(table[8], i * width, width, kind), uniform)


@kernel
def draw(table: Any) -> None:
    """Draws from rows of float32 weights: see `_draw`."""
    _draw(table, np.float32(0))


@kernel
def draw_double(table: Any) -> None:
    """The same of float64."""
    _draw(table, np.float64(0))
