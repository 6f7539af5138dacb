"""Gradients of attention under intervals of keys.

Weights are computed again, block by block. The gradients of keys and values are summed in memory of the chunk's own,
and then added to those of all: chunks that have keys in common are not computed at the same time.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, flags, floats, inline, kernel, loops
from saccade.kernels.compiled.fused import (
    LINE,
    addresses,
    aligned,
    interval,
    intervals,
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
from saccade.kernels.fused import Backward, InputTable
from saccade.kernels.intervals import BLOCK


@loops
def added(source: Any, target: Any) -> Any:
    """Add numbers to others: 0, or NaN if a sum is not finite."""
    total = np.float32(0)
    for j in range(source.size):
        target[j] += source[j]
        total += target[j] * np.float32(0)
    return total


@loops
def _differentiate(weights: Any, grads: Any, parameters: Any, slopes: Any) -> None:
    """The gradients of a row's weights become those of its products."""
    softmax = parameters[1] == 0
    if parameters[1] > 1:
        steep(weights, grads, parameters[1], parameters[2], slopes)
        for j in range(grads.size):
            grads[j] = slopes[j]
        return
    slopes_of(weights, parameters[1], slopes)
    total = sum_of(slopes)
    if total == 0:
        grads[:] = 0
        return
    mean = dot(slopes, grads)
    centered(grads, mean if softmax else mean / total, parameters[0] if softmax else parameters[2], slopes)
    for j in range(grads.size):
        grads[j] = slopes[j]


@loops
def differentiate_rows(
    x: InputTable, skipped: int, low: int, starts: Any, ends: Any, scores: int, grads: int, step: int, spare: Any
) -> None:
    """Turn a block's products into weights, and gradients of weights into slopes."""
    parameters, no_flags = floats(x.parameters, 0, 3), flags(x.infinite, 0, 0)
    for r in range(BLOCK):
        row, slope = floats(scores, r * step, step), floats(grads, r * step, step)
        if r < skipped:
            row[:], slope[:] = 0, 0
            continue
        begin, end = starts[r] - low, ends[r] - low
        part = interval(row, begin, end)
        weigh(part, parameters, spare, no_flags, spare[:0])
        _differentiate(part, interval(slope, begin, end), parameters, spare[: part.size])


