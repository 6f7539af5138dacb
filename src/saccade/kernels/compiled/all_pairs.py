"""Additive weights of all pairs of an entry, and the gradients of their scores: what has no mask needs no look at one.

A row of scores becomes weights while it is in the nearest cache, and so do gradients of weights those of scores. Tiles
that are not computed by the identity are, here, from queries and keys as they lie, feature after feature of a pair.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import flags, kernel, loops, matrix, numbers, take, tanh, tanh_near
from saccade.kernels.compiled.lanes import IDENTITY, SMALL, TILE, UNBOUNDED, ends, identity_row, reach_of, way_of
from saccade.kernels.compiled.lanes_backward import QUERIES, find_ways
from saccade.kernels.compiled.rows import softmax
from saccade.kernels.compiled.rows_backward import centered, dot

__all__ = ["slopes", "slopes_double", "tangent_row", "weights", "weights_double"]


@loops
def _tangents(query: Any, key: Any, v: Any) -> float:
    total = query.dtype.type(0)
    for d in range(query.size):
        total += v[d] * tanh(query[d] + key[d])
    return total


@loops
def _tangents_near(query: Any, key: Any, v: Any) -> float:
    total = query.dtype.type(0)
    for d in range(query.size):
        total += v[d] * tanh_near(query[d] + key[d])
    return total


@loops
def tangent_row(way: int, scores: Any, query: Any, keys: Any, v: Any) -> None:
    """The scores of a query and some keys by the tangent itself, or by its polynomial."""
    for j in range(scores.size):
        scores[j] = _tangents_near(query, keys[j], v) if way == SMALL else _tangents(query, keys[j], v)


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
    """The scores of some queries with all keys; whether any was not computed by the identity. `right` begins at number
    `start` of an address.
    """
    size, width, features, raw = v.size, scores.shape[1], query.shape[1], False
    limit, most, total = bounds[0], bounds[1], bounds.dtype.type(0)
    for d in range(size):
        total += v[d]
    for first in range(0, width, TILE):
        last = min(width, first + TILE)
        reach, sums = reach_of(right[size, first:last]), room[: min(right.shape[1], first + TILE) - first]
        for i in rows:
            found, way = scores[i, first:last], way_of(left[size, i], reach, limit)
            if way in (IDENTITY, UNBOUNDED):
                sums[:] = 0
                identity_row(way, sums, left, i, address, start + first, right.shape[1], v, most)
                ends(sums, total, found)
            else:
                tangent_row(way, found, query[i], key[first:last], v[:features])
                raw = True
    return raw


@loops
def _weights(table: Any, kind: Any) -> None:
    """2 packed queries, 3 packed keys, 4 queries, 5 keys, 6 v `(N or 1, features)`, 7 weights, 8 lse, 9 entropy, 10
    [the exponential's range, the most x may be, 1 / temperature], 11 a byte that becomes 1 where some tile was not
    computed by the identity; [12 queries, 13 keys, 14 features, 15 whole, 16 columns of 2, 17 of 3, 18 from one entry's
    v to the next's, 19 queries a block, 20 whether scores become weights].
    """
    length, width, features, whole, strip = table[12], table[13], table[14], table[15], table[19]
    blocks, bounds = (length + strip - 1) // strip, numbers(table[10], 0, 3, kind)
    room, v = np.empty(TILE, bounds.dtype), np.zeros(whole, bounds.dtype)
    while True:
        block = take(table)
        if block >= table[1]:
            return
        n, first = block // blocks, block % blocks * strip
        left, right = matrix(table[2], n, whole + 1, table[16], kind), matrix(table[3], n, whole + 1, table[17], kind)
        query, key = matrix(table[4], n, length, features, kind), matrix(table[5], n, width, features, kind)
        found, rows = matrix(table[7], n, length, width, kind), range(first, min(length, first + strip))
        v[:features] = numbers(table[6], n * table[18], features, kind)
        start = n * (whole + 1) * table[17]
        if _strip(rows, left, right, query, key, v, found, bounds, room, table[3], start):
            flags(table[11], 1)[0] = 1
        if table[20]:
            for i in rows:
                lse, entropy = softmax(found[i], flags(table[11], 0), bounds[2], room[:0])
                numbers(table[8], n * length + i, 1, kind)[0] = lse
                numbers(table[9], n * length + i, 1, kind)[0] = entropy


@kernel
def weights(table: Any) -> None:
    """Additive weights of float32 numbers: see `_weights`."""
    _weights(table, np.float32(0))


@kernel
def weights_double(table: Any) -> None:
    """The same of float64."""
    _weights(table, np.float64(0))


@loops
def _slope_row(weights: Any, grads: Any, factor: float, found: Any) -> None:
    """The gradients of a row of scores from those of its weights."""
    for j in range(weights.size):
        found[j] = weights[j]
    centered(grads, dot(weights, grads), factor, found)


@loops
def _slopes(table: Any, kind: Any) -> None:
    """2 weights, 3 their gradients, 4 packed queries, 5 packed keys, 6 gradients of scores, filled up to the columns of
    4 and 5 with zeros, 7 ways, 8 sums, 9 as 10 of `_weights`; [10 queries, 11 keys, 12 whole, 13 columns of 4, 14 of 5,
    15 queries a block, a multiple of four].
    """
    length, width, whole, rows, lanes = table[10], table[11], table[12], table[13], table[14]
    strip, bounds, fours = table[15], numbers(table[9], 0, 3, kind), table[13] // QUERIES
    blocks, tiles = (rows + strip - 1) // strip, (lanes + TILE - 1) // TILE
    while True:
        block = take(table)
        if block >= table[1]:
            return
        n, first = block // blocks, block % blocks * strip
        last = min(rows, first + strip)
        weights, grads = matrix(table[2], n, length, width, kind), matrix(table[3], n, length, width, kind)
        found = matrix(table[6], n, rows, lanes, kind)
        for i in range(first, last):
            if i < length:
                _slope_row(weights[i], grads[i], bounds[2], found[i, :width])
                found[i, width:] = 0
            else:
                found[i] = 0
        left, right = matrix(table[4], n, whole + 1, rows, kind), matrix(table[5], n, whole + 1, lanes, kind)
        ways = flags(table[7] + n * fours * tiles, fours * tiles).reshape(fours, tiles)
        sums = matrix(table[8], n, fours, tiles, kind)
        some = slice(first // QUERIES, last // QUERIES)
        find_ways(found[first:last], left[whole, first:last], right[whole], bounds[0], ways[some], sums[some])


@kernel
def slopes(table: Any) -> None:
    """Gradients of float32 scores from those of weights: see `_slopes`."""
    _slopes(table, np.float32(0))


@kernel
def slopes_double(table: Any) -> None:
    """The same of float64."""
    _slopes(table, np.float64(0))
