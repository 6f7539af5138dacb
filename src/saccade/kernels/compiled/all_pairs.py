"""Additive weights of all pairs and gradients of their scores, without a mask.

A row of scores becomes weights while it is in the nearest cache, and so do gradients of weights those of scores. Tiles
that are not computed by the identity are, here, from queries and keys as they lie, feature after feature of a pair.
"""

from typing import Any

import numpy as np

from saccade.kernels.additive import STRIP, TILE
from saccade.kernels.all_pairs import Slopes, Weights
from saccade.kernels.compiled import blocks, flags, kernel, loops, matrix, numbers
from saccade.kernels.compiled.functions import tanh, tanh_near
from saccade.kernels.compiled.lanes import IDENTITY, SMALL, UNBOUNDED, ends, identity_row, reach_of, way_of
from saccade.kernels.compiled.lanes_backward import find_ways
from saccade.kernels.compiled.rows import softmax
from saccade.kernels.compiled.rows_backward import centered, dot
from saccade.kernels.packing import QUERIES


def _tangents_by(tangent: Any) -> Any:
    """The sum of v tanh(q + k)."""

    @loops
    def tangents(query: Any, key: Any, v: Any) -> Any:
        total = query.dtype.type(0)
        for d in range(query.size):
            total += v[d] * tangent(query[d] + key[d])
        return total

    return tangents


tangents, tangents_near = _tangents_by(tanh), _tangents_by(tanh_near)


@loops
def tangent_row(way: int, scores: Any, query: Any, keys: Any, v: Any) -> None:
    """The scores of a query and some keys by the tangent itself, or by its polynomial."""
    for j in range(scores.size):
        scores[j] = tangents_near(query, keys[j], v) if way == SMALL else tangents(query, keys[j], v)


@loops
def _strip(t: Weights, n: int, rows: range, v: Any, bounds: Any, room: Any, kind: Any) -> bool:
    """Scores of some queries with all keys. Return whether any is not by the identity."""
    s, size, width, features, raw = t.scores, t.scores.whole, t.scores.width, t.features, False
    left, right = matrix(s.left, n, size + 1, s.left_columns, kind), matrix(s.right, n, size + 1, s.lanes, kind)
    query, key = matrix(s.query, n, s.length, features, kind), matrix(s.key, n, width, features, kind)
    scores, limit, cap, total = matrix(s.scores, n, s.length, width, kind), bounds[0], bounds[1], bounds.dtype.type(0)
    start = n * s.right_stride
    for d in range(size):
        total += v[d]
    for first in range(0, width, TILE):
        last = min(width, first + TILE)
        reach, sums = reach_of(right[size, first:last]), room[: min(s.lanes, first + TILE) - first]
        for i in rows:
            row, way = scores[i, first:last], way_of(left[size, i], reach, limit)
            if way in (IDENTITY, UNBOUNDED):
                sums[:] = 0
                identity_row(way, sums, left, i, s.right, start + first, s.lanes, v, cap)
                ends(sums, total, row)
            else:
                tangent_row(way, row, query[i], key[first:last], v[:features])
                raw = True
    return raw


@kernel
def weights(t: Weights, kind: Any) -> None:
    s, length, width, features = t.scores, t.scores.length, t.scores.width, t.features
    strips, bounds = (length + s.strip - 1) // s.strip, numbers(s.bounds, 0, 3, kind)
    room, v = np.empty(TILE, bounds.dtype), np.zeros(s.whole, bounds.dtype)
    for block in blocks(t):
        n, first = block // strips, block % strips * s.strip
        weights, rows = matrix(s.scores, n, length, width, kind), range(first, min(length, first + s.strip))
        v[:features] = numbers(s.v, n * s.v_stride, features, kind)
        if _strip(t, n, rows, v, bounds, room, kind):
            flags(t.raw, 0, 1)[0] = 1
        if t.weighs:
            for i in rows:
                lse, entropy = softmax(weights[i], flags(t.raw, 0, 0), bounds[2], room[:0])
                numbers(t.lse, n * length + i, 1, kind)[0] = lse
                numbers(t.entropy, n * length + i, 1, kind)[0] = entropy


@loops
def _slope_row(weights: Any, grads: Any, factor: float, slopes: Any) -> None:
    for j in range(weights.size):
        slopes[j] = weights[j]
    centered(grads, dot(weights, grads), factor, slopes)


@kernel
def slopes(t: Slopes, kind: Any) -> None:
    r, length, width = t.results, t.length, t.width
    rows, lanes, bounds, fours = r.rows, r.lanes, numbers(r.bounds, 0, 3, kind), r.rows // QUERIES
    strips, tiles = (rows + STRIP - 1) // STRIP, (lanes + TILE - 1) // TILE
    for block in blocks(t):
        n, first = block // strips, block % strips * STRIP
        last = min(rows, first + STRIP)
        weights, grads = matrix(t.weights, n, length, width, kind), matrix(t.grads, n, length, width, kind)
        slopes = matrix(r.grads, n, rows, lanes, kind)
        for i in range(first, last):
            if i < length:
                _slope_row(weights[i], grads[i], bounds[2], slopes[i, :width])
                slopes[i, width:] = 0
            else:
                slopes[i] = 0
        left, right = matrix(r.left, n, r.whole + 1, rows, kind), matrix(r.right, n, r.whole + 1, lanes, kind)
        ways = flags(r.ways, n * fours * tiles, fours * tiles).reshape(fours, tiles)
        part, sums = slice(first // QUERIES, last // QUERIES), matrix(r.sums, n, fours, tiles, kind)
        find_ways(slopes[first:last], left[r.whole, first:last], right[r.whole], bounds[0], ways[part], sums[part])