@loops
def add_drawn(
    x: InputTable,
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
    """Add the gradients of a block's outputs to those of the drawn values."""
    parameters, no_flags, size = floats(x.parameters, 0, 3), flags(x.infinite, 0, 0), x.out
    for r in range(skipped, BLOCK):
        part = interval(floats(scores, r * step, step), starts[r] - low, ends[r] - low)
        weigh(part, parameters, spare, no_flags, spare[:0])
        drawn = draw_of(part, np.float64(floats(x.uniform, n * x.length + first + r, 1)[0]))
        if drawn >= 0:
            target = (drawn + starts[r] - lowest) * size
            added(floats(upstream, r * size, size), floats(values, target, size))
        elif part.size:  # weights that are NaN
            flags(x.infinite, 0, 1)[0] = 1


@loops
def _of_queries(
    t: Backward,
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
) -> Any:
    """The gradients of a block's queries: NaN if any is not finite."""
    size, total = t.inputs.features, np.float32(0)
    multiplied(key, size, low, width, starts, ends, grads, step, room)
    for r in range(skipped, BLOCK):
        target = floats(t.query_grad, (n * t.inputs.length + first + r) * size, size)
        total += moved(floats(room, r * size, size), target)
    return total


@loops
def emptied(address: int, size: int) -> None:
    """Zeros, so many."""
    floats(address, 0, size)[:] = 0


@loops
def add_sums(source: int, first: int, end: int, size: int, target: int) -> Any:
    """Add a chunk's sums to the gradients of keys. Return NaN if a sum is not finite."""
    count = (end - first) * size
    return added(floats(source, 0, count), floats(target, first * size, count))


@inline
def _room_of_keys(x: InputTable) -> int:
    """Keys that a chunk has room for the gradients of: whole tiles are written."""
    return x.chunk_keys + ROWS


@loops
def _rooms(x: InputTable, room: Any) -> tuple[int, ...]:
    """Addresses in a room, of the following parts in order ("T" is transposed).

    A chunk's keys and values (T), the sums of their gradients. A block's weights, the gradients of its products and of
    its queries. Room for a row more.
    """
    size, out, summed = x.features, x.out, SIZE * _room_of_keys(x)
    columns, step = SIZE * stretch(x.chunk_keys), SIZE * BLOCK * stretch(x.block_keys)
    values = aligned(room) + columns * size
    key_sums = values + columns * out
    value_sums = key_sums + summed * size
    scores = value_sums + summed * out
    queries = scores + 2 * step
    return aligned(room), values, key_sums, value_sums, scores, scores + step, queries, queries + SIZE * BLOCK * size


@loops
def _products(
    t: Backward,
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
    """Weights of a block of queries, and the gradients of its products if needed."""
    x, columns, step = t.inputs, stretch(t.inputs.chunk_keys), stretch(t.inputs.block_keys)
    scored(query, x.features, rooms[0] + SIZE * away, columns, low, width, starts, ends, rooms[4], step)
    if t.needs_scores:
        scored(upstream, x.out, rooms[1] + SIZE * away, columns, low, width, starts, ends, rooms[5], step)
    spare = floats(rooms[7], 0, step)
    differentiate_rows(x, skipped, low, starts, ends, rooms[4], rooms[5], step, spare)


@loops
def _added_to_keys(t: Backward, query: int, upstream: int, away: int, width: int, rooms: tuple[int, ...]) -> None:
    """Add the part of a block of queries to the gradients of keys and values."""
    size, out, step = t.inputs.features, t.inputs.out, stretch(t.inputs.block_keys)
    if t.needs_scores:
        product(rooms[5], 1, step, query, size, rooms[2] + SIZE * away * size, size, width, BLOCK, size, True)
    if t.needs_values:
        product(rooms[4], 1, step, upstream, out, rooms[3] + SIZE * away * out, out, width, BLOCK, out, True)


@loops
def _block(
    t: Backward,
    n: int,
    start: int,
    starts: Any,
    ends: Any,
    lowest: int,
    query: int,
    key: int,
    upstream: int,
    rooms: tuple[int, ...],
) -> Any:
    """Add all gradients of a block of queries. Return NaN if a query is not finite."""
    x, size = t.inputs, t.inputs.features
    first, step = min(start, x.length - BLOCK), stretch(x.block_keys)
    low, high = reached(starts[start : first + BLOCK], ends[start : first + BLOCK])
    width, away, skipped = high - low, low - lowest, start - first
    begins, stops = starts[first : first + BLOCK], ends[first : first + BLOCK]
    query, upstream = query + SIZE * first * size, upstream + SIZE * first * x.out
    if x.uniform:
        columns, spare = stretch(x.chunk_keys), floats(rooms[7], 0, step)
        scored(query, size, rooms[0] + SIZE * away, columns, low, width, begins, stops, rooms[4], step)
        add_drawn(x, n, first, skipped, low, lowest, begins, stops, rooms[4], step, spare, upstream, rooms[3])
        return np.float32(0)
    _products(t, query, upstream, away, width, skipped, begins, stops, low, rooms)
    total = np.float32(0)
    if t.needs_scores:
        total = _of_queries(t, n, first, skipped, key, low, width, begins, stops, rooms[5], step, rooms[6])
    if width:
        _added_to_keys(t, query, upstream, away, width, rooms)
    return total


@loops
def _chunk(t: Backward, n: int, begin: int, slot: int, rooms: tuple[int, ...]) -> Any:
    """The gradients that a chunk of queries has a part in: NaN if any is not finite."""
    x = t.inputs
    length, width, size, out, summed = x.length, x.width, x.features, x.out, _room_of_keys(x)
    end, columns = min(length, begin + x.chunk), stretch(x.chunk_keys)
    query, key, value = addresses(x, n)
    starts, ends = intervals(x, n)
    lowest, highest = reached(starts[begin:end], ends[begin:end])
    turned(key, width, size, lowest, highest, rooms[0], columns)
    if t.needs_scores:
        turned(value, width, out, lowest, highest, rooms[1], columns)
        emptied(rooms[2], summed * size)
    emptied(rooms[3], summed * out)
    total, upstream = np.float32(0), t.grad + SIZE * n * length * out
    for start in range(begin, end, BLOCK):
        total += _block(t, n, start, starts, ends, lowest, query, key, upstream, rooms)
    if t.needs_scores:
        total += add_sums(rooms[2], lowest, highest, size, t.key_grad + SIZE * slot * width * size)
    if t.needs_values:
        total += add_sums(rooms[3], lowest, highest, out, t.value_grad + SIZE * slot * width * out)
    return total


@loops
def place_of(t: Backward, block: int) -> tuple[int, int, int]:
    """Entry, first query and slot for sums of a block of work."""
    chunks = (t.inputs.length + t.inputs.chunk - 1) // t.inputs.chunk
    count = (chunks - t.first + t.step - 1) // t.step
    n, chunk = block // count, block % count * t.step + t.first
    return n, chunk * t.inputs.chunk, n * t.slots + chunk % t.slots


@loops
def _backward(t: Backward, room: Any) -> None:
    rooms = _rooms(t.inputs, room)
    for block in blocks(t):
        n, begin, slot = place_of(t, block)
        if _chunk(t, n, begin, slot, rooms) != 0:
            flags(t.inputs.infinite, 0, 1)[0] = 1


@kernel
def backward(t: Backward) -> None:
    """Gradients of query, key and value."""
    x, step = t.inputs, stretch(t.inputs.block_keys)
    rows = (stretch(x.chunk_keys) + _room_of_keys(x)) * (x.features + x.out)
    _backward(t, np.empty(rows + (2 * BLOCK + 1) * step + BLOCK * x.features + LINE, np.float32))
