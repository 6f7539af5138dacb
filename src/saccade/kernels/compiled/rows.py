"""Rows of scores: their weights, gradients, statistics and draws.

A table begins, after the two numbers that every kernel's has, with [2 numbers a row, 3 rows, 4 rows a block, 5 mask,
6 where each row of the mask begins, 7 how many of 6 there are (0: no mask)]; the rest is the kernel's own.

The members of the entmax family are p = [1 + a (x - t)]^(1/a), cut off at 0, with x = s - max s, a = alpha - 1, and t
such that they sum to one: a = 0 is softmax, 1 is sparsemax. The sum falls with t. At t = 0 the largest weight alone
is 1, so t is not negative, and no score that is 1/a below the largest has any weight: only the others are looked at
again. For a <= 1 the sum is convex and Newton's steps from t = 0 come from one side; for a > 1 the weights of small p
are steep, and all follow from the least of them, in float64: see `steep`. For a = 1/2 and 1 the threshold is
t - 1/a, so that p^a = a (x - threshold) keeps the digits that 1 + a (x - t) would lose.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import (
    STRIDE,
    above,
    exact,
    exp,
    flags,
    inline,
    integers,
    kernel,
    largest_of,
    log,
    loops,
    numbers,
    take,
    whole_vectors,
)
from saccade.kernels.compiled.steep import least_of, log_weight
from saccade.kernels.compiled.top import (
    FEW_ROOM,
    FEW_WIDTH,
    LANES,
    MOST_FEW,
    few_of,
    lanes_of,
    top_of,
    top_one_by_one,
)

SHORT = 512
"""Numbers of a row up to which all of them are looked at for the threshold of alpha = 1.5 and 2: to pick those that may
have a weight takes longer there, since no branch predicts which.
"""

STEPS = 80
"""Newton's steps at most: they end before, when nothing moves any longer."""


@inline
def allowed_in(table: Any, i: int) -> Any:
    """The mask of a row, empty where all is allowed."""
    masked = table[7] > 0
    start = integers(table[6], table[7])[i] if masked else 0
    return flags(table[5] + start, table[2] if masked else 0)


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
def sum_of(row: Any) -> float:
    """The sum of a row."""
    total = row.dtype.type(0)
    for j in range(row.size):
        total += row[j]
    return total


@loops
def _scale(row: Any, factor: float) -> None:
    for j in range(row.size):
        row[j] *= factor


@loops
def _exponentials(row: Any, most: float, factor: float) -> tuple[float, float]:
    """Numbers become e^x, x being what a number is above the most, times a factor; their sum, and that of x e^x.

    In this order: the product of the most, rounded, may differ from that of an equal number by any exponent.
    """
    whole_vectors()
    total, mean = row.dtype.type(0), row.dtype.type(0)
    for j in range(row.size):
        x = (row[j] - most) * factor
        w = exp(x)
        row[j] = w
        total += w
        mean += w * (x if w > row.dtype.type(0) else w)
    return total, mean


@loops
def _nothing(row: Any, most: float) -> bool:
    """Whether all of a row is -inf, the largest of it."""
    return most == -np.inf and not np.isnan(sum_of(row))


@loops
def _weight_of_nothing(row: Any, allowed: Any) -> float:
    """The weight where all of a row is -inf: 0 if nothing is allowed, and NaN if something is, by its own score."""
    something = row.size > 0 and allowed.size == 0
    for j in range(allowed.size):
        something |= allowed[j] != 0
    return row.dtype.type(np.nan) if something else row.dtype.type(0)


@loops
def softmax(row: Any, allowed: Any, factor: float, lanes: Any) -> tuple[float, float]:
    """Scores become weights, and so do the lanes; the logarithm of the sum of exponentials, and the entropy. Zeros,
    -inf and 0 where nothing is allowed; NaN, -inf and NaN where only scores of -inf are.
    """
    most = largest_of(lanes if lanes.size else row)
    if _nothing(row, most):
        weight = _weight_of_nothing(row, allowed)
        row[:], lanes[:] = weight, weight
        return most, weight
    total, mean = _exponentials(row, most, factor)
    _scale(row, type(factor)(1) / total)
    if lanes.size:
        _exponentials(lanes, most, factor)
        _scale(lanes, type(factor)(1) / total)
    log_total = log(total)
    return most * factor + log_total, log_total - mean / total


