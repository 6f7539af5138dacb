"""Rows of scores become rows of weights.

The members of the entmax family are p = [1 + a (x - t)]^(1/a), cut off at 0, with x = s - max s, a = alpha - 1, and t
such that they sum to one: a = 0 is softmax, 1 is sparsemax. The sum falls with t. At t = 0 the largest weight alone
is 1, so t is not negative, and no score that is 1/a below the largest has any weight: only higher scores are read
again. For a <= 1 the sum is convex and Newton's steps from t = 0 come from one side. For a > 1 the weights of small p
are steep, and all follow from the least of them, in float64: see `steep`. For a = 1/2 and 1 the threshold is
t - 1/a, so that p^a = a (x - threshold) keeps the digits that 1 + a (x - t) would lose.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import (
    blocks,
    exact,
    flags,
    inline,
    integers,
    kernel,
    loops,
    numbers,
    rows_of,
    top,
    whole_vectors,
)
from saccade.kernels.compiled.functions import STRIDE, above, exp, largest_of, log
from saccade.kernels.compiled.steep import least_of, log_weight
from saccade.kernels.rows import RowBlocks
from saccade.kernels.weights import Weigh

SHORT = 512
"""Largest width for thresholds of all numbers, with no branch to predict."""

STEPS = 80
"""Newton's steps at most: they end before, when nothing moves any longer."""


@inline
def allowed_in(rows: RowBlocks, i: int) -> Any:
    """The mask of a row, empty if all is allowed."""
    masked = rows.masked > 0
    start = integers(rows.offsets, 0, rows.masked)[i] if masked else 0
    return flags(rows.flags, start, rows.width if masked else 0)


@loops
def _copy(scores: Any, row: Any) -> None:
    for j in range(row.size):
        row[j] = scores[j]


@loops
def _forbid(row: Any, allowed: Any) -> None:
    """-inf where forbidden."""
    for j in range(allowed.size):
        row[j] = row[j] if allowed[j] else row.dtype.type(-np.inf)


@loops
def sum_of(row: Any) -> Any:
    total = row.dtype.type(0)
    for j in range(row.size):
        total += row[j]
    return total


@loops
def _scale(row: Any, factor: float) -> None:
    for j in range(row.size):
        row[j] *= factor


@loops
def _exponentials(row: Any, largest: float, factor: float) -> tuple[float, float]:
    """Turn numbers into e^x, x = (number - largest) · factor. Return Σ e^x, Σ x e^x.

    In this order: the product of the largest, rounded, may differ from that of an equal number by any exponent.
    """
    whole_vectors()
    total, mean = row.dtype.type(0), row.dtype.type(0)
    for j in range(row.size):
        x = (row[j] - largest) * factor
        w = exp(x)
        row[j] = w
        total += w
        mean += w * (x if w > row.dtype.type(0) else w)
    return total, mean


@loops
def _nothing(row: Any, largest: float) -> bool:
    """Whether all of a row is -inf, the largest of it."""
    return largest == -np.inf and not np.isnan(sum_of(row))


@loops
def _weight_of_nothing(row: Any, allowed: Any) -> Any:
    """The weight if all of a row is -inf: 0 if nothing is allowed, else NaN."""
    something = row.size > 0 and allowed.size == 0
    for j in range(allowed.size):
        something |= allowed[j] != 0
    return row.dtype.type(np.nan) if something else row.dtype.type(0)


@loops
def softmax(row: Any, allowed: Any, factor: float, lanes: Any) -> tuple[float, float]:
    """Turn scores and lanes into weights. Return the log of the sum, and the entropy.

    Zeros, -inf and 0 if nothing is allowed, and NaN, -inf and NaN if all allowed scores are -inf.
    """
    largest = largest_of(lanes if lanes.size else row)
    if _nothing(row, largest):
        weight = _weight_of_nothing(row, allowed)
        row[:], lanes[:] = weight, weight
        return largest, weight
    total, mean = _exponentials(row, largest, factor)
    _scale(row, type(factor)(1) / total)
    if lanes.size:
        _exponentials(lanes, largest, factor)
        _scale(lanes, type(factor)(1) / total)
    log_total = log(total)
    return largest * factor + log_total, log_total - mean / total


