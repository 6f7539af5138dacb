"""Gradients of attention under intervals of keys. Tables begin as those of `fused` do.

Weights are computed again, block by block. The gradients of keys and values are summed in memory of the chunk's own,
and added to those of all when it is done: chunks that have keys in common are not computed at the same time.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import flags, inline, integers, kernel, loops, numbers, take
from saccade.kernels.compiled.fused import (
    BLOCK,
    LINE,
    aligned,
    interval,
    moved,
    multiplied,
    reached,
    scored,
    stretch,
    turned,
    weigh,
)
from saccade.kernels.compiled.products import ROWS, SIZE, product
from saccade.kernels.compiled.rows import sum_of
from saccade.kernels.compiled.rows_backward import centered, dot, slopes_of, steep
from saccade.kernels.compiled.statistics import draw_of

__all__ = ["add_drawn", "add_sums", "backward", "differentiate_rows", "emptied", "place_of"]


@loops
def added(source: Any, target: Any) -> float:
    """Add numbers to others; 0, or NaN where a sum is not finite."""
    total = np.float32(0)
    for j in range(source.size):
        target[j] += source[j]
        total += target[j] * np.float32(0)
    return total


@loops
def _differentiate(weights: Any, grads: Any, given: Any, slopes: Any) -> None:
    """The gradients of a row's weights become those of its products."""
    softmax = given[1] == 0
    if given[1] > 1:
        steep(weights, grads, given[1], given[2], slopes)
        for j in range(grads.size):
            grads[j] = slopes[j]
        return
    slopes_of(weights, given[1], slopes)
    total = sum_of(slopes)
    if total == 0:
        grads[:] = 0
        return
    mean = dot(slopes, grads)
    centered(grads, mean if softmax else mean / total, given[0] if softmax else given[2], slopes)
    for j in range(grads.size):
        grads[j] = slopes[j]


@loops
def differentiate_rows(
    table: Any, skipped: int, low: int, starts: Any, ends: Any, scores: int, grads: int, step: int, spare: Any
) -> None:
    """A block's products become weights, and the gradients of weights those of products; zeros beside the intervals."""
    given, none, kind = numbers(table[9], 0, 3, np.float32(0)), flags(table[12], 0), np.float32(0)
    for r in range(BLOCK):
        row, slope = numbers(scores, r * step, step, kind), numbers(grads, r * step, step, kind)
        if r < skipped:
            row[:], slope[:] = 0, 0
            continue
        begin, end = starts[r] - low, ends[r] - low
        part = interval(row, begin, end)
        weigh(part, given, spare, none, spare[:0])
        _differentiate(part, interval(slope, begin, end), given, spare[: part.size])


@loops
def add_drawn(
    table: Any,
    n: int,
    first: int,
    skipped: int,
    low: int,
    lowest: int,
    starts: Any,
    ends: Any,
    scores: int,
    step: int,
    spare: Any,
    upstream: int,
    values: int,
) -> None:
    """The gradients of a block's outputs are added to those of the values that were drawn."""
    given, none, kind, size = numbers(table[9], 0, 3, np.float32(0)), flags(table[12], 0), np.float32(0), table[16]
    for r in range(skipped, BLOCK):
        part = interval(numbers(scores, r * step, step, kind), starts[r] - low, ends[r] - low)
        weigh(part, given, spare, none, spare[:0])
        i = n * table[13] + first + r
        drawn = draw_of(part, np.float64(numbers(table[10], i, 1, kind)[0]))
        if drawn >= 0:
            place = drawn + starts[r] - lowest
            added(numbers(upstream, r * size, size, kind), numbers(values, place * size, size, kind))
        elif part.size:  # weights that are NaN
            flags(table[12], 1)[0] = 1


@loops
def _of_queries(
    table: Any,
    n: int,
    first: int,
    skipped: int,
    key: int,
    low: int,
    width: int,
    starts: Any,
    ends: Any,
    grads: int,
    step: int,
    room: int,
) -> float:
    """The gradients of a block's queries; NaN where one is not finite."""
    size, total, kind = table[15], np.float32(0), np.float32(0)
    multiplied(key, size, low, width, starts, ends, grads, step, room)
    for r in range(skipped, BLOCK):
        target = numbers(table[21], (n * table[13] + first + r) * size, size, kind)
        total += moved(numbers(room, r * size, size, kind), target)
    return total


@loops
def emptied(address: int, size: int) -> None:
    """Zeros, so many."""
    numbers(address, 0, size, np.float32(0))[:] = 0


@loops
def add_sums(source: int, first: int, end: int, size: int, target: int) -> float:
    """What a chunk has found for its keys, added to that of all; NaN where a sum is not finite."""
    kind = np.float32(0)
    return added(
        numbers(source, 0, (end - first) * size, kind), numbers(target, first * size, (end - first) * size, kind)
    )


@inline
def _room_of_keys(table: Any) -> int:
    """Keys that a chunk has room for the gradients of: whole tiles are written."""
    return table[18] + ROWS


@loops
def _rooms(table: Any, room: Any) -> tuple[int, ...]:
    """Where, in a room, a chunk has its keys and values, turned; the sums of their gradients; a block's weights, the
    gradients of its products and of its queries; room for a row more.
    """
    size, out, summed = table[15], table[16], SIZE * _room_of_keys(table)
    columns, step = SIZE * stretch(table[18]), SIZE * BLOCK * stretch(table[19])
    values = aligned(room) + columns * size
    key_sums = values + columns * out
    value_sums = key_sums + summed * size
    scores = value_sums + summed * out
    queries = scores + 2 * step
    return aligned(room), values, key_sums, value_sums, scores, scores + step, queries, queries + SIZE * BLOCK * size


