"""Gradients of attention of additive scores under intervals of keys. Tables begin as those of `fused_backward` do, and
go on as that of the forward of `fused_additive`.

A block's scores and weights are computed again. Its part in the gradients of queries, keys and v is that of
`lanes_backward`, four queries at a time, each four with the whole vectors of keys that any of them may attend to. What
it adds to keys is summed with the features in rows, in memory of the chunk's own.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import flags, inline, integers, kernel, loops, numbers, take
from saccade.kernels.compiled.fused import BLOCK, LINE, aligned, reached, scored, stretch, turned
from saccade.kernels.compiled.fused_additive import score_row
from saccade.kernels.compiled.fused_backward import add_drawn, add_sums, differentiate_rows, emptied, place_of
from saccade.kernels.compiled.lanes import IDENTITY, TILE, UNBOUNDED, VECTOR, reach_of, way_of
from saccade.kernels.compiled.lanes_backward import QUERIES, pair, pair_unbounded, slopes_of_tile
from saccade.kernels.compiled.products import ROWS, SIZE, product
from saccade.kernels.compiled.rows import sum_of

__all__ = ["backward"]

FOURS = BLOCK // QUERIES


@inline
def _place(table: Any, part: int, n: int) -> int:
    """Where an entry's queries (0), keys (1) or values (2) are."""
    return table[2 + part] + SIZE * integers(table[5] + 24 * n, 3)[part]


@inline
def _columns(table: Any) -> int:
    """Numbers from one row to the next of what a chunk has in the order of its keys, the first at a whole vector."""
    return stretch(table[18] + 2 * VECTOR)


@inline
def _step(table: Any) -> int:
    """Likewise of a block."""
    return stretch(table[19] + 2 * VECTOR)


@loops
def _rooms(table: Any, room: Any) -> tuple[int, ...]:
    """Where, in a room, a chunk has its values, turned; the sums of the gradients of its keys, turned, and of its
    values; a block's scores, their gradients, and the gradients of its queries, turned; the sums for v, [sum g r, sum g
    tanh] of each feature; room for a row more.
    """
    columns, step, out, whole = _columns(table), _step(table), table[16], table[33]
    keys = aligned(room) + SIZE * columns * out
    values = keys + SIZE * columns * whole
    scores = values + SIZE * (columns + ROWS) * out
    grads = scores + SIZE * BLOCK * step
    queries = grads + SIZE * BLOCK * step
    v = queries + SIZE * BLOCK * whole
    return aligned(room), keys, values, scores, grads, queries, v, v + SIZE * 2 * whole


@inline
def _size_of_room(table: Any) -> int:
    """Numbers that these take."""
    columns, step, out, whole = _columns(table), _step(table), table[16], table[33]
    return columns * (2 * out + whole) + ROWS * out + BLOCK * (2 * step + whole) + 2 * whole + max(step, TILE) + LINE


@loops
def _spans_of_fours(starts: Any, ends: Any, skipped: int, first: int, last: int, spans: Any) -> None:
    """Of each four queries the keys, in whole vectors from `first` on, that any of them may attend to before `last`."""
    for f in range(FOURS):
        begin, end = max(skipped, f * QUERIES), (f + 1) * QUERIES
        spans[f] = 0
        if begin < end:
            low, high = reached(starts[begin:end], ends[begin:end])
            low, high = max(low, first), min(high, last)
            if low < high:
                spans[f, 0] = (low - first) // VECTOR * VECTOR
                spans[f, 1] = (high - first + VECTOR - 1) // VECTOR * VECTOR


