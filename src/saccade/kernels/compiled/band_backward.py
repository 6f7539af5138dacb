"""Gradients of attention under intervals of keys. Tables begin as those of `band` do.

Weights are computed again, block by block. The gradients of keys and values are summed in memory of the chunk's own,
and added to those of all when it is done: chunks that have keys in common are not computed at the same time.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import flags, inline, integers, kernel, loops, numbers, take
from saccade.kernels.compiled.band import (
    BLOCK,
    LINE,
    aligned,
    interval,
    moved,
    reached,
    scored,
    stretch,
    turned,
    weigh,
)
from saccade.kernels.compiled.products import ROWS, SIZE, product
from saccade.kernels.compiled.rows import sum_of
from saccade.kernels.compiled.rows_backward import centered, dot, slopes_of
from saccade.kernels.compiled.statistics import draw_of

__all__ = ["backward"]


@loops
def _added(source: Any, target: Any) -> float:
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
def _rows(
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
def _draws(
    table: Any, n: int, first: int, skipped: int, low: int, lowest: int, starts: Any, ends: Any, scores: int, step: int,
    spare: Any, upstream: int, values: int,
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
            _added(numbers(upstream, r * size, size, kind), numbers(values, place * size, size, kind))


@loops
def _of_queries(
    table: Any, n: int, first: int, skipped: int, key: int, low: int, width: int, grads: int, step: int, room: int
) -> float:
    """The gradients of a block's queries; NaN where one is not finite."""
    size, total, kind = table[15], np.float32(0), np.float32(0)
    if width:
        product(grads, step, 1, key + SIZE * low * size, size, room, size, BLOCK, width, size, False)
    for r in range(skipped, BLOCK):
        target = numbers(table[21], (n * table[13] + first + r) * size, size, kind)
        if width:
            total += moved(numbers(room, r * size, size, kind), target)
        else:
            target[:] = 0
    return total


@loops
def _emptied(address: int, size: int) -> None:
    numbers(address, 0, size, np.float32(0))[:] = 0


@loops
def _sums(source: int, first: int, end: int, size: int, target: int) -> float:
    """What a chunk has found for its keys, added to that of all; NaN where a sum is not finite."""
    kind = np.float32(0)
    return _added(numbers(source, 0, (end - first) * size, kind), numbers(target, first * size, (end - first) * size, kind))


@inline
def _summed(table: Any) -> int:
    """Keys that a chunk has room for the gradients of: whole tiles are written."""
    return table[18] + ROWS


@loops
def _backward(table: Any, room: Any) -> None:
    length, size, out, chunk = table[13], table[15], table[16], table[17]
    chunks, columns, step, summed = (length + chunk - 1) // chunk, stretch(table[18]), stretch(table[19]), _summed(table)
    some, scoring, reading = (chunks - table[26] + 1) // 2, table[24], table[25]
    keys = aligned(room)
    values = keys + SIZE * columns * size
    key_sums = values + SIZE * columns * out
    value_sums = key_sums + SIZE * summed * size
    scores = value_sums + SIZE * summed * out
    grads = scores + SIZE * BLOCK * step
    queries = grads + SIZE * BLOCK * step
    spare = numbers(queries + SIZE * BLOCK * size, 0, step, np.float32(0))
    while True:
        block = take(table)
        if block >= table[1]:
            return
        n, begin = block // some, (block % some * 2 + table[26]) * chunk
        end, offsets = min(length, begin + chunk), integers(table[5] + 24 * n, 3)
        query, key, value = table[2] + SIZE * offsets[0], table[3] + SIZE * offsets[1], table[4] + SIZE * offsets[2]
        upstream = table[20] + SIZE * n * length * out
        starts, ends = integers(table[6] + 8 * n * table[8], length), integers(table[7] + 8 * n * table[8], length)
        lowest, highest = reached(starts[begin:end], ends[begin:end])
        turned(key, table[14], size, lowest, highest, keys, columns)
        if scoring:
            turned(value, table[14], out, lowest, highest, values, columns)
        _emptied(key_sums, summed * size if scoring else 0)
        _emptied(value_sums, summed * out)
        total = np.float32(0)
        for place in range(begin, end, BLOCK):
            first = min(place, length - BLOCK)
            low, high = reached(starts[place : first + BLOCK], ends[place : first + BLOCK])
            width, away, skipped = high - low, low - lowest, place - first
            own, their, up = starts[first : first + BLOCK], ends[first : first + BLOCK], upstream + SIZE * first * out
            if width:
                scored(table, query, first, keys + SIZE * away, columns, width, scores, step)
            if table[11]:
                _draws(table, n, first, skipped, low, lowest, own, their, scores, step, spare, up, value_sums)
                continue
            if scoring and width:
                product(up, out, 1, values + SIZE * away, columns, grads, step, BLOCK, out, width, False)
            _rows(table, skipped, low, own, their, scores, grads, step, spare)
            if scoring:
                total += _of_queries(table, n, first, skipped, key, low, width, grads, step, queries)
            if scoring and width:
                place_of_sums = key_sums + SIZE * away * size
                product(grads, 1, step, query + SIZE * first * size, size, place_of_sums, size, width, BLOCK, size, True)
            if reading and width:
                product(scores, 1, step, up, out, value_sums + SIZE * away * out, out, width, BLOCK, out, True)
        if scoring:
            total += _sums(key_sums, lowest, highest, size, table[22] + SIZE * n * table[14] * size)
        if reading:
            total += _sums(value_sums, lowest, highest, out, table[23] + SIZE * n * table[14] * out)
        if not total == 0:
            flags(table[12], 1)[0] = 1


@kernel
def backward(table: Any) -> None:
    """20 gradients of the output, 21 of the query, 22 of the key, 23 of the value: those of keys and values are added
    to; 24 whether those of query and key are wanted, 25 of the value; every second chunk from 26 on.
    """
    rows, step = (stretch(table[18]) + _summed(table)) * (table[15] + table[16]), stretch(table[19])
    _backward(table, np.empty(rows + (2 * BLOCK + 1) * step + BLOCK * table[15] + LINE, np.float32))
