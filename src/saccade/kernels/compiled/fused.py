"""Attention of dot products, with one interval of keys for each query.

A block of queries is multiplied with the keys between the first and the last that any of them may attend to. The
products become weights row by row, with zeros beside each row's interval, and the weights are multiplied with the
values. All of it stays in the nearest caches. A chunk of blocks in a row shares one transposed copy of its keys.
"""

from typing import Any, NamedTuple

import numpy as np

from saccade.kernels.compiled import apart, blocks, flags, floats, inline, integers, kernel, loops
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


class Block(NamedTuple):
    """A block of queries of an entry, with the keys that any of them may attend to."""

    entry: int
    first: int  # its first query
    skipped: int  # queries that belong to another block
    low: int  # its first key
    width: int  # keys
    starts: Any  # of its intervals
    ends: Any


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
def block_of(x: InputTable, n: int, start: int, starts: Any, ends: Any, unit: int) -> Block:
    """The block of an entry from a query on. Its first key is a multiple of the unit."""
    first = min(start, x.length - BLOCK)
    low, high = reached(starts[start : first + BLOCK], ends[start : first + BLOCK])
    low -= low % unit
    intervals = starts[first : first + BLOCK], ends[first : first + BLOCK]
    return Block(n, first, start - first, low, high - low, *intervals)


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
def weigh(part: Any, parameters: Any, spare: Any, no_flags: Any, lanes: Any) -> Any:
    """Turn products, all allowed, into weights. Return lse and entropy of a softmax.

    The parameters are the factor of a softmax, a as in `rows`, and the scale. The spare room has as many numbers.
    """
    if parameters[1] == 0:
        return softmax(part, no_flags, parameters[0], lanes)
    for j in range(part.size):
        part[j] *= parameters[2]
        spare[j] = part[j]
    sparse(spare[: part.size], no_flags, parameters[1], part)
    return np.float32(0), np.float32(0)


@loops
def interval(row: Any, begin: int, end: int) -> Any:
    """The part of a row between two addresses, and zeros beside it."""
    begin, end = (begin, end) if begin < end else (0, 0)
    row[:begin] = 0
    row[end:] = 0
    return row[begin:end]


@loops
def _spanned(b: Block, r: int) -> tuple[int, int]:
    """First key and last end of the intervals of a tile's rows, within the block."""
    first, end = reached(b.starts[r : r + ROWS], b.ends[r : r + ROWS])
    return max(first - b.low, 0), min(end - b.low, b.width)


@loops
def scored(query: int, size: int, keys: int, columns: int, b: Block, scores: int, step: int) -> None:
    """Multiply a block's queries with transposed keys, skipping keys no row needs."""
    for r in range(0, BLOCK, ROWS):
        first, end = _spanned(b, r)
        if first < end:
            rows, row = query + SIZE * r * size, scores + SIZE * (r * step + first)
            product((rows, size, 1), (keys + SIZE * first, columns), (row, step), ROWS, size, end - first, False)


@loops
def _largest(t: Forward, i: int, part: Any, entropy: float, lanes: Any, spare: Any, few: int, start: int) -> None:
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
def _add_four(first: Any, second: Any, third: Any, fourth: Any, target: Any) -> None:
    apart()
    for j in range(target.size):
        target[j] += (first[j] + second[j]) + (third[j] + fourth[j])


@loops
def _receive(scores: int, step: int, received: Any) -> None:
    """Add the weights of a block's queries to the sums of its keys."""
    for r in range(0, BLOCK, 4):
        first, second = floats(scores, r * step, received.size), floats(scores, (r + 1) * step, received.size)
        third, fourth = floats(scores, (r + 2) * step, received.size), floats(scores, (r + 3) * step, received.size)
        _add_four(first, second, third, fourth, received)


