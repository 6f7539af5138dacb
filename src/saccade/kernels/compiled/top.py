"""The largest of rows of numbers.

A row is looked at in lanes, numbers 32 apart: one pass finds the largest of each lane. The k-th largest of these is a
bound for the row's k largest, and lanes below it need no further look.

Up to four of float32 weights are found in one pass without a branch (`few_of`): a weight and its index are one integer,
and each lane keeps its four largest.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import apart, inline, integers, loops, numbers, whole_vectors

LANES = 128
"""Numbers of room that the lanes take: no comparison waits for the one before."""

FEW = 32
"""Lanes."""

MOST_FEW = 4
"""Largest numbers of each lane kept by `few_of`."""

WIDE = 16
"""Lanes of `few_of`."""

FEW_ROOM = MOST_FEW * WIDE + WIDE // 2
"""Integers in the room of `few_of`."""

FEW_WIDTH = 1024
"""Largest width for `few_of`: it is slower beyond."""

LOW = np.int64(0x7FFFFFFF)
"""Minuend of an index in the lower half of a weight's key: low indices win ties."""


@loops
def _larger(first: Any, second: Any) -> None:
    for j in range(second.size):
        second[j] = first[j] if first[j] > second[j] else second[j]


@loops
def lanes_of(row: Any, room: Any) -> Any:
    """The largest of each lane, -inf if empty, at the start of the room."""
    room[:] = -np.inf
    whole = row.size // LANES * LANES
    for first in range(0, whole, LANES):
        _larger(row[first : first + LANES], room)
    _larger(row[whole:], room[: row.size - whole])
    _larger(room[2 * FEW :], room[: 2 * FEW])
    _larger(room[FEW : 2 * FEW], room[:FEW])
    return room[:FEW]


@loops
def insert(values: Any, indices: Any, count: int, value: float, index: int) -> None:
    """Insert a number into the first `count`, falling, equal ones by index."""
    at = min(count, values.size - 1)
    while at > 0 and (values[at - 1] < value or (values[at - 1] == value and indices[at - 1] > index)):
        values[at], indices[at] = values[at - 1], indices[at - 1]
        at -= 1
    values[at], indices[at] = value, index


@loops
def _least(lanes: Any, many: int, ranks: Any) -> Any:
    """The bound that `many` lanes reach, without a branch."""
    zero, unity = lanes.dtype.type(0), lanes.dtype.type(1)
    bound, rank_limit = lanes.dtype.type(np.inf), lanes.dtype.type(many)
    ranks[:] = zero
    for first in range(0, FEW, 4):
        a, b, c, d = lanes[first], lanes[first + 1], lanes[first + 2], lanes[first + 3]
        for lane in range(FEW):
            x = lanes[lane]
            larger = (unity if x < a else zero) + (unity if x < b else zero)
            ranks[lane] += larger + (unity if x < c else zero) + (unity if x < d else zero)
    for lane in range(FEW):
        x = lanes[lane] if ranks[lane] < rank_limit else lanes.dtype.type(np.inf)
        bound = x if x < bound else bound
    return bound


@loops
def top_one_by_one(weights: Any, allowed: Any, values: Any, indices: Any) -> None:
    """`top_of` without lanes. NaN counts as the largest weight."""
    values[:], indices[:] = -np.inf, -1
    for j in range(weights.size):
        x = weights[j] if weights[j] == weights[j] else weights.dtype.type(np.inf)
        if x > values[-1] and (not allowed.size or allowed[j]):
            insert(values, indices, values.size - 1, x, j)


@loops
def top_of(weights: Any, allowed: Any, room: Any, slack: float, values: Any, indices: Any) -> None:
    """The largest allowed weights and their indices, -inf and -1 beyond them.

    The room begins with the lanes, within a relative error of `slack`. Forbidden weights are 0.
    """
    lanes = room[:FEW]
    zero, kept = weights.dtype.type(0), weights.dtype.type(1) - 2 * slack
    bound = _least(lanes, values.size, room[FEW : 2 * FEW])
    bound = bound * kept if bound > zero else bound
    if allowed.size and not bound > zero:  # forbidden weights may be among those that reach it
        bound = weights.dtype.type(-np.inf)
    values[:], indices[:] = -np.inf, -1
    count, last = 0, values.size - 1
    for lane in range(min(FEW, weights.size)):
        if lanes[lane] < (bound * kept if bound > zero else bound):
            continue
        for j in range(lane, weights.size, FEW):
            x = weights[j]
            if x < bound or (allowed.size and not allowed[j]):
                continue
            if count <= last or x > values[last] or j < indices[last]:  # x is not less than the last
                insert(values, indices, count, x, j)
                count += 1
                bound = values[last] if count > last else bound


@loops
def _enter(bits: Any, low: int, fours: Any) -> None:
    """Insert a number of each lane into the lane's four largest."""
    whole_vectors()
    apart()
    for lane in range(WIDE):
        x = (np.int64(bits[lane]) << np.int64(32)) | (low - np.int64(lane))
        a, b = fours[lane], fours[WIDE + lane]
        c, d = fours[2 * WIDE + lane], fours[3 * WIDE + lane]
        fours[lane], x = max(a, x), min(a, x)
        fours[WIDE + lane], x = max(b, x), min(b, x)
        fours[2 * WIDE + lane], x = max(c, x), min(c, x)
        fours[3 * WIDE + lane] = max(d, x)


def _join_of(lanes: int) -> Any:
    """A loop over a constant number of lanes, so that LLVM unrolls it."""

    @loops
    def join(fours: Any) -> None:
        """The four largest of both, by Batcher's merging of first and last."""
        whole_vectors()
        apart()
        for lane in range(lanes):
            other = lanes + lane
            a, b = max(fours[lane], fours[3 * WIDE + other]), max(fours[WIDE + lane], fours[2 * WIDE + other])
            c, d = max(fours[2 * WIDE + lane], fours[WIDE + other]), max(fours[3 * WIDE + lane], fours[other])
            a, b, c, d = max(a, c), max(b, d), min(a, c), min(b, d)
            fours[lane], fours[WIDE + lane] = max(a, b), min(a, b)
            fours[2 * WIDE + lane], fours[3 * WIDE + lane] = max(c, d), min(c, d)

    return join


_join_8, _join_4, _join_2, _join_1 = (_join_of(lanes) for lanes in (8, 4, 2, 1))


@inline
def few_of(weights: Any, allowed: Any, room: int, values: Any, indices: Any) -> None:
    """`top_of` for up to four float32 weights, none negative or NaN, of enough keys.

    The room is an address of `FEW_ROOM` integers: arrays with a reference count would cost as much as 100 weights.
    """
    fours, rest = integers(room, 0, MOST_FEW * WIDE), numbers(room, 2 * MOST_FEW * WIDE, WIDE, np.int32(0))
    bits = weights.view(np.int32)
    whole = bits.size // WIDE * WIDE
    fours[:] = -1
    for first in range(0, whole, WIDE):
        _enter(bits[first : first + WIDE], LOW - np.int64(first), fours)
    if whole < bits.size:
        rest[:] = -1
        rest[: bits.size - whole] = bits[whole:]
        _enter(rest, LOW - np.int64(whole), fours)
    _join_8(fours)
    _join_4(fours)
    _join_2(fours)
    _join_1(fours)
    for t in range(values.size):
        indices[t] = LOW - (fours[t * WIDE] & LOW)
        values[t] = weights[indices[t]]
    if allowed.size and not values[values.size - 1] > weights.dtype.type(0):  # forbidden weights may be among them
        top_one_by_one(weights, allowed, values, indices)