@inline
def top_weights(
    weights: Any, allowed: Any, entropy: float, lanes: Any, room: Any, few: int, values: Any, indices: Any
) -> None:
    """The largest weights of a softmax, 0 and -1 beyond the allowed. Where there are lanes the room begins with them.
    Where a weight is NaN the entropy is.

    The lanes were computed apart from the row, and may be rounded otherwise: by the error of an exponent's digits,
    times an exponent of at most 88 (745).
    """
    if np.isnan(entropy):
        top_one_by_one(weights, allowed, values, indices)
    elif lanes.size:
        one = weights.dtype.type(1)
        slack = weights.dtype.type(2000) * (np.nextafter(one, one + one) - one)
        top_of(weights, allowed, room, slack, values, indices)
    else:
        few_of(weights, allowed, few, values, indices)
    for t in range(values.size):
        values[t] = weights[indices[t]] if indices[t] >= 0 else weights.dtype.type(0)


@loops
def _subtract(row: Any, most: float) -> None:
    for j in range(row.size):
        row[j] -= most


@loops
def _candidates(row: Any, most: float, reach: float, origin: float) -> int:
    """The numbers within `reach` of the largest, minus the origin, to the beginning of the row: how many."""
    count = 0
    bound = np.nextafter(most - reach, row.dtype.type(-np.inf))  # what rounds to the largest is within
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
    # log(1 + y) is log(u) y / (u - 1), with what rounding made of u
    near = safe - type(a)(1)
    same = near == type(a)(0)
    power = (y if same else log(safe) * (y / (type(a)(1) if same else near))) / a
    return exp(power) if inside else type(a)(0)


@loops
def _linear(x: Any, threshold: float) -> float:
    """The next threshold of sparsemax: what makes the weights of those above this one sum to one. Written so that LLVM
    vectorizes it: it makes no vectors of sums of numbers that are chosen.
    """
    zero, total, count = x.dtype.type(0), np.float64(0), 0
    for j in range(x.size):
        u = x[j] - threshold
        count += u > zero
        u = u if u > zero else zero
        total += np.float64(u)
    return type(threshold)(threshold + (total - 1.0) / count)


@loops
def _squares(x: Any, threshold: float) -> float:
    """Newton's next threshold of alpha = 1.5, whose weights are squares of half the distance."""
    zero, half, total, slope = type(threshold)(0), type(threshold)(0.5), type(threshold)(0), type(threshold)(0)
    for j in range(x.size):
        u = half * (x[j] - threshold)
        u = u if u > zero else zero
        total += u * u
        slope += u
    return threshold + (total - type(threshold)(1)) / slope


@loops
def _powers(x: Any, t: float, a: float) -> tuple[float, float]:
    """The same of any alpha: the derivative of p by -t is p^(1-a), p over 1 + a (x - t)."""
    zero, one, total, slope = type(t)(0), type(t)(1), type(t)(0), type(t)(0)
    for j in range(x.size):
        p = _weight(x[j] - t, a)
        total += p
        slope += p / (one + a * (x[j] - t)) if p > zero else zero
    return total, slope


@loops
def _risen(x: Any, a: float) -> float:
    """The threshold for a of 1/2 and 1, t for what is less than 1, by steps that rise; of the last, which rounding may
    have made too large, the step back is taken.
    """
    one = type(a)(1)
    found = type(a)(0)
    if a == 0.5 or a == 1:  # Numba compiles no mixed tuple
        found = -one / a
    for _ in range(STEPS):
        if a == 1:
            following = _linear(x, found)
        elif a == 0.5:
            following = _squares(x, found)
        else:
            total, slope = _powers(x, found, a)
            following = found + (total - one) / slope
        if not following > found:
            return following if following > found - one else found  # NaN, or -inf, where no weight is left
        found = following
    return found


