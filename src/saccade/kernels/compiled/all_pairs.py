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
def _strip(
    rows: range,
    left: Any,
    right: Any,
    query: Any,
    key: Any,
    v: Any,
    scores: Any,
    bounds: Any,
    room: Any,
    address: int,
    start: int,
) -> bool:
    """Scores of some queries with all keys. Return whether any is not by the identity."""
    size, width, features, raw = v.size, scores.shape[1], query.shape[1], False
    limit, cap, total = bounds[0], bounds[1], bounds.dtype.type(0)
    for d in range(size):
        total += v[d]
    for first in range(0, width, TILE):
        last = min(width, first + TILE)
        reach, sums = reach_of(right[size, first:last]), room[: min(right.shape[1], first + TILE) - first]
        for i in rows:
            row, way = scores[i, first:last], way_of(left[size, i], reach, limit)
            if way in (IDENTITY, UNBOUNDED):
                sums[:] = 0
                identity_row(way, sums, left, i, address, start + first, right.shape[1], v, cap)
                ends(sums, total, row)
            else:
                tangent_row(way, row, query[i], key[first:last], v[:features])
                raw = True
    return raw


@kernel
def weights(t: Weights, kind: Any) -> None:
    """Additive weights, or scores."""
    length, width, features, whole = t.length, t.width, t.features, t.whole
    strips, bounds = (length + t.strip - 1) // t.strip, numbers(t.bounds, 0, 3, kind)
    room, v = np.empty(TILE, bounds.dtype), np.zeros(whole, bounds.dtype)
    for block in blocks(t):
        n, first = block // strips, block % strips * t.strip
        left, right = matrix(t.left, n, whole + 1, t.rows, kind), matrix(t.right, n, whole + 1, t.lanes, kind)
        query, key = matrix(t.query, n, length, features, kind), matrix(t.key, n, width, features, kind)
        weights, rows = matrix(t.weights, n, length, width, kind), range(first, min(length, first + t.strip))
        v[:features] = numbers(t.v, n * t.v_stride, features, kind)
        start = n * (whole + 1) * t.lanes
        if _strip(rows, left, right, query, key, v, weights, bounds, room, t.right, start):
            flags(t.raw, 0, 1)[0] = 1
        if t.weighs:
            for i in rows:
                lse, entropy = softmax(weights[i], flags(t.raw, 0, 0), bounds[2], room[:0])
                numbers(t.lse, n * length + i, 1, kind)[0] = lse
                numbers(t.entropy, n * length + i, 1, kind)[0] = entropy


@loops
def _slope_row(weights: Any, grads: Any, factor: float, slopes: Any) -> None:
    """The gradients of a row of scores from those of its weights."""
    for j in range(weights.size):
        slopes[j] = weights[j]
    centered(grads, dot(weights, grads), factor, slopes)


@kernel
def slopes(t: Slopes, kind: Any) -> None:
    """Gradients of scores, from those of weights."""
    length, width, whole, rows, lanes = t.length, t.width, t.whole, t.rows, t.lanes
    bounds, fours = numbers(t.bounds, 0, 3, kind), rows // QUERIES
    strips, tiles = (rows + STRIP - 1) // STRIP, (lanes + TILE - 1) // TILE
    for block in blocks(t):
        n, first = block // strips, block % strips * STRIP
        last = min(rows, first + STRIP)
        weights, grads = matrix(t.weights, n, length, width, kind), matrix(t.grads, n, length, width, kind)
        slopes = matrix(t.slopes, n, rows, lanes, kind)
        for i in range(first, last):
            if i < length:
                _slope_row(weights[i], grads[i], bounds[2], slopes[i, :width])
                slopes[i, width:] = 0
            else:
                slopes[i] = 0
        left, right = matrix(t.left, n, whole + 1, rows, kind), matrix(t.right, n, whole + 1, lanes, kind)
        ways = flags(t.ways, n * fours * tiles, fours * tiles).reshape(fours, tiles)
        part, sums = slice(first // QUERIES, last // QUERIES), matrix(t.sums, n, fours, tiles, kind)
        find_ways(slopes[first:last], left[whole, first:last], right[whole], bounds[0], ways[part], sums[part])
