"""Attention of additive scores, with one interval of keys for each query."""

from typing import Any

import numpy as np

from saccade.kernels.additive import TILE
from saccade.kernels.compiled import blocks, flags, floats, fused, kernel, loops
from saccade.kernels.compiled.all_pairs import tangent_row
from saccade.kernels.compiled.lanes import IDENTITY, UNBOUNDED, ends, identity_row, reach_of, way_of
from saccade.kernels.compiled.products import SIZE
from saccade.kernels.compiled.rows import sum_of
from saccade.kernels.compiled.top import FEW_ROOM
from saccade.kernels.compiled.top import LANES as ROOM
from saccade.kernels.fused import AdditiveTable, ForwardAdditive, InputTable
from saccade.kernels.intervals import BLOCK
from saccade.kernels.packing import LANES


@loops
def _score_row(x: InputTable, p: AdditiveTable, n: int, i: int, start: int, end: int, scores: Any, sums: Any) -> None:
    whole, columns, bounds, v = p.whole, p.key_columns, floats(p.bounds, 0, 2), floats(p.v, n * p.v_stride, p.whole)
    left = floats(p.queries, n * p.query_stride, (whole + 1) * p.query_columns).reshape(whole + 1, p.query_columns)
    right, total = n * p.key_stride, sum_of(v)
    for first in range(start // LANES * LANES, end, TILE):
        last = min(end, first + TILE)
        reach = reach_of(floats(p.keys, right + whole * columns + first, last - first))
        way = way_of(left[whole, i], reach, bounds[0])
        begin = max(first, start)
        row = scores[begin - start : last - start]
        if way in (IDENTITY, UNBOUNDED):
            part = sums[: -(-(last - first) // LANES) * LANES]
            part[:] = 0
            identity_row(way, part, left, i, p.keys, right + first, columns, v, bounds[1])
            ends(part[begin - first :], total, row)
        else:
            size, (query, key, _) = x.features, fused.addresses(x, n)
            keys = floats(key, begin * size, (last - begin) * size).reshape(last - begin, size)
            tangent_row(way, row, floats(query, i * size, size), keys, v[:size])


@loops
def score_block(x: InputTable, p: AdditiveTable, b: fused.Block, scores: int, step: int, sums: Any) -> None:
    for r in range(b.skipped, BLOCK):
        start, end = b.starts[r], b.ends[r]
        if start < end:
            row = floats(scores, r * step, step)
            _score_row(x, p, b.entry, b.first + r, start, end, row[start - b.low :], sums)


@loops
def _chunk(t: ForwardAdditive, n: int, begin: int, scores: int, outputs: int, spare: Any, sums: Any, few: int) -> Any:
    """The outputs of a chunk of queries: NaN if any is not finite."""
    x, total = t.forward.inputs, np.float32(0)
    step, (_, _, value), (starts, ends) = fused.stretch(x.block_keys), fused.addresses(x, n), fused.intervals(x, n)
    for start in range(begin, min(x.length, begin + x.chunk), BLOCK):
        b = fused.block_of(x, n, start, starts, ends, 1)
        score_block(x, t.additive, b, scores, step, sums)
        fused.weigh_block(t.forward, b, scores, step, spare, few)
        total += fused.read_block(t.forward, b, value, scores, step, outputs)
    return total


@loops
def _forward(t: ForwardAdditive, room: Any, few_room: Any) -> None:
    x = t.forward.inputs
    chunks, step = (x.length + x.chunk - 1) // x.chunk, fused.stretch(x.block_keys)
    scores, few = fused.aligned(room), few_room.ctypes.data
    outputs = scores + SIZE * BLOCK * step
    spare = floats(outputs + SIZE * BLOCK * x.out, 0, step + ROOM)
    sums = floats(outputs + SIZE * BLOCK * x.out, step + ROOM, TILE)
    for block in blocks(t):
        if _chunk(t, block // chunks, block % chunks * x.chunk, scores, outputs, spare, sums, few) != 0:
            flags(x.infinite, 0, 1)[0] = 1


@kernel
def forward(t: ForwardAdditive) -> None:
    step = fused.stretch(t.forward.inputs.block_keys)
    # an array is freed after its last use: a function that keeps an address alone also has the array as argument
    room = np.empty((BLOCK + 1) * step + BLOCK * t.forward.inputs.out + ROOM + TILE + fused.LINE, np.float32)
    _forward(t, room, np.empty(FEW_ROOM, np.int64))
