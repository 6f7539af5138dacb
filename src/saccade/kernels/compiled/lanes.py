"""Additive scores of many queries, with the keys side by side in a vector's lanes.

The terms are tanh(q + k) = 1 - 2 r with r = 1 / (1 + e^2q e^2k), four of which share a division. With features in
rows and keys in columns the scores of a tile of keys add up lane by lane, without a sum across lanes.

An x = 1 + E above `cap` is replaced by it, so that the product of four stays in range. r then differs by less than
5e-10 in float32, a hundredth of an ulp at 1. Outside the exponential's range a tile is computed by the tangent itself,
and by its polynomial where all of it is small and 1 - 2 r would cancel.

Packed arrays are `(N, D + 1, length)`: D features, a multiple of four (missing features have e^2x = 0 and v = 0), then
the largest |x| of each column over its features.
"""

from typing import Any

import numpy as np

from saccade.kernels.additive import NEAR, TILE, Scores
from saccade.kernels.compiled import apart, blocks, flags, inline, integers, kernel, loops, matrix, numbers
from saccade.kernels.compiled.functions import tanh, tanh_near
from saccade.kernels.packing import LANES

FREE = 11.0
"""Bound on max |q| + max |k| of a tile: below it, four x multiply to < 2^128."""

SKIP, IDENTITY, DIRECT, SMALL, UNBOUNDED = 0, 1, 2, 3, 4


@inline
def bounded(x: float, cap: float) -> float:
    """x, or the most it may be; NaN of NaN."""
    return cap if x > cap else x


@inline
def unbounded(x: float, cap: float) -> float:
    return x


@loops
def reach_of(numbers: Any) -> Any:
    """The largest of some nonnegative numbers, NaN if any is NaN."""
    largest = numbers.dtype.type(0)
    for i in range(numbers.size):
        largest = largest if numbers[i] <= largest else numbers[i]
        if largest != largest:
            return largest
    return largest


@loops
def way_of(query: float, key: float, limit: float) -> int:
    """Way to compute a tile, by its largest |q| and |k| and the exponential's range."""
    if query + key <= FREE:
        return SMALL if query + key < NEAR else UNBOUNDED
    return IDENTITY if query <= limit and key <= limit else DIRECT


@loops
def _stretch(allowed: Any) -> tuple[int, int]:
    """First allowed key, in whole vectors, and end of the last, (0, 0) if none."""
    begin, end = 0, allowed.size
    while begin < end and not allowed[begin]:
        begin += 1
    if begin == end:
        return 0, 0
    while not allowed[end - 1]:
        end -= 1
    return begin // LANES * LANES, end


def _reciprocals_by(bounded: Any) -> Any:
    """The loop of the forward, with or without a bound on x."""

    @loops
    def reciprocals(
        scores: Any, b0: Any, b1: Any, b2: Any, b3: Any, a: tuple[float, ...], v: tuple[float, ...], cap: float
    ) -> None:
        """Four features' sums of v r added to the scores of a tile."""
        apart()
        unity = type(cap)(1)
        a0, a1, a2, a3 = a
        v0, v1, v2, v3 = v
        for j in range(scores.size):
            x0, x1 = bounded(unity + a0 * b0[j], cap), bounded(unity + a1 * b1[j], cap)
            x2, x3 = bounded(unity + a2 * b2[j], cap), bounded(unity + a3 * b3[j], cap)
            first, second = x0 * x1, x2 * x3
            scores[j] += ((v0 * x1 + v1 * x0) * second + (v2 * x3 + v3 * x2) * first) / (first * second)

    return reciprocals


_reciprocals, _reciprocals_unbounded = _reciprocals_by(bounded), _reciprocals_by(unbounded)


def _tangents_by(tangent: Any) -> Any:
    """A feature's v tanh(q + k) added to the scores of a tile."""

    @loops
    def tangents(scores: Any, key: Any, q: float, v: float) -> None:
        for j in range(scores.size):
            scores[j] += v * tangent(q + key[j])

    return tangents


_tangents, _tangents_near = _tangents_by(tanh), _tangents_by(tanh_near)


@loops
def identity_row(way: int, sums: Any, left: Any, i: int, right: int, first: int, step: int, v: Any, cap: float) -> None:
    """Sums of v r of a query and a tile of keys. Four slices would cost 200 terms."""
    width, kind = sums.size, cap
    for d in range(0, v.size, 4):
        a, w = (left[d, i], left[d + 1, i], left[d + 2, i], left[d + 3, i]), (v[d], v[d + 1], v[d + 2], v[d + 3])
        at = first + d * step
        b0, b1 = numbers(right, at, width, kind), numbers(right, at + step, width, kind)
        b2, b3 = numbers(right, at + 2 * step, width, kind), numbers(right, at + 3 * step, width, kind)
        if way == UNBOUNDED:
            _reciprocals_unbounded(sums, b0, b1, b2, b3, a, w, cap)
        else:
            _reciprocals(sums, b0, b1, b2, b3, a, w, cap)


@loops
def ends(sums: Any, total: float, scores: Any) -> None:
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
def _strip(t: Scores, n: int, rows: range, v: Any, bounds: Any, room: Any, kind: Any) -> None:
    """Scores of some queries with all tiles of allowed keys, zeros elsewhere."""
    length, width, size, limit, cap = t.length, t.width, t.whole, bounds[0], bounds[1]
    left, start, total = matrix(t.left, n, size + 1, t.left_columns, kind), n * t.right_stride, bounds.dtype.type(0)
    right = numbers(t.right, start, (size + 1) * t.right_row, kind).reshape(size + 1, t.right_row)
    query, key = left, right
    if t.query:
        query, key = matrix(t.query, n, size, length, kind), matrix(t.key, n, size, width, kind)
    scores, masked = matrix(t.scores, n, length, width, kind), length if t.masked else 0
    offsets = integers(t.offsets, n * length, masked)
    for d in range(size):
        total += v[d]
    for first in range(0, width, TILE):
        tile = slice(first, min(width, first + TILE))
        reach, sums = reach_of(right[size, tile]), room[: min(t.lanes, first + TILE) - first]
        for i in rows:
            row = scores[i, tile]
            begin, end = 0, row.size
            if offsets.size:
                begin, end = _stretch(flags(t.mask, offsets[i] + first, row.size))
            if end - begin < row.size:
                row[:] = 0
            if begin == end:
                continue
            way = way_of(left[size, i], reach, limit)
            if way in (IDENTITY, UNBOUNDED):
                part = sums[begin : min(sums.size, -(-end // LANES) * LANES)]
                part[:] = 0
                identity_row(way, part, left, i, t.right, start + first + begin, t.right_row, v, cap)
                ends(part, total, row[begin:end])
            else:
                row[:] = 0
                _tangent_row(way, row, query, i, key, tile, v)


@kernel
def scores(t: Scores, kind: Any) -> None:
    bounds, strips = numbers(t.bounds, 0, 2, kind), (t.length + t.strip - 1) // t.strip
    room = np.empty(TILE, bounds.dtype)
    for block in blocks(t):
        n, first = block // strips, block % strips * t.strip
        rows = range(first, min(t.length, first + t.strip))
        _strip(t, n, rows, numbers(t.v, n * t.v_stride, t.whole, kind), bounds, room, kind)
