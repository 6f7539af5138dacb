"""Additive scores of many queries: the keys side by side in the lanes of a vector, one feature after another.

The terms are tanh(q + k) = 1 - 2 r with r = 1 / (1 + e^2q e^2k), four of which share a division. With features in
rows and keys in columns the scores of a tile of keys add up lane by lane, without a sum across lanes.

An x = 1 + E above `most` is taken for it, so that the product of four stays in range; its r differs from the true one
by less than 5e-10 in float32, a hundredth of what a sum next to 1 can hold. Outside the exponential's range a tile is
computed by the tangent itself, and by its polynomial where all of it is small and 1 - 2 r would cancel.

Packed arrays are `(N, D + 1, length)`: D features, a multiple of four (what is missing has e^2x = 0 and v = 0), then
the largest |x| of each column over its features.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import (
    apart,
    flags,
    inline,
    integers,
    kernel,
    loops,
    matrix,
    numbers,
    take,
    tanh,
    tanh_near,
)

TILE = 512
"""Keys that are looked at together: their scores and their part of a few features stay in the nearest cache."""

VECTOR = 16
"""Keys that rows are whole multiples of."""

NEAR = 0.5
"""Where the largest |q| and |k| of a tile add up to less, 1 - 2 r would cancel."""

FREE = 11.0
"""Where they add up to no more, four x have a product below 2^128: none needs a bound."""

SKIP, IDENTITY, DIRECT, SMALL, UNBOUNDED = 0, 1, 2, 3, 4


@inline
def bounded(x: float, most: float) -> float:
    """x, or the most it may be; NaN of NaN."""
    return most if x > most else x


@inline
def unbounded(x: float, most: float) -> float:
    """x, where it cannot be too large."""
    return x


@loops
def reach_of(numbers: Any) -> float:
    """The largest of some numbers that are not negative, NaN if one is."""
    found = numbers.dtype.type(0)
    for i in range(numbers.size):
        found = found if numbers[i] <= found else numbers[i]
        if found != found:
            return found
    return found


@loops
def way_of(query: float, key: float, limit: float) -> int:
    """How a tile is computed, by the largest |q| and |k| in it; `limit` is the exponential's range."""
    if query + key <= FREE:
        return SMALL if query + key < NEAR else UNBOUNDED
    return IDENTITY if query <= limit and key <= limit else DIRECT


@loops
def _stretch(allowed: Any) -> tuple[int, int]:
    """Where the first allowed key is, in whole vectors, and the end of the last; 0 and 0 of none."""
    begin, end = 0, allowed.size
    while begin < end and not allowed[begin]:
        begin += 1
    if begin == end:
        return 0, 0
    while not allowed[end - 1]:
        end -= 1
    return begin // VECTOR * VECTOR, end


def _reciprocals_by(bounded: Any) -> Any:
    """The loop of the forward, with or without a bound on x."""

    @loops
    def reciprocals(
        scores: Any, b0: Any, b1: Any, b2: Any, b3: Any, a: tuple[float, ...], v: tuple[float, ...], most: float
    ) -> None:
        """Four features' sums of v r added to the scores of a tile."""
        apart()
        one = type(most)(1)
        a0, a1, a2, a3 = a
        v0, v1, v2, v3 = v
        for j in range(scores.size):
            x0, x1 = bounded(one + a0 * b0[j], most), bounded(one + a1 * b1[j], most)
            x2, x3 = bounded(one + a2 * b2[j], most), bounded(one + a3 * b3[j], most)
            first, second = x0 * x1, x2 * x3
            scores[j] += ((v0 * x1 + v1 * x0) * second + (v2 * x3 + v3 * x2) * first) / (first * second)

    return reciprocals


_reciprocals, _reciprocals_unbounded = _reciprocals_by(bounded), _reciprocals_by(unbounded)


@loops
def _tangents(scores: Any, key: Any, q: float, v: float) -> None:
    for j in range(scores.size):
        scores[j] += v * tanh(q + key[j])


@loops
def _tangents_near(scores: Any, key: Any, q: float, v: float) -> None:
    for j in range(scores.size):
        scores[j] += v * tanh_near(q + key[j])


