"""Gradients of attention of additive scores under intervals of keys.

A block's scores and weights are computed again. Its part in the gradients of queries, keys and v is that of
`lanes_backward`, four queries at a time, each four with the whole vectors of keys that any of them may attend to. The
gradients of keys are summed with the features in rows, in memory of the chunk's own.
"""

from typing import Any, NamedTuple

import numpy as np

from saccade.kernels.additive import TILE
from saccade.kernels.compiled import blocks, flags, floats, fused, fused_backward, inline, kernel, loops
from saccade.kernels.compiled.fused_additive import score_block
from saccade.kernels.compiled.lanes import IDENTITY, UNBOUNDED, reach_of, way_of
from saccade.kernels.compiled.lanes_backward import pair, pair_unbounded, slopes_of_tile
from saccade.kernels.compiled.products import ROWS, SIZE, product
from saccade.kernels.compiled.rows import sum_of
from saccade.kernels.fused import Backward, BackwardAdditive, InputTable
from saccade.kernels.intervals import BLOCK
from saccade.kernels.packing import LANES, QUERIES

FOURS = BLOCK // QUERIES


@inline
def _columns(x: InputTable) -> Any:
    """Distance of rows of a chunk's matrices: keys in order, in whole vectors."""
    return fused.stretch(x.chunk_keys + 2 * LANES)


@inline
def _step(x: InputTable) -> Any:
    return fused.stretch(x.block_keys + 2 * LANES)


class Rooms(NamedTuple):
    """Addresses of the parts of a room ("T" is transposed)."""

    values: int  # of a chunk (T)
    key_sums: int  # gradients of a chunk's keys (T)
    value_sums: int  # gradients of its values
    scores: int  # of a block
    grads: int  # of the scores
    queries: int  # gradients of a block's queries (T)
    v: int  # [sum g r, sum g tanh] of each feature
    spare: int  # for a row more


@loops
def _rooms(x: InputTable, whole: int, room: Any) -> Rooms:
    columns, step, out = _columns(x), _step(x), x.out
    keys = fused.aligned(room) + SIZE * columns * out
    values = keys + SIZE * columns * whole
    scores = values + SIZE * (columns + ROWS) * out
    grads = scores + SIZE * BLOCK * step
    queries = grads + SIZE * BLOCK * step
    v = queries + SIZE * BLOCK * whole
    return Rooms(fused.aligned(room), keys, values, scores, grads, queries, v, v + SIZE * 2 * whole)


@inline
def _size_of_room(x: InputTable, whole: int) -> Any:
    columns, step, out = _columns(x), _step(x), x.out
    return (
        columns * (2 * out + whole) + ROWS * out + BLOCK * (2 * step + whole) + 2 * whole + max(step, TILE) + fused.LINE
    )


@loops
def _spans_of_fours(b: fused.Block, first: int, last: int, spans: Any) -> None:
    """Keys that any of each four queries may attend to, in whole vectors of a chunk."""
    for f in range(FOURS):
        begin, end = max(b.skipped, f * QUERIES), (f + 1) * QUERIES
        spans[f] = 0
        if begin < end:
            low, high = fused.reached(b.starts[begin:end], b.ends[begin:end])
            low, high = max(low, first), min(high, last)
            if low < high:
                spans[f, 0] = (low - first) // LANES * LANES
                spans[f, 1] = (high - first + LANES - 1) // LANES * LANES


