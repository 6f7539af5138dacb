"""Packing of rows to columns for `lanes`, and of gradients back to rows."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import apart, blocks, elementary, kernel, loops, matrix, numbers, whole_vectors
from saccade.kernels.compiled.functions import exp
from saccade.kernels.compiled.turning import SIDE, turn
from saccade.kernels.packing import COLUMNS, Pack, Side, Unpack

CHUNK = 256
"""Features of a strip: as many numbers of 16 rows stay in the nearest cache."""


def _magnitude_by(integer: Any, floating: Any, positive: int, infinite: int) -> Any:
    def largest_magnitude(x: Any) -> Any:
        bits, largest = x.view(integer), integer(0)
        for i in range(bits.size):
            size = integer(bits[i] & integer(positive))
            largest = size if size > largest else largest
        return floating(np.nan) if largest >= integer(infinite) else integer(largest).view(floating)

    return largest_magnitude


_magnitude_double = loops(_magnitude_by(np.int64, np.float64, 0x7FFFFFFFFFFFFFFF, 0x7FF0000000000000))
_largest_magnitude = elementary(_magnitude_double)(_magnitude_by(np.int32, np.float32, 0x7FFFFFFF, 0x7F800000))
"""The largest |x| of a row, NaN unless all are finite. LLVM vectorizes the bits."""


@loops
def _exponentials(row: Any, powers: Any) -> None:
    whole_vectors()
    apart()
    two = row.dtype.type(2)
    for i in range(row.size):
        powers[i] = exp(two * row[i])


@loops
def _strip(rows: Any, powers: Any, has_powers: bool, columns: Any, size: int, first: int, last: int, room: Any) -> None:
    """Write some rows to columns. The room holds 16 rows of exponentials."""
    whole = columns.shape[0] - 1
    for start in range(first, last, SIDE):
        stop = min(last, start + SIDE)
        for i in range(start, stop):
            columns[whole, i] = _largest_magnitude(rows[i])
        if has_powers:
            turn(powers, start, 0, columns, 0, start, stop - start, size)
            continue
        for d in range(0, size, CHUNK):
            width = min(size, d + CHUNK) - d
            for i in range(start, stop):
                _exponentials(rows[i, d : d + width], room[i - start])
            turn(room, 0, 0, columns, d, start, stop - start, width)
    columns[size:whole, first:last] = columns.dtype.type(0)


@loops
def _part(block: int, side: Side, powers: int, sizes: Any, room: Any, kind: Any) -> None:
    """A strip of one of the entries to columns. Powers may be missing, 0."""
    (size, whole), length = sizes, side.length
    strips = (length + COLUMNS - 1) // COLUMNS
    n, first = block // strips, block % strips * COLUMNS
    rows, exponentials = matrix(side.rows, n, length, size, kind), matrix(powers, n, length, size, kind)
    columns = matrix(side.columns, n, whole + 1, side.width, kind)
    _strip(rows, exponentials, powers != 0, columns, size, first, min(length, first + COLUMNS), room)
    if first + COLUMNS >= length:
        columns[:, length:] = columns.dtype.type(0)


@kernel
def pack(t: Pack, kind: Any) -> None:
    """Rows of keys and queries to columns of e^2x and their reach."""
    room, sizes = np.empty((SIDE, CHUNK), numbers(t.keys.rows, 0, 1, kind).dtype), (t.features, t.whole)
    for block in blocks(t):
        if block < t.key_blocks:
            _part(block, t.keys, t.powers, sizes, room, kind)
        else:
            _part(block - t.key_blocks, t.queries, 0, sizes, room, kind)


@loops
def _scale(row: Any, v: Any) -> None:
    apart()
    four = v.dtype.type(4)
    for d in range(row.size):
        row[d] *= four * v[d]


@loops
def _returned(block: int, side: Side, t: Unpack, kind: Any) -> None:
    """A strip of one of the entries back to rows, times 4 v."""
    size, length = t.features, side.length
    strips = (length + COLUMNS - 1) // COLUMNS
    n, first = block // strips, block % strips * COLUMNS
    last, v = min(length, first + COLUMNS), numbers(t.v, n * t.v_stride, size, kind)
    rows, columns = matrix(side.rows, n, length, size, kind), matrix(side.columns, n, t.whole, side.width, kind)
    for d in range(0, size, SIDE):
        turn(columns, d, first, rows, first, d, min(SIDE, size - d), last - first)
    for i in range(first, last):
        _scale(rows[i], v)


@loops
def _of_v(sums: Any, parts: Any, v_grad: Any) -> None:
    """Add an entry's part, [sum g r, sum g tanh] of features, to the gradient of v."""
    total, two = sums.dtype.type(0), sums.dtype.type(2)
    for t in range(sums.size):
        total += sums[t]
    for d in range(v_grad.size):
        v_grad[d] += total - two * parts[2 * d] + parts[2 * d + 1]


@kernel
def unpack(t: Unpack, kind: Any) -> None:
    """Gradients of keys, queries and v. The last block is v's."""
    size = t.features
    for block in blocks(t):
        if block < t.key_blocks:
            _returned(block, t.keys, t, kind)
        elif block < t.key_blocks + t.query_blocks:
            _returned(block - t.key_blocks, t.queries, t, kind)
        else:
            numbers(t.v_grad, 0, size if t.v_stride == 0 else t.v_stride * t.entries, kind)[:] = 0
            for n in range(t.entries):
                sums = numbers(t.sums, n * t.tiles, t.tiles, kind)
                parts = numbers(t.v_parts, 2 * n * t.whole, 2 * t.whole, kind)
                _of_v(sums, parts, numbers(t.v_grad, n * t.v_stride, size, kind))
