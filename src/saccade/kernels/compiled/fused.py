"""Attention of dot products where each query may attend to one interval of keys: a window, all before it, all.

A block of queries and the keys between the first and the last that any of them may attend to are multiplied, the
products become weights row by row, each row its own interval and zeros beside it, and the weights are multiplied with
the values, all of it in the nearest caches: nothing of the size of the scores comes to memory. A chunk, some blocks of
queries one after another, shares one transposed copy of its keys.

Tables begin [2 query, 3 key, 4 value, 5 where each entry of the batch has its own, in numbers, `(entries, 3)`, 6 the
first key of each query's interval, 7 the end, 8 from one entry's intervals to the next's, 9 [factor of the scores under
a softmax, a as in `rows`, scale], 10 uniforms of draws, 11 whether keys are drawn, 12 a byte that becomes 1 where
something is not finite; 13 queries, 14 keys, 15 features, 16 features of values, 17 queries a chunk, 18 keys a chunk
has at most, 19 keys a block has at most].
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import flags, inline, integers, kernel, loops, numbers, take
from saccade.kernels.compiled.products import LANES, ROWS, SIZE, product
from saccade.kernels.compiled.rows import softmax, sparse, top_weights
from saccade.kernels.compiled.statistics import draw_of, entropy_of
from saccade.kernels.compiled.top import FEW_ROOM, MOST_FEW, lanes_of
from saccade.kernels.compiled.top import LANES as ROOM
from saccade.kernels.compiled.turning import SIDE, turn

__all__ = [
    "BLOCK",
    "LINE",
    "ROOM",
    "aligned",
    "forward",
    "interval",
    "moved",
    "multiplied",
    "reached",
    "read_block",
    "scored",
    "stretch",
    "turned",
    "weigh",
    "weigh_block",
]

BLOCK = 24
"""Queries that are computed together: a multiple of the rows of a product's tile."""

LINE = 64
"""Bytes that a cache fetches at once."""


@inline
def stretch(size: int) -> int:
    """Numbers from one row to the next, for rows of `size`: whole tiles fit behind them, and they are an odd number of
    lines apart, since rows a power of two apart compete for the same places of a cache.
    """
    lines = (size + LANES + ROWS + SIDE - 1) // SIDE
    return SIDE * (lines + 1 - lines % 2)


@inline
def aligned(room: Any) -> int:
    """The first address in a room at which a line of the cache begins."""
    return (room.ctypes.data + LINE - 1) // LINE * LINE


@loops
def reached(starts: Any, ends: Any) -> tuple[int, int]:
    """The first key of some intervals and the end of the last; 0 and 0 where all are empty."""
    first, last = np.int64(1 << 62), np.int64(0)
    for i in range(starts.size):
        if starts[i] < ends[i]:
            first, last = min(first, starts[i]), max(last, ends[i])
    return min(first, last), last


@loops
def turned(source: int, rows: int, size: int, first: int, end: int, target: int, columns: int) -> None:
    """Some rows of a matrix at an address as the columns of another, the first one's as the first."""
    of = numbers(source, 0, rows * size, np.float32(0)).reshape(rows, size)
    to = numbers(target, 0, size * columns, np.float32(0)).reshape(size, columns)
    for i in range(first, end, SIDE):
        turn(of, i, 0, to, 0, i - first, min(SIDE, end - i), size)


@loops
def moved(source: Any, target: Any) -> float:
    """Copy numbers; 0, or NaN where one is not finite."""
    total = np.float32(0)
    for j in range(source.size):
        target[j] = source[j]
        total += source[j] * np.float32(0)
    return total


@loops
def _sparse(part: Any, given: Any, spare: Any, none: Any) -> None:
    """Products become weights of another member of the family than softmax."""
    for j in range(part.size):
        part[j] *= given[2]
        spare[j] = part[j]
    sparse(spare[: part.size], none, given[1], part)