@loops
def weigh_block(t: Forward, b: Block, scores: int, step: int, spare: Any, few: int) -> None:
    """Turn a block's products into weights, and write statistics and draws."""
    x, many, no_flags = t.inputs, t.many, flags(t.inputs.infinite, 0, 0)
    parameters = floats(x.parameters, 0, 3)
    for r in range(BLOCK):
        row = floats(scores, r * step, step)
        if r < b.skipped:
            row[:] = 0
            continue
        start, i = b.starts[r], b.entry * x.length + b.first + r
        part = interval(row, start - b.low, b.ends[r] - b.low)
        lanes = lanes_of(part, spare[:ROOM]) if many > MOST_FEW else spare[:0]
        lse, entropy = weigh(part, parameters, spare, no_flags, lanes)
        if parameters[1] == 0:
            floats(t.lse, i, 1)[0] = lse
        elif t.measures_entropy:
            entropy = entropy_of(part)
        floats(t.entropy, i, 1)[0] = entropy
        if many:
            _largest(t, i, part, entropy, lanes, spare, few, start)
        if x.uniform:
            index = draw_of(part, np.float64(floats(x.uniform, i, 1)[0]))
            integers(t.drawn, i, 1)[0] = index + start if index >= 0 else index
            if index < 0 and part.size:  # weights that are NaN
                flags(x.infinite, 0, 1)[0] = 1
        elif not x.out and np.isnan(entropy):
            flags(x.infinite, 0, 1)[0] = 1
    if t.received:
        chunk = b.entry * ((x.length + x.chunk - 1) // x.chunk) + (b.first + b.skipped) // x.chunk
        _receive(scores, step, floats(t.received, chunk * x.width + b.low, b.width))


@loops
def multiplied(value: int, size: int, b: Block, weights: int, step: int, room: int) -> None:
    """Multiply a block's weights with values, skipping keys no row needs."""
    for r in range(0, BLOCK, ROWS):
        first, end = _spanned(b, r)
        target = room + SIZE * r * size
        if first < end:
            row, rows = weights + SIZE * (r * step + first), value + SIZE * (b.low + first) * size
            product((row, step, 1), (rows, size), (target, size), ROWS, end - first, size, False)
        else:
            floats(target, 0, ROWS * size)[:] = 0


@loops
def read_block(t: Forward, b: Block, value: int, scores: int, step: int, room: int) -> Any:
    """The outputs of a block: NaN if any is not finite."""
    x, size, total = t.inputs, t.inputs.out, np.float32(0)
    if size and not x.uniform:
        multiplied(value, size, b, scores, step, room)
    for r in range(b.skipped, BLOCK):
        i = b.entry * x.length + b.first + r
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
    offsets = integers(x.offsets, 3 * n, 3)
    return x.query + SIZE * offsets[0], x.key + SIZE * offsets[1], x.value + SIZE * offsets[2]


@inline
def intervals(x: InputTable, n: int) -> tuple[Any, Any]:
    return integers(x.starts, n * x.interval_stride, x.length), integers(x.ends, n * x.interval_stride, x.length)


@loops
def _chunk(t: Forward, n: int, begin: int, keys: int, scores: int, outputs: int, spare: Any, few: int) -> Any:
    """The outputs of a chunk of queries: NaN if any is not finite."""
    x, columns, step = t.inputs, stretch(t.inputs.chunk_keys), stretch(t.inputs.block_keys)
    size, end, total = x.features, min(x.length, begin + x.chunk), np.float32(0)
    query, key, value = addresses(x, n)
    starts, ends = intervals(x, n)
    lowest, highest = reached(starts[begin:end], ends[begin:end])
    turned(key, x.width, size, lowest, highest, keys, columns)
    for start in range(begin, end, BLOCK):
        b = block_of(x, n, start, starts, ends, 1)
        scored(query + SIZE * b.first * size, size, keys + SIZE * (b.low - lowest), columns, b, scores, step)
        weigh_block(t, b, scores, step, spare, few)
        total += read_block(t, b, value, scores, step, outputs)
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
    keys, step = stretch(t.inputs.chunk_keys) * t.inputs.features, stretch(t.inputs.block_keys)
    # an array is freed after its last use: a function that keeps an address alone also has the array as argument
    room = np.empty(keys + (BLOCK + 1) * step + BLOCK * t.inputs.out + ROOM + LINE, np.float32)
    _forward(t, room, np.empty(FEW_ROOM, np.int64))
