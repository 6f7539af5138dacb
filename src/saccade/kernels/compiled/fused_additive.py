"""Attention of additive scores, with one interval of keys for each query."""

from typing import Any

import numpy as np

from saccade.kernels.additive import TILE
from saccade.kernels.compiled import blocks, flags, floats, kernel, loops
from saccade.kernels.compiled.all_pairs import tangent_row
from saccade.kernels.compiled.fused import (
    LINE,
    addresses,
    aligned,
    intervals,
    reached,
    read_block,
    stretch,
    weigh_block,
)
from saccade.kernels.compiled.lanes import IDENTITY, UNBOUNDED, ends, identity_row, reach_of, way_of
from saccade.kernels.compiled.products import SIZE
from saccade.kernels.compiled.rows import sum_of
from saccade.kernels.compiled.top import FEW_ROOM
from saccade.kernels.compiled.top import LANES as ROOM
from saccade.kernels.fused import AdditiveTable, ForwardAdditive, InputTable
from saccade.kernels.intervals import BLOCK
from saccade.kernels.packing import LANES


@loops
def score_row(x: InputTable, p: AdditiveTable, n: int, i: int, start: int, end: int, scores: Any, sums: Any) -> None:
    """The scores of a query with the keys of its interval."""
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
            size, (query, key, _) = x.features, addresses(x, n)
            keys = floats(key, begin * size, (last - begin) * size).reshape(last - begin, size)
            tangent_row(way, row, floats(query, i * size, size), keys, v[:size])


@loops
def _chunk(t: ForwardAdditive, n: int, begin: int, scores: int, outputs: int, spare: Any, sums: Any, few: int) -> Any:
    """The outputs of a chunk of queries: NaN if any is not finite."""
    x = t.forward.inputs
    length, step, end = x.length, stretch(x.block_keys), min(x.length, begin + x.chunk)
    starts, stops = intervals(x, n)
    _, _, value = addresses(x, n)
    total = np.float32(0)
    for start in range(begin, end, BLOCK):
        first = min(start, length - BLOCK)
        skipped, block_starts, block_stops = start - first, starts[first : first + BLOCK], stops[first : first + BLOCK]
        low, high = reached(starts[start : first + BLOCK], stops[start : first + BLOCK])
        width = high - low
        for i in range(start, first + BLOCK):
            row = floats(scores, (i - first) * step, step)
            if starts[i] < stops[i]:
                score_row(x, t.additive, n, i, starts[i], stops[i], row[starts[i] - low :], sums)
        weigh_block(t.forward, n, first, skipped, low, block_starts, block_stops, scores, step, spare, few)
        total += read_block(
            t.forward, n, first, skipped, value, low, width, block_starts, block_stops, scores, step, outputs
        )
    return total


@loops
def _forward(t: ForwardAdditive, room: Any, few_room: Any) -> None:
    x = t.forward.inputs
    chunks, step = (x.length + x.chunk - 1) // x.chunk, stretch(x.block_keys)
    scores, few = aligned(room), few_room.ctypes.data
    outputs = scores + SIZE * BLOCK * step
    spare = floats(outputs + SIZE * BLOCK * x.out, 0, step + ROOM)
    sums = floats(outputs + SIZE * BLOCK * x.out, step + ROOM, TILE)
    for block in blocks(t):
        if _chunk(t, block // chunks, block % chunks * x.chunk, scores, outputs, spare, sums, few) != 0:
            flags(x.infinite, 0, 1)[0] = 1


@kernel
def forward(t: ForwardAdditive) -> None:
    """Outputs, statistics and draws."""
    step = stretch(t.forward.inputs.block_keys)
    # an array is freed after its last use: a function that keeps an address alone also has the array as argument
    room = np.empty((BLOCK + 1) * step + BLOCK * t.forward.inputs.out + ROOM + TILE + LINE, np.float32)
    _forward(t, room, np.empty(FEW_ROOM, np.int64))