@loops
def weigh(part: Any, given: Any, spare: Any, none: Any, lanes: Any) -> tuple[float, float]:
    """Products become weights; the lse of a softmax, and the entropy.

    Args:
        part: a row, all of it allowed.
        given: [factor, a, scale].
        spare: room for as many numbers.
        none: no flags.
        lanes: as `softmax` has them.
    """
    if given[1] == 0:
        return softmax(part, none, given[0], lanes)
    _sparse(part, given, spare, none)
    return np.float32(0), np.float32(0)


@loops
def interval(row: Any, begin: int, end: int) -> Any:
    """The part of a row between two places, and zeros beside it."""
    begin, end = (begin, end) if begin < end else (0, 0)
    row[:begin] = 0
    row[end:] = 0
    return row[begin:end]


@loops
def _spanned(starts: Any, ends: Any, r: int, low: int, width: int) -> tuple[int, int]:
    """Of the rows of one tile of a block's products, from row r on: the first of the block's keys that any of them may
    attend to, from `low` on, and the end of the last.
    """
    first, end = reached(starts[r : r + ROWS], ends[r : r + ROWS])
    return max(first - low, 0), min(end - low, width)


@loops
def scored(
    query: int, size: int, keys: int, columns: int, low: int, width: int, starts: Any, ends: Any, scores: int, step: int
) -> None:
    """The products of a block of queries and turned keys at addresses, of each tile of rows those that it needs."""
    for r in range(0, BLOCK, ROWS):
        first, end = _spanned(starts, ends, r, low, width)
        if first < end:
            own, row = query + SIZE * r * size, scores + SIZE * (r * step + first)
            product(own, size, 1, keys + SIZE * first, columns, row, step, ROWS, size, end - first, False)


@loops
def _largest(table: Any, i: int, part: Any, entropy: float, lanes: Any, spare: Any, few: int, start: int) -> None:
    """The largest weights of a row, and where they are among all keys."""
    many, none = table[25], flags(table[12], 0)
    values, indices = numbers(table[23], i * many, many, np.float32(0)), integers(table[24] + 8 * i * many, many)
    found = min(many, part.size)
    if found:
        top_weights(part, none, entropy, lanes, spare, few, values[:found], indices[:found])
    for t in range(many):
        if t < found and indices[t] >= 0:
            indices[t] += start
        elif t >= found:
            values[t], indices[t] = 0, -1


@loops
def weigh_block(
    table: Any,
    n: int,
    first: int,
    skipped: int,
    low: int,
    starts: Any,
    ends: Any,
    scores: int,
    step: int,
    spare: Any,
    few: int,
) -> None:
    """A block's products become weights, with zeros beside the intervals; statistics and draws are written.

    Args:
        n: the entry.
        first, skipped: the first query, and how many of the block belong to another one.
        low: the first key of the block.
        starts, ends: the intervals of the block's queries.
        scores, step: the address of the products, and from one row to the next.
        spare, few: room, and the address of room.
    """
    given, none, many, kind = numbers(table[9], 0, 3, np.float32(0)), flags(table[12], 0), table[25], np.float32(0)
    for r in range(BLOCK):
        row = numbers(scores, r * step, step, kind)
        if r < skipped:
            row[:] = 0
            continue
        part, i = interval(row, starts[r] - low, ends[r] - low), n * table[13] + first + r
        lanes = lanes_of(part, spare[:ROOM]) if many > MOST_FEW else spare[:0]
        lse, entropy = weigh(part, given, spare, none, lanes)
        if given[1] == 0:
            numbers(table[21], i, 1, kind)[0] = lse
        elif table[26]:
            entropy = entropy_of(part)
        numbers(table[22], i, 1, kind)[0] = entropy
        if many:
            _largest(table, i, part, entropy, lanes, spare, few, starts[r])
        if table[11]:
            found = draw_of(part, np.float64(numbers(table[10], i, 1, kind)[0]))
            integers(table[27] + 8 * i, 1)[0] = found + starts[r] if found >= 0 else found
            if found < 0 and part.size:  # weights that are NaN
                flags(table[12], 1)[0] = 1