@loops
def identity_row(
    way: int, sums: Any, left: Any, i: int, right: int, first: int, step: int, v: Any, most: float
) -> None:
    """The sums of v r of a query and a tile of keys. Its rows are found by address: four slices cost 200 terms."""
    width, kind = sums.size, most
    for d in range(0, v.size, 4):
        a, w = (left[d, i], left[d + 1, i], left[d + 2, i], left[d + 3, i]), (v[d], v[d + 1], v[d + 2], v[d + 3])
        at = first + d * step
        b0, b1 = numbers(right, at, width, kind), numbers(right, at + step, width, kind)
        b2, b3 = numbers(right, at + 2 * step, width, kind), numbers(right, at + 3 * step, width, kind)
        if way == UNBOUNDED:
            _reciprocals_unbounded(sums, b0, b1, b2, b3, a, w, most)
        else:
            _reciprocals(sums, b0, b1, b2, b3, a, w, most)


@loops
def ends(sums: Any, total: float, scores: Any) -> None:
    """Sums of v r as scores."""
    two = type(total)(2)
    for j in range(scores.size):
        scores[j] = total - two * sums[j]


@loops
def _tangent_row(way: int, scores: Any, query: Any, i: int, key: Any, tile: slice, v: Any) -> None:
    for d in range(v.size):
        if way == SMALL:
            _tangents_near(scores, key[d, tile], query[d, i], v[d])
        else:
            _tangents(scores, key[d, tile], query[d, i], v[d])


@loops
def _strip(
    rows: range,
    left: Any,
    right: Any,
    query: Any,
    key: Any,
    v: Any,
    masked: Any,
    offsets: Any,
    scores: Any,
    bounds: Any,
    room: Any,
    address: int,
    start: int,
    lanes: int,
) -> None:
    """The scores of some queries with the keys of each tile from the first that a query may attend to up to the last;
    zeros elsewhere. `right` begins at number `start` of an address, and `lanes` of its columns are read.
    """
    size, width = v.size, scores.shape[1]
    limit, most, total = bounds[0], bounds[1], bounds.dtype.type(0)
    for d in range(size):
        total += v[d]
    for first in range(0, width, TILE):
        tile = slice(first, min(width, first + TILE))
        reach, sums = reach_of(right[size, tile]), room[: min(lanes, first + TILE) - first]
        for i in rows:
            found = scores[i, tile]
            begin, end = 0, found.size
            if offsets.size:
                begin, end = _stretch(flags(masked + offsets[i] + first, found.size))
            if end - begin < found.size:
                found[:] = 0
            if begin == end:
                continue
            way = way_of(left[size, i], reach, limit)
            if way in (IDENTITY, UNBOUNDED):
                part = sums[begin : min(sums.size, -(-end // VECTOR) * VECTOR)]
                part[:] = 0
                identity_row(way, part, left, i, address, start + first + begin, right.shape[1], v, most)
                ends(part, total, found[begin:end])
            else:
                found[:] = 0
                _tangent_row(way, found, query, i, key, tile, v)


@loops
def _scores(table: Any, kind: Any) -> None:
    """2 left, 3 right, 4 query, 5 key (both packed; raw, or one number where no tile needs them), 6 v, 7 its stride, 8
    mask, 9 where each query's row of it begins (empty: none), 10 scores, 11 bounds (the exponential's range, the most
    the bound on x); [12 queries, 13 keys, 14 features, 15 queries a block, 16 whether 4 and 5 are there, 17 how many
    of 9 there are, 18 and 19 how far the entries and the rows of 3 are apart, 20 how many columns of 3 may be read,
    those beyond the keys for nothing: whole vectors, 21 columns of 2].
    """
    length, width, size, strip = table[12], table[13], table[14], table[15]
    blocks = (length + strip - 1) // strip
    bounds = numbers(table[11], 0, 2, kind)
    room = np.empty(TILE, bounds.dtype)
    while True:
        block = take(table)
        if block >= table[1]:
            return
        n, first = block // blocks, block % blocks * strip
        left = matrix(table[2], n, size + 1, table[21], kind)
        right = numbers(table[3], n * table[18], (size + 1) * table[19], kind).reshape(size + 1, table[19])
        query, key = left, right
        if table[16]:
            query, key = matrix(table[4], n, size, length, kind), matrix(table[5], n, size, width, kind)
        scores = matrix(table[10], n, length, width, kind)
        offsets = integers(table[9] + 8 * n * length, length if table[17] else 0)
        v = numbers(table[6], n * table[7], size, kind)
        rows, masked, start = range(first, min(length, first + strip)), table[8], n * table[18]
        found = scores, bounds, room
        _strip(rows, left, right, query, key, v, masked, offsets, *found, table[3], start, table[20])


@kernel
def scores(table: Any) -> None:
    """Additive scores of float32 numbers: see `_scores`."""
    _scores(table, np.float32(0))


@kernel
def scores_double(table: Any) -> None:
    """The same of float64."""
    _scores(table, np.float64(0))
