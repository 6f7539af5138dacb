"""Attention of dot products, with one interval of keys for each query.

A block of queries is multiplied with the keys between the first and the last that any of them may attend to. The
products become weights row by row, with zeros beside each row's interval, and the weights are multiplied with the
values. All of it stays in the nearest caches. A chunk of blocks in a row shares one transposed copy of its keys.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, flags, floats, inline, integers, kernel, loops
from saccade.kernels.compiled.products import LANES, ROWS, SIZE, product
from saccade.kernels.compiled.rows import softmax, sparse, top_weights
from saccade.kernels.compiled.statistics import draw_of, entropy_of
from saccade.kernels.compiled.top import FEW_ROOM, MOST_FEW, lanes_of
from saccade.kernels.compiled.top import LANES as ROOM
from saccade.kernels.compiled.turning import SIDE, turn
from saccade.kernels.fused import Forward, InputTable
from saccade.kernels.intervals import BLOCK

LINE = 64
"""Bytes that a cache fetches at once."""


@inline
def stretch(size: int) -> int:
    """Distance of rows of `size`: whole tiles, and an odd number of cache lines.

    Rows a power of two apart would compete for the same lines of a cache.
    """
    lines = (size + LANES + ROWS + SIDE - 1) // SIDE
    return SIDE * (lines + 1 - lines % 2)


@inline
def aligned(room: Any) -> Any:
    """The first address in a room that begins a line of the cache."""
    return (room.ctypes.data + LINE - 1) // LINE * LINE


@loops
def reached(starts: Any, ends: Any) -> Any:
    """First key and last end of some intervals, (0, 0) if all are empty."""
    first, last = np.int64(1 << 62), np.int64(0)
    for i in range(starts.size):
        if starts[i] < ends[i]:
            first, last = min(first, starts[i]), max(last, ends[i])
    return min(first, last), last


@loops
def turned(source: int, rows: int, size: int, first: int, end: int, target: int, columns: int) -> None:
    """Transpose some rows of a matrix at an address into columns of another."""
    of = floats(source, 0, rows * size).reshape(rows, size)
    to = floats(target, 0, size * columns).reshape(size, columns)
    for i in range(first, end, SIDE):
        turn(of, i, 0, to, 0, i - first, min(SIDE, end - i), size)


@loops
def moved(source: Any, target: Any) -> Any:
    """Copy numbers: 0, or NaN if any is not finite."""
    total = np.float32(0)
    for j in range(source.size):
        target[j] = source[j]
        total += source[j] * np.float32(0)
    return total


@loops
def _sparse(part: Any, parameters: Any, spare: Any, no_flags: Any) -> None:
    """Products become weights of the entmax family, but softmax."""
    for j in range(part.size):
        part[j] *= parameters[2]
        spare[j] = part[j]
    sparse(spare[: part.size], no_flags, parameters[1], part)


@loops
def weigh(part: Any, parameters: Any, spare: Any, no_flags: Any, lanes: Any) -> Any:
    """Products become weights; the lse of a softmax, and the entropy.

    Args:
        part: a row, all of it allowed.
        parameters: [factor of a softmax, a as in `rows`, scale].
        spare: room for as many numbers.
        no_flags: an empty mask.
        lanes: as `softmax` has them.
    """
    if parameters[1] == 0:
        return softmax(part, no_flags, parameters[0], lanes)
    _sparse(part, parameters, spare, no_flags)
    return np.float32(0), np.float32(0)


@loops
def interval(row: Any, begin: int, end: int) -> Any:
    """The part of a row between two addresses, and zeros beside it."""
    begin, end = (begin, end) if begin < end else (0, 0)
    row[:begin] = 0
    row[end:] = 0
    return row[begin:end]


@loops
def _spanned(starts: Any, ends: Any, r: int, low: int, width: int) -> tuple[int, int]:
    """First key and last end of the intervals of a tile's rows, within the block."""
    first, end = reached(starts[r : r + ROWS], ends[r : r + ROWS])
    return max(first - low, 0), min(end - low, width)


@loops
def scored(
    query: int, size: int, keys: int, columns: int, low: int, width: int, starts: Any, ends: Any, scores: int, step: int
) -> None:
    """Multiply a block's queries with transposed keys, skipping keys no row needs."""
    for r in range(0, BLOCK, ROWS):
        first, end = _spanned(starts, ends, r, low, width)
        if first < end:
            rows, row = query + SIZE * r * size, scores + SIZE * (r * step + first)
            product(rows, size, 1, keys + SIZE * first, columns, row, step, ROWS, size, end - first, False)


@loops
def _largest(t: Forward, i: int, part: Any, entropy: float, lanes: Any, spare: Any, few: int, start: int) -> None:
    """The largest weights of a row, and their indices among all keys."""
    many = t.many
    values, indices = floats(t.values, i * many, many), integers(t.indices, i * many, many)
    count = min(many, part.size)
    if count:
        top_weights(part, flags(t.inputs.infinite, 0, 0), entropy, lanes, spare, few, values[:count], indices[:count])
    for k in range(many):
        if k < count and indices[k] >= 0:
            indices[k] += start
        elif k >= count:
            values[k], indices[k] = 0, -1