@loops
def _products(
    table: Any,
    query: int,
    upstream: int,
    away: int,
    width: int,
    skipped: int,
    starts: Any,
    ends: Any,
    low: int,
    rooms: tuple[int, ...],
) -> None:
    """The weights of a block of queries, and the gradients of its products where they are wanted."""
    columns, step, out = stretch(table[18]), stretch(table[19]), table[16]
    scored(query, table[15], rooms[0] + SIZE * away, columns, low, width, starts, ends, rooms[4], step)
    if table[24]:
        scored(upstream, out, rooms[1] + SIZE * away, columns, low, width, starts, ends, rooms[5], step)
    spare = numbers(rooms[7], 0, step, np.float32(0))
    differentiate_rows(table, skipped, low, starts, ends, rooms[4], rooms[5], step, spare)


@loops
def _added_to_keys(table: Any, query: int, upstream: int, away: int, width: int, rooms: tuple[int, ...]) -> None:
    """What a block of queries adds to the gradients of keys and values."""
    size, out, step = table[15], table[16], stretch(table[19])
    if table[24]:
        product(rooms[5], 1, step, query, size, rooms[2] + SIZE * away * size, size, width, BLOCK, size, True)
    if table[25]:
        product(rooms[4], 1, step, upstream, out, rooms[3] + SIZE * away * out, out, width, BLOCK, out, True)


@loops
def _block(
    table: Any,
    n: int,
    place: int,
    starts: Any,
    ends: Any,
    lowest: int,
    query: int,
    key: int,
    upstream: int,
    rooms: tuple[int, ...],
) -> float:
    """The gradients that a block of queries has a part in; NaN where one of the queries is not finite."""
    first, step = min(place, table[13] - BLOCK), stretch(table[19])
    low, high = reached(starts[place : first + BLOCK], ends[place : first + BLOCK])
    width, away, skipped = high - low, low - lowest, place - first
    own, their = starts[first : first + BLOCK], ends[first : first + BLOCK]
    query, upstream = query + SIZE * first * table[15], upstream + SIZE * first * table[16]
    if table[11]:
        scored(query, table[15], rooms[0] + SIZE * away, stretch(table[18]), low, width, own, their, rooms[4], step)
        spare = numbers(rooms[7], 0, step, np.float32(0))
        add_drawn(table, n, first, skipped, low, lowest, own, their, rooms[4], step, spare, upstream, rooms[3])
        return np.float32(0)
    _products(table, query, upstream, away, width, skipped, own, their, low, rooms)
    total = np.float32(0)
    if table[24]:
        total = _of_queries(table, n, first, skipped, key, low, width, own, their, rooms[5], step, rooms[6])
    if width:
        _added_to_keys(table, query, upstream, away, width, rooms)
    return total


@loops
def _chunk(table: Any, n: int, begin: int, slot: int, rooms: tuple[int, ...]) -> float:
    """The gradients that a chunk of queries has a part in; NaN where one is not finite."""
    length, width, size, out, summed = table[13], table[14], table[15], table[16], _room_of_keys(table)
    end, columns, offsets = min(length, begin + table[17]), stretch(table[18]), integers(table[5] + 24 * n, 3)
    query, key, value = table[2] + SIZE * offsets[0], table[3] + SIZE * offsets[1], table[4] + SIZE * offsets[2]
    starts, ends = integers(table[6] + 8 * n * table[8], length), integers(table[7] + 8 * n * table[8], length)
    lowest, highest = reached(starts[begin:end], ends[begin:end])
    turned(key, width, size, lowest, highest, rooms[0], columns)
    if table[24]:
        turned(value, width, out, lowest, highest, rooms[1], columns)
        emptied(rooms[2], summed * size)
    emptied(rooms[3], summed * out)
    total, upstream = np.float32(0), table[20] + SIZE * n * length * out
    for place in range(begin, end, BLOCK):
        total += _block(table, n, place, starts, ends, lowest, query, key, upstream, rooms)
    if table[24]:
        total += add_sums(rooms[2], lowest, highest, size, table[22] + SIZE * slot * width * size)
    if table[25]:
        total += add_sums(rooms[3], lowest, highest, out, table[23] + SIZE * slot * width * out)
    return total


@loops
def place_of(table: Any, block: int, first: int) -> tuple[int, int, int]:
    """Of a block of work the entry, its first query, and where it adds to gradients of keys and values; `first` is the
    first of the chunks that are done.
    """
    chunks = (table[13] + table[17] - 1) // table[17]
    some = (chunks - first + table[27] - 1) // table[27]
    n, chunk = block // some, block % some * table[27] + first
    return n, chunk * table[17], n * table[26] + chunk % table[26]


@loops
def _backward(table: Any, room: Any) -> None:
    rooms = _rooms(table, room)
    while True:
        block = take(table)
        if block >= table[1]:
            return
        n, begin, slot = place_of(table, block, table[28])
        if _chunk(table, n, begin, slot, rooms) != 0:
            flags(table[12], 1)[0] = 1


@kernel
def backward(table: Any) -> None:
    """20 gradients of the output, 21 of the query, 22 of the key, 23 of the value: those of keys and values are added
    to; 24 whether those of query and key are wanted, 25 of the value; 26 how many sums of those of keys and values an
    entry has, 27 of how many chunks one is done, 28 the first.
    """
    rows, step = (stretch(table[18]) + _room_of_keys(table)) * (table[15] + table[16]), stretch(table[19])
    _backward(table, np.empty(rows + (2 * BLOCK + 1) * step + BLOCK * table[15] + LINE, np.float32))