@exact
def _fill(weights: Any, most: float, found: float, a: float) -> None:
    """The scores become weights, by what `_risen` found."""
    zero, half = type(a)(0), type(a)(0.5)
    if a == 1:
        for j in range(weights.size):
            u = (weights[j] - most) - found
            weights[j] = u if u > zero else zero
    elif a == 0.5:
        for j in range(weights.size):
            u = half * ((weights[j] - most) - found)
            weights[j] = u * u if u > zero else zero
    else:
        for j in range(weights.size):
            weights[j] = _weight((weights[j] - most) - found, a)


@exact
def _fill_exactly(weights: Any, reference: float, least: float, a: float) -> None:
    """The same by what `least_of` found."""
    for j in range(weights.size):
        weights[j] = np.exp(log_weight(np.float64(weights[j]), reference, least, a))


@loops
def sparse(scores: Any, allowed: Any, a: float, weights: Any) -> None:
    """Weights of the scores that they are a copy of, -inf where forbidden."""
    one = type(a)(1)
    most = largest_of(weights)
    if _nothing(weights, most):
        weights[:] = _weight_of_nothing(weights, allowed)
        return
    count = weights.size
    if count <= SHORT and (a == 0.5 or a == 1):  # Numba compiles no mixed tuple
        _subtract(weights, most)
    else:
        # a difference from the largest would lose digits that the weights of a > 1 hang on
        count = _candidates(weights, most, one / a, most if a <= 1 else one - one)
    if not count or most == np.inf:  # NaN or infinite
        weights[:] = np.nan
        return
    candidates, risen, reference, least = weights[:count], one, 0.0, 1.0
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
        _fill(weights, most, risen, a)
    if a != 1:
        _scale(weights, one / sum_of(weights))


@loops
def _finite(row: Any) -> float:
    """NaN if a number is NaN, infinities aside."""
    zero = row.dtype.type(0)
    total = zero
    for j in range(row.size):
        total += zero if row[j] == row[j] else row[j]
    return total


@loops
def _weigh_rows(table: Any, room: Any, few_room: Any, kind: Any) -> None:
    width, factor, many = table[2], numbers(table[12], 0, 1, kind)[0], table[16]
    few, by_lanes = few_room.ctypes.data, many > MOST_FEW or (many > 0 and (width > FEW_WIDTH or room.itemsize > 4))
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for i in range(block * table[4], min(table[3], (block + 1) * table[4])):
            scores, weights = numbers(table[8], i * width, width, kind), numbers(table[9], i * width, width, kind)
            a, allowed = numbers(table[12], 1 + i * table[13], 1, kind)[0], allowed_in(table, i)
            if table[8] != table[9]:
                _copy(scores, weights)
            _forbid(weights, allowed)
            if a == 0:
                lanes = lanes_of(weights, room) if by_lanes else room[:0]
                lse, entropy = softmax(weights, allowed, factor, lanes)
                numbers(table[10], i, 1, kind)[0], numbers(table[11], i, 1, kind)[0] = lse, entropy
                if many:
                    values = numbers(table[14], i * many, many, kind)
                    indices = integers(table[15] + 8 * i * many, many)
                    top_weights(weights, allowed, entropy, lanes, room, few, values, indices)
            else:
                sparse(scores, allowed, a, weights)


@loops
def _weigh(table: Any, kind: Any) -> None:
    """8 scores, 9 weights (softmax may write them over the scores), 10 lse and 11 entropy (both of softmax alone), 12
    [1 / temperature, a], a of each row if 13 is 1, not 0, 14 the largest weights and 15 their indices, 16 a row (of
    softmax alone).
    """
    # an array is freed after its last use: whoever keeps an address of it alone is called with it
    _weigh_rows(table, np.empty(LANES, numbers(table[12], 0, 1, kind).dtype), np.empty(FEW_ROOM, np.int64), kind)


@kernel
def weigh(table: Any) -> None:
    """Weights of rows of float32 scores: see `_weigh`."""
    _weigh(table, np.float32(0))


@kernel
def weigh_double(table: Any) -> None:
    """The same of float64."""
    _weigh(table, np.float64(0))