@loops
def _by_tangents(
    table: Any, n: int, way: int, first: int, key: int, grads: int, spans: Any, rooms: tuple[int, ...], away: int
) -> None:
    """What a tile adds that the identity does not serve: by tangents, feature after feature.

    Args:
        first: query of the block.
        key, away: the first key of the tile, and how far it is from the chunk's first.
        grads: the address of the gradients of the tile's scores.
    """
    size, kind, columns, step = table[15], np.float32(0), _columns(table), _step(table)
    query, keys = _place(table, 0, n), _place(table, 1, n)
    width, out = min(table[14], key + TILE) - key, np.empty(2, np.float32)
    rows, column = numbers(keys, key * size, width * size, kind).reshape(width, size), np.empty(width, np.float32)
    of_query, of_v = numbers(rooms[5], 0, size * BLOCK, kind).reshape(size, BLOCK), numbers(rooms[6], 0, 2 * size, kind)
    for d in range(size):
        for j in range(width):
            column[j] = rows[j, d]
        of_key = numbers(rooms[1], d * columns + away, width, kind)
        for r in range(BLOCK):
            low, high = spans[r // QUERIES, 0], min(width, spans[r // QUERIES, 1])
            if low < high:
                q = numbers(query, (first + r) * size + d, 1, kind)[0]
                slopes_of_tile(
                    way, numbers(grads, r * step + low, high - low, kind), column[low:high], q, of_key[low:high], out
                )
                of_query[d, r] += out[0]
                of_v[2 * d + 1] += out[1]


@loops
def _by_identity(
    table: Any, n: int, way: int, first: int, key: int, grads: int, spans: Any, rooms: tuple[int, ...], away: int
) -> None:
    """What a tile adds where the identity serves."""
    whole, kind, columns, step = table[33], np.float32(0), _columns(table), _step(table)
    left, right, most = n * table[36] + first, n * table[37] + key, numbers(table[32], 1, 1, kind)[0]
    of_v, out = numbers(rooms[6], 0, 2 * whole, kind), np.zeros(2, np.float32)
    width = min(table[35] - key, TILE)
    for d in range(0, whole, 2):
        a0 = numbers(table[28], left + d * table[34], BLOCK, kind)
        a1 = numbers(table[28], left + (d + 1) * table[34], BLOCK, kind)
        b0 = numbers(table[29], right + d * table[35], width, kind)
        b1 = numbers(table[29], right + (d + 1) * table[35], width, kind)
        k0 = numbers(rooms[1], d * columns + away, width, kind)
        k1 = numbers(rooms[1], (d + 1) * columns + away, width, kind)
        q0, q1 = numbers(rooms[5], d * BLOCK, BLOCK, kind), numbers(rooms[5], (d + 1) * BLOCK, BLOCK, kind)
        out[:] = 0
        if way == UNBOUNDED:
            pair_unbounded(grads, 0, step, 0, BLOCK, b0, b1, k0, k1, a0, a1, q0, q1, spans, most, out)
        else:
            pair(grads, 0, step, 0, BLOCK, b0, b1, k0, k1, a0, a1, q0, q1, spans, most, out)
        of_v[2 * d] += out[0]
        of_v[2 * d + 2] += out[1]


@loops
def _of_scores(
    table: Any,
    n: int,
    first: int,
    skipped: int,
    starts: Any,
    ends: Any,
    low: int,
    high: int,
    lowest: int,
    rooms: tuple[int, ...],
    spans: Any,
) -> float:
    """What a block adds to the gradients of queries, keys and v, from those of its scores; the sum of these where the
    identity serves: tanh = 1 - 2 r, and that is the part of the ones in the gradient of v.
    """
    kind, whole, step, total = np.float32(0), table[33], _step(table), np.float32(0)
    bounds, left, right = numbers(table[32], 0, 2, kind), n * table[36] + whole * table[34], n * table[37]
    asked = reach_of(numbers(table[28], left + first, BLOCK, kind))
    for key in range(low, high, TILE):
        last = min(high, key + TILE)
        reach = reach_of(numbers(table[29], right + whole * table[35] + key, last - key, kind))
        way = way_of(asked, reach, bounds[0])
        grads = rooms[4] + SIZE * (key - low)
        _spans_of_fours(starts, ends, skipped, key, last, spans)
        if way in (IDENTITY, UNBOUNDED):
            _by_identity(table, n, way, first, key, grads, spans, rooms, key - lowest)
            for r in range(BLOCK):
                total += sum_of(numbers(grads, r * step, last - key, kind))
        else:
            _by_tangents(table, n, way, first, key, grads, spans, rooms, key - lowest)
    return total


@loops
def _to_queries(table: Any, n: int, first: int, skipped: int, v: Any, room: int) -> float:
    """The gradients of a block's queries, from their columns; NaN where one is not finite."""
    size, kind, total, four = table[15], np.float32(0), np.float32(0), np.float32(4)
    found = numbers(room, 0, size * BLOCK, kind).reshape(size, BLOCK)
    for r in range(skipped, BLOCK):
        target = numbers(table[21], (n * table[13] + first + r) * size, size, kind)
        for d in range(size):
            target[d] = four * v[d] * found[d, r]
            total += target[d] * np.float32(0)
    return total


@loops
def _to_keys(table: Any, slot: int, lowest: int, first: int, highest: int, v: Any, room: int) -> float:
    """What a chunk has found for its keys, in columns from `lowest` on, added to that of all; NaN where a sum is not
    finite. Those before `first` may be another chunk's, which is computed at the same time: not even zeros are added.
    """
    size, kind, total, four, columns = table[15], np.float32(0), np.float32(0), np.float32(4), _columns(table)
    found = numbers(room, 0, size * columns, kind).reshape(size, columns)
    for j in range(first, highest):
        target = numbers(table[22], (slot * table[14] + j) * size, size, kind)
        for d in range(size):
            target[d] += four * v[d] * found[d, j - lowest]
            total += target[d] * np.float32(0)
    return total


@loops
def _to_v(target: Any, added: float, room: int) -> float:
    """The gradient of v of a chunk, in which the scores' gradients have this sum; NaN where a number is not finite."""
    sums, total = numbers(room, 0, 2 * target.size, np.float32(0)), np.float32(0)
    for d in range(target.size):
        target[d] = added - np.float32(2) * sums[2 * d] + sums[2 * d + 1]
        total += target[d] * np.float32(0)
    return total


@loops
def _block(
    table: Any, n: int, place: int, starts: Any, ends: Any, lowest: int, v: Any, rooms: tuple[int, ...], spans: Any
) -> tuple[float, float]:
    """The gradients that a block of queries has a part in; NaN where one of the queries is not finite, and the sum of
    the gradients of its scores.
    """
    first, step, out, zero = min(place, table[13] - BLOCK), _step(table), table[16], np.float32(0)
    low, high = reached(starts[place : first + BLOCK], ends[place : first + BLOCK])
    low -= low % VECTOR
    width, away, skipped = high - low, low - lowest, place - first
    own, their = starts[first : first + BLOCK], ends[first : first + BLOCK]
    spare = numbers(rooms[7], 0, max(step, TILE), zero)
    upstream = table[20] + SIZE * (n * table[13] + first) * out
    for r in range(skipped, BLOCK):
        if own[r] < their[r]:
            row = numbers(rooms[3], r * step, step, zero)
            score_row(table, n, first + r, own[r], their[r], row[own[r] - low :], spare[:TILE])
    if table[11]:
        add_drawn(table, n, first, skipped, low, lowest, own, their, rooms[3], step, spare, upstream, rooms[2])
        return zero, zero
    if table[24]:
        values = rooms[0] + SIZE * away
        scored(upstream, out, values, _columns(table), low, width, own, their, rooms[4], step)
    differentiate_rows(table, skipped, low, own, their, rooms[3], rooms[4], step, spare)
    if width and table[25]:
        product(rooms[3], 1, step, upstream, out, rooms[2] + SIZE * away * out, out, width, BLOCK, out, True)
    if table[24]:
        emptied(rooms[5], BLOCK * table[33])
        total = _of_scores(table, n, first, skipped, own, their, low, high, lowest, rooms, spans)
        return _to_queries(table, n, first, skipped, v, rooms[5]), total
    return zero, zero


@loops
def _chunk(table: Any, n: int, begin: int, slot: int, rooms: tuple[int, ...], spans: Any) -> float:
    """The gradients that a chunk of queries has a part in; NaN where one is not finite."""
    length, width, out, whole, columns = table[13], table[14], table[16], table[33], _columns(table)
    end, v = min(length, begin + table[17]), numbers(table[30], n * table[31], whole, np.float32(0))
    starts, ends = integers(table[6] + 8 * n * table[8], length), integers(table[7] + 8 * n * table[8], length)
    first, highest = reached(starts[begin:end], ends[begin:end])
    lowest = first - first % VECTOR
    if table[24]:
        turned(_place(table, 2, n), width, out, lowest, highest, rooms[0], columns)
        emptied(rooms[1], columns * whole)
        emptied(rooms[6], 2 * whole)
    emptied(rooms[2], (columns + ROWS) * out)
    total, added = np.float32(0), np.float32(0)
    for place in range(begin, end, BLOCK):
        found, sums = _block(table, n, place, starts, ends, lowest, v, rooms, spans)
        total += found
        added += sums
    if table[24]:
        total += _to_keys(table, slot, lowest, first, highest, v, rooms[1])
        chunk = n * ((length + table[17] - 1) // table[17]) + begin // table[17]
        total += _to_v(numbers(table[38], chunk * table[15], table[15], total), added, rooms[6])
    if table[25]:
        sums = rooms[2] + SIZE * (first - lowest) * out
        total += add_sums(sums, first, highest, out, table[23] + SIZE * slot * width * out)
    return total


@loops
def _backward(table: Any, room: Any, spans: Any) -> None:
    rooms = _rooms(table, room)
    while True:
        block = take(table)
        if block >= table[1]:
            return
        n, begin, slot = place_of(table, block, table[39])
        if _chunk(table, n, begin, slot, rooms, spans) != 0:
            flags(table[12], 1)[0] = 1


@kernel
def backward(table: Any) -> None:
    """20 to 27 as the backward of dot products; 28 to 37 as the forward of additive scores; 38 the gradients of v, for
    each chunk of an entry its own, 39 the first chunk.
    """
    _backward(table, np.empty(_size_of_room(table), np.float32), np.empty((FOURS, 2), np.int64))
