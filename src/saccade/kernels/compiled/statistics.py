"""Statistics of rows of weights, and draws from them."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, integers, kernel, loops, numbers, rows_of, whole_vectors
from saccade.kernels.compiled.functions import STRIDE, log
from saccade.kernels.compiled.rows import allowed_in, sum_of
from saccade.kernels.compiled.top import LANES, lanes_of, top_of, top_one_by_one
from saccade.kernels.statistics import Table


@loops
def entropy_of(weights: Any) -> Any:
    """-sum w log w over weights above 0."""
    whole_vectors()
    zero, unity, total = weights.dtype.type(0), weights.dtype.type(1), weights.dtype.type(0)
    for j in range(weights.size):
        w = weights[j]
        total -= w * log(w if not w <= zero else unity)
    return total


@loops
def _entropy_slopes(weights: Any, factor: float, slopes: Any) -> None:
    zero, unity = weights.dtype.type(0), weights.dtype.type(1)
    for j in range(weights.size):
        w = weights[j]
        slopes[j] = zero if w <= zero else -factor * (log(w) + unity)


@kernel
def entropy(t: Table, kind: Any) -> None:
    """Entropies of rows of weights, or their gradients."""
    width = t.rows.width
    for block in blocks(t):
        for i in rows_of(block, t.rows.block, t.rows.length):
            weights = numbers(t.weights, i * width, width, kind)
            if t.grads:
                factor = numbers(t.grads, i, 1, kind)[0]
                _entropy_slopes(weights, factor, numbers(t.weights_grad, i * width, width, kind))
            else:
                numbers(t.numbers, i, 1, kind)[0] = entropy_of(weights)


@kernel
def top(t: Table, kind: Any) -> None:
    width, many = t.rows.width, t.many
    room = np.empty(LANES, numbers(t.weights, 0, 1, kind).dtype)
    for block in blocks(t):
        for i in rows_of(block, t.rows.block, t.rows.length):
            weights, allowed = numbers(t.weights, i * width, width, kind), allowed_in(t.rows, i)
            values, indices = numbers(t.numbers, i * many, many, kind), integers(t.indices, i * many, many)
            if np.isnan(sum_of(weights)):
                top_one_by_one(weights, allowed, values, indices)
            else:
                lanes_of(weights, room)
                top_of(weights, allowed, room, weights.dtype.type(0), values, indices)


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
    """First index with a sum from `before` on above a bound, -1 if none."""
    total = before
    for j in range(weights.size):
        total += np.float64(weights[j])
        if total > bound and weights[j] > 0:  # a sum in another order may have passed the bound before
            return j
    return -1


@loops
def draw_of(weights: Any, uniform: float) -> Any:
    """First index with a running sum above uniform · sum, -1 if the sum is not > 0."""
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
            index = _first_beyond(part, before, bound)
            if index >= 0:
                return first + index
        before = after
    for j in range(weights.size - 1, -1, -1):  # where uniform times the sum rounds up to the sum
        if weights[j] > weights.dtype.type(0):
            return j
    return -1


@kernel
def draw(t: Table, kind: Any) -> None:
    width = t.rows.width
    for block in blocks(t):
        for i in rows_of(block, t.rows.block, t.rows.length):
            uniform = np.float64(numbers(t.uniform, i, 1, kind)[0])
            integers(t.indices, i, 1)[0] = draw_of(numbers(t.weights, i * width, width, kind), uniform)