@inline
def top_weights(
    weights: Any, allowed: Any, entropy: float, lanes: Any, room: Any, few: int, values: Any, indices: Any
) -> None:
    """The largest weights of a softmax, 0 and -1 beyond the allowed.

    The room begins with the lanes, if any. If a weight is NaN, so is the entropy.

    The lanes were computed apart from the row, and may be rounded otherwise: by the error of an exponent's digits,
    times an exponent of at most 88 (745).
    """
    if np.isnan(entropy):
        top.top_one_by_one(weights, allowed, values, indices)
    elif lanes.size:
        unity = weights.dtype.type(1)
        slack = weights.dtype.type(2000) * (np.nextafter(unity, unity + unity) - unity)
        top.top_of(weights, allowed, room, slack, values, indices)
    else:
        top.few_of(weights, allowed, few, values, indices)
    for t in range(values.size):
        values[t] = weights[indices[t]] if indices[t] >= 0 else weights.dtype.type(0)


@loops
def _subtract(row: Any, largest: float) -> None:
    for j in range(row.size):
        row[j] -= largest


@loops
def _candidates(row: Any, largest: float, reach: float, origin: float) -> int:
    """Move numbers within `reach` of the largest, minus `origin`, to the front."""
    count = 0
    bound = np.nextafter(largest - reach, row.dtype.type(-np.inf))  # numbers that round to the largest are within
    for first in range(0, row.size, STRIDE):
        part = row[first : min(row.size, first + STRIDE)]
        if above(part, bound):
            for j in range(part.size):
                if part[j] > bound:
                    row[count] = part[j] - origin
                    count += 1
    return count


@inline
def _weight(x: float, a: float) -> float:
    """[1 + a x]^(1/a) cut off at 0, with every digit where a x is small."""
    y = a * x
    u = type(a)(1) + y
    small = type(a)(1.1754943508222875e-38)
    inside = u > small
    safe = u if inside else type(a)(1)
    # log(1 + y) is log(u) y / (u - 1), for the rounded u
    near = safe - type(a)(1)
    same = near == type(a)(0)
    power = (y if same else log(safe) * (y / (type(a)(1) if same else near))) / a
    return exp(power) if inside else type(a)(0)


@loops
def _linear(x: Any, threshold: float) -> float:
    """The next threshold of sparsemax, without branches, so that LLVM vectorizes."""
    zero, total, count = x.dtype.type(0), np.float64(0), 0
    for j in range(x.size):
        u = x[j] - threshold
        count += u > zero
        u = u if u > zero else zero
        total += np.float64(u)
    return type(threshold)(threshold + (total - 1.0) / count)


@loops
def _squares(x: Any, threshold: float) -> float:
    """Newton's next threshold of alpha = 1.5, for squares of half the distance."""
    zero, half, total, slope = type(threshold)(0), type(threshold)(0.5), type(threshold)(0), type(threshold)(0)
    for j in range(x.size):
        u = half * (x[j] - threshold)
        u = u if u > zero else zero
        total += u * u
        slope += u
    return threshold + (total - type(threshold)(1)) / slope


@loops
def _powers(x: Any, t: float, a: float) -> tuple[float, float]:
    """Sum and slope (-dp/dt) of the weights for any alpha: p^(1-a)."""
    zero, unity, total, slope = type(t)(0), type(t)(1), type(t)(0), type(t)(0)
    for j in range(x.size):
        p = _weight(x[j] - t, a)
        total += p
        slope += p / (unity + a * (x[j] - t)) if p > zero else zero
    return total, slope


@loops
def _risen(x: Any, a: float) -> float:
    """The threshold for a ≤ 1 (t if a is not 1/2 or 1), by rising steps.

    Rounding may make the last step too large. Then it is undone.
    """
    unity = type(a)(1)
    threshold = type(a)(0)
    if a == 0.5 or a == 1:  # Numba compiles no mixed tuple
        threshold = -unity / a
    for _ in range(STEPS):
        if a == 1:
            following = _linear(x, threshold)
        elif a == 0.5:
            following = _squares(x, threshold)
        else:
            total, slope = _powers(x, threshold, a)
            following = threshold + (total - unity) / slope
        if not following > threshold:
            return following if following > threshold - unity else threshold  # NaN, or -inf, where no weight is left
        threshold = following
    return threshold