@loops
def _by_tangents(
    x: InputTable, b: fused.Block, way: int, key: int, grads: int, spans: Any, rooms: Rooms, away: int
) -> None:
    """Add a tile that the identity does not serve: by tangents, feature after feature.

    `key` is the first of the tile, `away` from the chunk's first, and `grads` the address of its scores' gradients.
    """
    size, columns, step = x.features, _columns(x), _step(x)
    queries, keys, _ = fused.addresses(x, b.entry)
    width, out = min(x.width, key + TILE) - key, np.empty(2, np.float32)
    rows, column = floats(keys, key * size, width * size).reshape(width, size), np.empty(width, np.float32)
    query_grad, v_sums = floats(rooms.queries, 0, size * BLOCK).reshape(size, BLOCK), floats(rooms.v, 0, 2 * size)
    for d in range(size):
        for j in range(width):
            column[j] = rows[j, d]
        key_grad = floats(rooms.key_sums, d * columns + away, width)
        for r in range(BLOCK):
            low, high = spans[r // QUERIES, 0], min(width, spans[r // QUERIES, 1])
            if low < high:
                q, part = floats(queries, (b.first + r) * size + d, 1)[0], floats(grads, r * step + low, high - low)
                slopes_of_tile(way, part, column[low:high], q, key_grad[low:high], out)
                query_grad[d, r] += out[0]
                v_sums[2 * d + 1] += out[1]


@loops
def _by_identity(
    t: BackwardAdditive,
    block: fused.Block,
    way: int,
    key: int,
    grads: int,
    spans: Any,
    rooms: Rooms,
    away: int,
) -> None:
    p, columns, step, out = t.additive, _columns(t.backward.inputs), _step(t.backward.inputs), np.zeros(2, np.float32)
    left, right = block.entry * p.query_stride + block.first, block.entry * p.key_stride + key
    cap, v_sums, width = floats(p.bounds, 1, 1)[0], floats(rooms.v, 0, 2 * p.whole), min(p.key_columns - key, TILE)
    for d in range(0, p.whole, 2):
        e = d + 1
        a = floats(p.queries, left + d * p.query_columns, BLOCK), floats(p.queries, left + e * p.query_columns, BLOCK)
        b = floats(p.keys, right + d * p.key_columns, width), floats(p.keys, right + e * p.key_columns, width)
        k = floats(rooms.key_sums, d * columns + away, width), floats(rooms.key_sums, e * columns + away, width)
        q = floats(rooms.queries, d * BLOCK, BLOCK), floats(rooms.queries, e * BLOCK, BLOCK)
        out[:] = 0
        if way == UNBOUNDED:
            pair_unbounded(grads, step, 0, BLOCK, b, k, a, q, spans, cap, out)
        else:
            pair(grads, step, 0, BLOCK, b, k, a, q, spans, cap, out)
        v_sums[2 * d] += out[0]
        v_sums[2 * d + 2] += out[1]


@loops
def _of_scores(t: BackwardAdditive, b: fused.Block, lowest: int, rooms: Rooms, spans: Any) -> Any:
    """Add a block's part to the gradients of queries, keys and v.

    Return the sum of these if the identity serves: tanh = 1 - 2 r, and it is the part of the ones in v's gradient.
    """
    p, step, total, high = t.additive, _step(t.backward.inputs), np.float32(0), b.low + b.width
    limit, reaches = floats(p.bounds, 0, 1)[0], p.whole * p.query_columns
    query_reach = reach_of(floats(p.queries, b.entry * p.query_stride + reaches + b.first, BLOCK))
    for key in range(b.low, high, TILE):
        last = min(high, key + TILE)
        reach = reach_of(floats(p.keys, b.entry * p.key_stride + p.whole * p.key_columns + key, last - key))
        way = way_of(query_reach, reach, limit)
        grads = rooms.grads + SIZE * (key - b.low)
        _spans_of_fours(b, key, last, spans)
        if way in (IDENTITY, UNBOUNDED):
            _by_identity(t, b, way, key, grads, spans, rooms, key - lowest)
            for r in range(BLOCK):
                total += sum_of(floats(grads, r * step, last - key))
        else:
            _by_tangents(t.backward.inputs, b, way, key, grads, spans, rooms, key - lowest)
    return total


@loops
def _to_queries(t: Backward, b: fused.Block, v: Any, room: int) -> Any:
    """Write the gradients of a block's queries. Return NaN if any is not finite."""
    size, total, four = t.inputs.features, np.float32(0), np.float32(4)
    columns = floats(room, 0, size * BLOCK).reshape(size, BLOCK)
    for r in range(b.skipped, BLOCK):
        target = floats(t.query_grad, (b.entry * t.inputs.length + b.first + r) * size, size)
        for d in range(size):
            target[d] = four * v[d] * columns[d, r]
            total += target[d] * np.float32(0)
    return total


@loops
def _to_keys(t: Backward, slot: int, lowest: int, first: int, highest: int, v: Any, room: int) -> Any:
    """Add a chunk's sums to the gradients of keys. Return NaN if a sum is not finite.

    Columns before `first` may be another chunk's, which is computed at the same time: not even zeros are added.
    """
    size, total, four, columns = t.inputs.features, np.float32(0), np.float32(4), _columns(t.inputs)
    sums = floats(room, 0, size * columns).reshape(size, columns)
    for j in range(first, highest):
        target = floats(t.key_grad, (slot * t.inputs.width + j) * size, size)
        for d in range(size):
            target[d] += four * v[d] * sums[d, j - lowest]
            total += target[d] * np.float32(0)
    return total


@loops
def _to_v(target: Any, added: float, room: int) -> Any:
    """Write the gradient of v of a chunk. Return NaN if a number is not finite."""
    sums, total = floats(room, 0, 2 * target.size), np.float32(0)
    for d in range(target.size):
        target[d] = added - np.float32(2) * sums[2 * d] + sums[2 * d + 1]
        total += target[d] * np.float32(0)
    return total


@loops
def _block(t: BackwardAdditive, block: fused.Block, lowest: int, v: Any, rooms: Rooms, spans: Any) -> Any:
    """Add a block's gradients. Return NaN if a query is not finite, and a sum for v."""
    b, x, p, step, zero = t.backward, t.backward.inputs, t.additive, _step(t.backward.inputs), np.float32(0)
    out, width, away, spare = x.out, block.width, block.low - lowest, floats(rooms.spare, 0, max(step, TILE))
    scores, grads, value_sums = rooms.scores, rooms.grads, rooms.value_sums
    upstream = b.grad + SIZE * (block.entry * x.length + block.first) * out
    score_block(x, p, block, scores, step, spare[:TILE])
    if x.uniform:
        fused_backward.add_drawn(x, block, lowest, scores, step, spare, upstream, value_sums)
        return zero, zero
    if b.needs_scores:
        fused.scored(upstream, out, rooms.values + SIZE * away, _columns(x), block, grads, step)
    fused_backward.differentiate_rows(x, block, scores, grads, step, spare)
    if width and b.needs_values:
        product((scores, 1, step), (upstream, out), (value_sums + SIZE * away * out, out), width, BLOCK, out, True)
    if b.needs_scores:
        fused_backward.emptied(rooms.queries, BLOCK * p.whole)
        total = _of_scores(t, block, lowest, rooms, spans)
        return _to_queries(b, block, v, rooms.queries), total
    return zero, zero


@loops
def _chunk(t: BackwardAdditive, n: int, begin: int, slot: int, rooms: Rooms, spans: Any) -> Any:
    """The gradients that a chunk of queries has a part in: NaN if any is not finite."""
    b, x, p, columns = t.backward, t.backward.inputs, t.additive, _columns(t.backward.inputs)
    length, width, out, whole, end = x.length, x.width, x.out, p.whole, min(x.length, begin + x.chunk)
    v = floats(p.v, n * p.v_stride, whole)
    starts, ends = fused.intervals(x, n)
    first, highest = fused.reached(starts[begin:end], ends[begin:end])
    lowest = first - first % LANES
    if b.needs_scores:
        fused.turned(fused.addresses(x, n)[2], width, out, lowest, highest, rooms.values, columns)
        fused_backward.emptied(rooms.key_sums, columns * whole)
        fused_backward.emptied(rooms.v, 2 * whole)
    fused_backward.emptied(rooms.value_sums, (columns + ROWS) * out)
    total, added = np.float32(0), np.float32(0)
    for start in range(begin, end, BLOCK):
        infinite, sums = _block(t, fused.block_of(x, n, start, starts, ends, LANES), lowest, v, rooms, spans)
        total += infinite
        added += sums
    if b.needs_scores:
        total += _to_keys(b, slot, lowest, first, highest, v, rooms.key_sums)
        chunk = n * ((length + x.chunk - 1) // x.chunk) + begin // x.chunk
        total += _to_v(floats(t.v_grad, chunk * x.features, x.features), added, rooms.v)
    if b.needs_values:
        source = rooms.value_sums + SIZE * (first - lowest) * out
        total += fused_backward.add_sums(source, first, highest, out, b.value_grad + SIZE * slot * width * out)
    return total


@loops
def _backward(t: BackwardAdditive, room: Any, spans: Any) -> None:
    rooms = _rooms(t.backward.inputs, t.additive.whole, room)
    for block in blocks(t):
        n, begin, slot = fused_backward.place_of(t.backward, block)
        if _chunk(t, n, begin, slot, rooms, spans) != 0:
            flags(t.backward.inputs.infinite, 0, 1)[0] = 1


@kernel
def backward(t: BackwardAdditive) -> None:
    room = np.empty(_size_of_room(t.backward.inputs, t.additive.whole), np.float32)
    _backward(t, room, np.empty((FOURS, 2), np.int64))