@loops
def weigh_block(
    t: Forward,
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
    """Turn a block's products into weights, and write statistics and draws.

    Args:
        t: the table.
        n: the entry.
        first, skipped: the first query, and how many of the block belong to another one.
        low: the first key of the block.
        starts, ends: the intervals of the block's queries.
        scores, step: the address of the products, and from one row to the next.
        spare, few: room, and the address of room.
    """
    x, many, no_flags = t.inputs, t.many, flags(t.inputs.infinite, 0, 0)
    parameters = floats(x.parameters, 0, 3)
    for r in range(BLOCK):
        row = floats(scores, r * step, step)
        if r < skipped:
            row[:] = 0
            continue
        part, i = interval(row, starts[r] - low, ends[r] - low), n * x.length + first + r
        lanes = lanes_of(part, spare[:ROOM]) if many > MOST_FEW else spare[:0]
        lse, entropy = weigh(part, parameters, spare, no_flags, lanes)
        if parameters[1] == 0:
            floats(t.lse, i, 1)[0] = lse
        elif t.measures_entropy:
            entropy = entropy_of(part)
        floats(t.entropy, i, 1)[0] = entropy
        if many:
            _largest(t, i, part, entropy, lanes, spare, few, starts[r])
        if x.uniform:
            index = draw_of(part, np.float64(floats(x.uniform, i, 1)[0]))
            integers(t.drawn, i, 1)[0] = index + starts[r] if index >= 0 else index
            if index < 0 and part.size:  # weights that are NaN
                flags(x.infinite, 0, 1)[0] = 1


@loops
def multiplied(
    value: int, size: int, low: int, width: int, starts: Any, ends: Any, weights: int, step: int, room: int
) -> None:
    """Multiply a block's weights with values, skipping keys no row needs."""
    for r in range(0, BLOCK, ROWS):
        first, end = _spanned(starts, ends, r, low, width)
        target = room + SIZE * r * size
        if first < end:
            row, rows = weights + SIZE * (r * step + first), value + SIZE * (low + first) * size
            product(row, step, 1, rows, size, target, size, ROWS, end - first, size, False)
        else:
            floats(target, 0, ROWS * size)[:] = 0


@loops
def read_block(
    t: Forward,
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
) -> Any:
    """The outputs of a block: NaN if any is not finite."""
    x, size, total = t.inputs, t.inputs.out, np.float32(0)
    if not x.uniform:
        multiplied(value, size, low, width, starts, ends, scores, step, room)
    for r in range(skipped, BLOCK):
        i = n * x.length + first + r
        output = floats(t.output, i * size, size)
        drawn = integers(t.drawn, i, 1)[0] if x.uniform else 0
        if drawn < 0:
            output[:] = 0
        elif x.uniform:
            total += moved(floats(value, drawn * size, size), output)
        else:
            total += moved(floats(room, r * size, size), output)
    return total


@inline
def addresses(x: InputTable, n: int) -> tuple[int, int, int]:
    """Addresses of an entry's queries, keys and values."""
    offsets = integers(x.offsets, 3 * n, 3)
    return x.query + SIZE * offsets[0], x.key + SIZE * offsets[1], x.value + SIZE * offsets[2]


@inline
def intervals(x: InputTable, n: int) -> tuple[Any, Any]:
    """The first key of each query of an entry, and the end of the last."""
    return integers(x.starts, n * x.interval_stride, x.length), integers(x.ends, n * x.interval_stride, x.length)


@loops
def _chunk(t: Forward, n: int, begin: int, keys: int, scores: int, outputs: int, spare: Any, few: int) -> Any:
    """The outputs of a chunk of queries: NaN if any is not finite."""
    x, columns, step = t.inputs, stretch(t.inputs.chunk_keys), stretch(t.inputs.block_keys)
    length, size, end = x.length, x.features, min(x.length, begin + x.chunk)
    query, key, value = addresses(x, n)
    starts, ends = intervals(x, n)
    lowest, highest = reached(starts[begin:end], ends[begin:end])
    turned(key, x.width, size, lowest, highest, keys, columns)
    total = np.float32(0)
    for start in range(begin, end, BLOCK):
        first = min(start, length - BLOCK)
        skipped, begins, stops = start - first, starts[first : first + BLOCK], ends[first : first + BLOCK]
        low, high = reached(starts[start : first + BLOCK], ends[start : first + BLOCK])
        queries, away = query + SIZE * first * size, SIZE * (low - lowest)
        scored(queries, size, keys + away, columns, low, high - low, begins, stops, scores, step)
        weigh_block(t, n, first, skipped, low, begins, stops, scores, step, spare, few)
        total += read_block(t, n, first, skipped, value, low, high - low, begins, stops, scores, step, outputs)
    return total


@loops
def _forward(t: Forward, room: Any, few_room: Any) -> None:
    x = t.inputs
    chunks, step = (x.length + x.chunk - 1) // x.chunk, stretch(x.block_keys)
    keys, few = aligned(room), few_room.ctypes.data
    scores = keys + SIZE * stretch(x.chunk_keys) * x.features
    outputs = scores + SIZE * BLOCK * step
    spare = floats(outputs + SIZE * BLOCK * x.out, 0, step + ROOM)
    for block in blocks(t):
        if _chunk(t, block // chunks, block % chunks * x.chunk, keys, scores, outputs, spare, few) != 0:
            flags(x.infinite, 0, 1)[0] = 1


@kernel
def forward(t: Forward) -> None:
    """Outputs, statistics and draws."""
    keys, step = stretch(t.inputs.chunk_keys) * t.inputs.features, stretch(t.inputs.block_keys)
    # an array is freed after its last use: a function that keeps an address alone also has the array as argument
    room = np.empty(keys + (BLOCK + 1) * step + BLOCK * t.inputs.out + ROOM + LINE, np.float32)
    _forward(t, room, np.empty(FEW_ROOM, np.int64))