@exact
def _fill(weights: Any, largest: float, threshold: float, a: float) -> None:
    """The scores become weights, with the threshold of `_risen`."""
    zero, half = type(a)(0), type(a)(0.5)
    if a == 1:
        for j in range(weights.size):
            u = (weights[j] - largest) - threshold
            weights[j] = u if u > zero else zero
    elif a == 0.5:
        for j in range(weights.size):
            u = half * ((weights[j] - largest) - threshold)
            weights[j] = u * u if u > zero else zero
    else:
        for j in range(weights.size):
            weights[j] = _weight((weights[j] - largest) - threshold, a)


@exact
def _fill_exactly(weights: Any, reference: float, least: float, a: float) -> None:
    """Turn scores into weights, from the reference and least weight of `least_of`."""
    for j in range(weights.size):
        weights[j] = np.exp(log_weight(np.float64(weights[j]), reference, least, a))


@loops
def sparse(scores: Any, allowed: Any, a: float, weights: Any) -> None:
    """Weights of the scores that they are a copy of, -inf where forbidden."""
    unity = type(a)(1)
    largest = largest_of(weights)
    if _nothing(weights, largest):
        weights[:] = _weight_of_nothing(weights, allowed)
        return
    count = weights.size
    if count <= SHORT and (a == 0.5 or a == 1):  # Numba compiles no mixed tuple
        _subtract(weights, largest)
    else:
        # a difference from the largest would lose digits that the weights of a > 1 hang on
        count = _candidates(weights, largest, unity / a, largest if a <= 1 else unity - unity)
    if not count or largest == np.inf:  # NaN or infinite
        weights[:] = np.nan
        return
    candidates, risen, reference, least = weights[:count], unity, 0.0, 1.0
    if a > 1:
        reference, least = least_of(candidates, np.float64(a))
    else:
        risen = _risen(candidates, a)
    _copy(scores, weights)
    _forbid(weights, allowed)
    if np.isnan(_finite(weights)):
        weights[:] = np.nan
        return
    if a > 1:
        _fill_exactly(weights, reference, least, np.float64(a))
    else:
        _fill(weights, largest, risen, a)
    if a != 1:
        _scale(weights, unity / sum_of(weights))


@loops
def _finite(row: Any) -> Any:
    """NaN if a number is NaN, infinities aside."""
    zero = row.dtype.type(0)
    total = zero
    for j in range(row.size):
        total += zero if row[j] == row[j] else row[j]
    return total


@loops
def _weigh_rows(t: Weigh, room: Any, few_room: Any, kind: Any) -> None:
    width, many, factor = t.rows.width, t.many, numbers(t.parameters, 0, 1, kind)[0]
    few = few_room.ctypes.data
    by_lanes = many > top.MOST_FEW or (many > 0 and (width > top.FEW_WIDTH or room.itemsize > 4))
    for block in blocks(t):
        for i in rows_of(block, t.rows.block, t.rows.length):
            scores, weights = numbers(t.scores, i * width, width, kind), numbers(t.weights, i * width, width, kind)
            a, allowed = numbers(t.parameters, 1 + i * t.a_stride, 1, kind)[0], allowed_in(t.rows, i)
            if t.scores != t.weights:
                _copy(scores, weights)
            _forbid(weights, allowed)
            if a == 0:
                lanes = top.lanes_of(weights, room) if by_lanes else room[:0]
                lse, entropy = softmax(weights, allowed, factor, lanes)
                numbers(t.lse, i, 1, kind)[0], numbers(t.entropy, i, 1, kind)[0] = lse, entropy
                if many:
                    values, indices = numbers(t.values, i * many, many, kind), integers(t.indices, i * many, many)
                    top_weights(weights, allowed, entropy, lanes, room, few, values, indices)
            else:
                sparse(scores, allowed, a, weights)


@kernel
def weigh(t: Weigh, kind: Any) -> None:
    """Weights of rows of scores. Softmax may write them over the scores."""
    # an array is freed after its last use: a function that keeps an address alone also has the array as argument
    _weigh_rows(t, np.empty(top.LANES, numbers(t.parameters, 0, 1, kind).dtype), np.empty(top.FEW_ROOM, np.int64), kind)