@loops
def multiplied(
    value: int, size: int, low: int, width: int, starts: Any, ends: Any, weights: int, step: int, room: int
) -> None:
    """The products of a block of weights and values at addresses, of each tile of rows those that it needs."""
    for r in range(0, BLOCK, ROWS):
        first, end = _spanned(starts, ends, r, low, width)
        target = room + SIZE * r * size
        if first < end:
            row, own = weights + SIZE * (r * step + first), value + SIZE * (low + first) * size
            product(row, step, 1, own, size, target, size, ROWS, end - first, size, False)
        else:
            numbers(target, 0, ROWS * size, np.float32(0))[:] = 0


@loops
def read_block(
    table: Any,
    n: int,
    first: int,
    skipped: int,
    value: int,
    low: int,
    width: int,
    starts: Any,
    ends: Any,
    scores: int,
    step: int,
    room: int,
) -> float:
    """The outputs of a block; NaN where something is not finite."""
    size, total, kind = table[16], np.float32(0), np.float32(0)
    if not table[11]:
        multiplied(value, size, low, width, starts, ends, scores, step, room)
    for r in range(skipped, BLOCK):
        i = n * table[13] + first + r
        output = numbers(table[20], i * size, size, kind)
        drawn = integers(table[27] + 8 * i, 1)[0] if table[11] else 0
        if drawn < 0:
            output[:] = 0
        elif table[11]:
            total += moved(numbers(value, drawn * size, size, kind), output)
        else:
            total += moved(numbers(room, r * size, size, kind), output)
    return total


@loops
def _chunk(table: Any, n: int, begin: int, keys: int, scores: int, outputs: int, spare: Any, few: int) -> float:
    """The outputs of a chunk of queries; NaN where one is not finite."""
    length, size, columns, step = table[13], table[15], stretch(table[18]), stretch(table[19])
    end, offsets = min(length, begin + table[17]), integers(table[5] + 24 * n, 3)
    query, value = table[2] + SIZE * offsets[0], table[4] + SIZE * offsets[2]
    starts, ends = integers(table[6] + 8 * n * table[8], length), integers(table[7] + 8 * n * table[8], length)
    lowest, highest = reached(starts[begin:end], ends[begin:end])
    turned(table[3] + SIZE * offsets[1], table[14], size, lowest, highest, keys, columns)
    total = np.float32(0)
    for place in range(begin, end, BLOCK):
        first = min(place, length - BLOCK)
        skipped, own, their = place - first, starts[first : first + BLOCK], ends[first : first + BLOCK]
        low, high = reached(starts[place : first + BLOCK], ends[place : first + BLOCK])
        asked, away = query + SIZE * first * size, SIZE * (low - lowest)
        scored(asked, size, keys + away, columns, low, high - low, own, their, scores, step)
        weigh_block(table, n, first, skipped, low, own, their, scores, step, spare, few)
        total += read_block(table, n, first, skipped, value, low, high - low, own, their, scores, step, outputs)
    return total


@loops
def _forward(table: Any, room: Any, few_room: Any) -> None:
    chunks, step = (table[13] + table[17] - 1) // table[17], stretch(table[19])
    keys, few = aligned(room), few_room.ctypes.data
    scores = keys + SIZE * stretch(table[18]) * table[15]
    outputs = scores + SIZE * BLOCK * step
    spare = numbers(outputs + SIZE * BLOCK * table[16], 0, step + ROOM, np.float32(0))
    while True:
        block = take(table)
        if block >= table[1]:
            return
        begin = block % chunks * table[17]
        if _chunk(table, block // chunks, begin, keys, scores, outputs, spare, few) != 0:
            flags(table[12], 1)[0] = 1


@kernel
def forward(table: Any) -> None:
    """20 output, 21 lse (of a softmax), 22 entropy, 23 the largest weights and 24 their indices, 25 how many of them,
    26 whether the entropy of others than softmax is wanted, 27 which keys were drawn.
    """
    keys, step = stretch(table[18]) * table[15], stretch(table[19])
    # an array is freed after its last use: who keeps its address alone is called with the array
    room = np.empty(keys + (BLOCK + 1) * step + BLOCK * table[16] + ROOM + LINE, np.float32)
    _forward(table, room, np.empty(FEW_ROOM, np.int64))
