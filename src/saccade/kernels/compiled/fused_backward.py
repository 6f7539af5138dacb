"""Gradients of attention under intervals of keys.

Weights are computed again, block by block. The gradients of keys and values are summed in memory of the chunk's own,
and then added to those of all: chunks that have keys in common are not computed at the same time.
"""

from typing import Any, NamedTuple

import numpy as np

from saccade.kernels.compiled import blocks, flags, floats, fused, inline, kernel, loops
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
def differentiate_rows(x: InputTable, b: fused.Block, scores: int, grads: int, step: int, spare: Any) -> None:
    parameters, no_flags = floats(x.parameters, 0, 3), flags(x.infinite, 0, 0)
    for r in range(BLOCK):
        row, slope = floats(scores, r * step, step), floats(grads, r * step, step)
        if r < b.skipped:
            row[:], slope[:] = 0, 0
            continue
        begin, end = b.starts[r] - b.low, b.ends[r] - b.low
        part = fused.interval(row, begin, end)
        fused.weigh(part, parameters, spare, no_flags, spare[:0])
        _differentiate(part, fused.interval(slope, begin, end), parameters, spare[: part.size])


@loops
def add_drawn(
    x: InputTable, b: fused.Block, lowest: int, scores: int, step: int, spare: Any, upstream: int, values: int
) -> None:
    """Add the gradients of a block's outputs to those of the drawn values."""
    parameters, no_flags, size = floats(x.parameters, 0, 3), flags(x.infinite, 0, 0), x.out
    for r in range(b.skipped, BLOCK):
        part = fused.interval(floats(scores, r * step, step), b.starts[r] - b.low, b.ends[r] - b.low)
        fused.weigh(part, parameters, spare, no_flags, spare[:0])
        drawn = draw_of(part, np.float64(floats(x.uniform, b.entry * x.length + b.first + r, 1)[0]))
        if drawn >= 0:
            target = (drawn + b.starts[r] - lowest) * size
            added(floats(upstream, r * size, size), floats(values, target, size))
        elif part.size:  # weights that are NaN
            flags(x.infinite, 0, 1)[0] = 1


@loops
def _of_queries(t: Backward, b: fused.Block, key: int, grads: int, step: int, room: int) -> Any:
    """The gradients of a block's queries: NaN if any is not finite."""
    size, total = t.inputs.features, np.float32(0)
    fused.multiplied(key, size, b, grads, step, room)
    for r in range(b.skipped, BLOCK):
        target = floats(t.query_grad, (b.entry * t.inputs.length + b.first + r) * size, size)
        total += fused.moved(floats(room, r * size, size), target)
    return total


@loops
def emptied(address: int, size: int) -> None:
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


class Rooms(NamedTuple):
    """Addresses of the parts of a room ("T" is transposed)."""

    keys: int  # of a chunk (T)
    values: int  # of a chunk (T)
    key_sums: int  # sums of their gradients
    value_sums: int
    scores: int  # products of a block, then its weights
    grads: int  # of the products
    queries: int  # gradients of a block's queries
    spare: int  # for a row more


@loops
def _rooms(x: InputTable, room: Any) -> Rooms:
    size, out, summed = x.features, x.out, SIZE * _room_of_keys(x)
    columns, step = SIZE * fused.stretch(x.chunk_keys), SIZE * BLOCK * fused.stretch(x.block_keys)
    keys = fused.aligned(room)
    values = keys + columns * size
    key_sums = values + columns * out
    value_sums = key_sums + summed * size
    scores = value_sums + summed * out
    queries = scores + 2 * step
    spare = queries + SIZE * BLOCK * size
    return Rooms(keys, values, key_sums, value_sums, scores, scores + step, queries, spare)


@loops
def _block(t: Backward, b: fused.Block, lowest: int, query: int, key: int, upstream: int, rooms: Rooms) -> Any:
    """Add all gradients of a block of queries. Return NaN if a query is not finite."""
    x, step, total = t.inputs, fused.stretch(t.inputs.block_keys), np.float32(0)
    size, out, scores, grads = x.features, x.out, rooms.scores, rooms.grads
    columns, away, spare = fused.stretch(x.chunk_keys), b.low - lowest, floats(rooms.spare, 0, step)
    query, upstream = query + SIZE * b.first * size, upstream + SIZE * b.first * out
    fused.scored(query, size, rooms.keys + SIZE * away, columns, b, scores, step)
    if x.uniform:
        add_drawn(x, b, lowest, scores, step, spare, upstream, rooms.value_sums)
        return total
    if t.needs_scores:
        fused.scored(upstream, out, rooms.values + SIZE * away, columns, b, grads, step)
    differentiate_rows(x, b, scores, grads, step, spare)
    if t.needs_scores:
        total = _of_queries(t, b, key, grads, step, rooms.queries)
    if b.width and t.needs_scores:
        key_sums = rooms.key_sums + SIZE * away * size
        product((grads, 1, step), (query, size), (key_sums, size), b.width, BLOCK, size, True)
    if b.width and t.needs_values:
        value_sums = rooms.value_sums + SIZE * away * out
        product((scores, 1, step), (upstream, out), (value_sums, out), b.width, BLOCK, out, True)
    return total


@loops
def _chunk(t: Backward, n: int, begin: int, slot: int, rooms: Rooms) -> Any:
    """The gradients that a chunk of queries has a part in: NaN if any is not finite."""
    x = t.inputs
    length, width, size, out, summed = x.length, x.width, x.features, x.out, _room_of_keys(x)
    end, columns = min(length, begin + x.chunk), fused.stretch(x.chunk_keys)
    query, key, value = fused.addresses(x, n)
    starts, ends = fused.intervals(x, n)
    lowest, highest = fused.reached(starts[begin:end], ends[begin:end])
    fused.turned(key, width, size, lowest, highest, rooms.keys, columns)
    if t.needs_scores:
        fused.turned(value, width, out, lowest, highest, rooms.values, columns)
        emptied(rooms.key_sums, summed * size)
    emptied(rooms.value_sums, summed * out)
    total, upstream = np.float32(0), t.grad + SIZE * n * length * out
    for start in range(begin, end, BLOCK):
        total += _block(t, fused.block_of(x, n, start, starts, ends, 1), lowest, query, key, upstream, rooms)
    if t.needs_scores:
        total += add_sums(rooms.key_sums, lowest, highest, size, t.key_grad + SIZE * slot * width * size)
    if t.needs_values:
        total += add_sums(rooms.value_sums, lowest, highest, out, t.value_grad + SIZE * slot * width * out)
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
    x, step = t.inputs, fused.stretch(t.inputs.block_keys)
    rows = (fused.stretch(x.chunk_keys) + _room_of_keys(x)) * (x.features + x.out)
    _backward(t, np.empty(rows + (2 * BLOCK + 1) * step + BLOCK * x.features + fused.LINE, np.float32))
