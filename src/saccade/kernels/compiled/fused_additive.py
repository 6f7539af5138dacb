"""Attention of additive scores under intervals of keys: a row's scores are those of its own interval, and become
weights and an output where they are. Tables begin as those of `fused` do, and go on as that of its forward.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import flags, integers, kernel, loops, numbers, take
from saccade.kernels.compiled.all_pairs import tangent_row
from saccade.kernels.compiled.fused import BLOCK, LINE, ROOM, aligned, reached, read_block, stretch, weigh_block
from saccade.kernels.compiled.lanes import IDENTITY, TILE, UNBOUNDED, VECTOR, ends, identity_row, reach_of, way_of
from saccade.kernels.compiled.products import SIZE
from saccade.kernels.compiled.rows import sum_of
from saccade.kernels.compiled.top import FEW_ROOM

__all__ = ["forward", "score_row"]


@loops
def score_row(table: Any, n: int, i: int, start: int, end: int, scores: Any, sums: Any) -> None:
    """The scores of a query with the keys of its interval."""
    kind, whole, left_columns, columns = np.float32(0), table[33], table[34], table[35]
    bounds, v = numbers(table[32], 0, 2, kind), numbers(table[30], n * table[31], whole, kind)
    left = numbers(table[28], n * table[36], (whole + 1) * left_columns, kind).reshape(whole + 1, left_columns)
    right, total = n * table[37], sum_of(v)
    for first in range(start // VECTOR * VECTOR, end, TILE):
        last = min(end, first + TILE)
        reach = reach_of(numbers(table[29], right + whole * columns + first, last - first, kind))
        way = way_of(left[whole, i], reach, bounds[0])
        begin = max(first, start)
        found = scores[begin - start : last - start]
        if way in (IDENTITY, UNBOUNDED):
            part = sums[: -(-(last - first) // VECTOR) * VECTOR]
            part[:] = 0
            identity_row(way, part, left, i, table[29], right + first, columns, v, bounds[1])
            ends(part[begin - first :], total, found)
        else:
            size, offsets = table[15], integers(table[5] + 24 * n, 3)
            query = numbers(table[2] + SIZE * offsets[0], i * size, size, kind)
            keys = numbers(table[3] + SIZE * offsets[1], begin * size, (last - begin) * size, kind)
            tangent_row(way, found, query, keys.reshape(last - begin, size), v[:size])


@loops
def _chunk(table: Any, n: int, begin: int, scores: int, outputs: int, spare: Any, sums: Any, few: int) -> float:
    """The outputs of a chunk of queries; NaN where one is not finite."""
    length, step, end = table[13], stretch(table[19]), min(table[13], begin + table[17])
    starts, ends_ = integers(table[6] + 8 * n * table[8], length), integers(table[7] + 8 * n * table[8], length)
    value, total = table[4] + SIZE * integers(table[5] + 24 * n, 3)[2], np.float32(0)
    for place in range(begin, end, BLOCK):
        first = min(place, length - BLOCK)
        skipped, own, their = place - first, starts[first : first + BLOCK], ends_[first : first + BLOCK]
        low, high = reached(starts[place : first + BLOCK], ends_[place : first + BLOCK])
        for i in range(place, first + BLOCK):
            row = numbers(scores, (i - first) * step, step, np.float32(0))
            if starts[i] < ends_[i]:
                score_row(table, n, i, starts[i], ends_[i], row[starts[i] - low :], sums)
        weigh_block(table, n, first, skipped, low, own, their, scores, step, spare, few)
        total += read_block(table, n, first, skipped, value, low, high - low, own, their, scores, step, outputs)
    return total


@loops
def _forward(table: Any, room: Any, few_room: Any) -> None:
    chunks, step = (table[13] + table[17] - 1) // table[17], stretch(table[19])
    scores, few = aligned(room), few_room.ctypes.data
    outputs = scores + SIZE * BLOCK * step
    spare = numbers(outputs + SIZE * BLOCK * table[16], 0, step + ROOM, np.float32(0))
    sums = numbers(outputs + SIZE * BLOCK * table[16], step + ROOM, TILE, np.float32(0))
    while True:
        block = take(table)
        if block >= table[1]:
            return
        begin = block % chunks * table[17]
        if _chunk(table, block // chunks, begin, scores, outputs, spare, sums, few) != 0:
            flags(table[12], 1)[0] = 1


@kernel
def forward(table: Any) -> None:
    """20 to 27 as the forward of `fused`; 28 packed queries, 29 packed keys, 30 v, filled up with zeros, 31 from one
    entry's v to the next's, 32 [the exponential's range, the most that x may be], 33 features of the packed, 34 columns
    of 28, 35 of 29, 36 and 37 from one entry of 28 and of 29 to the next.
    """
    step = stretch(table[19])
    # an array is freed after its last use: who keeps its address alone is called with the array
    room = np.empty((BLOCK + 1) * step + BLOCK * table[16] + ROOM + TILE + LINE, np.float32)
    _forward(table, room, np.empty(FEW_ROOM, np.int64))
