"""Rows to columns and back: what `lanes` reads, and the gradients that it writes."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import (
    F,
    apart,
    elementary,
    exp,
    kernel,
    loops,
    matrix,
    numbers,
    take,
    whole_vectors,
)
from saccade.kernels.compiled.turning import SIDE, turn

STRIP = 64
"""Rows a block."""

CHUNK = 256
"""Features that are looked at together: as many numbers of 16 rows stay in the nearest cache."""


@loops
def _most_double(x: Any) -> float:
    bits, most = x.view(np.int64), np.int64(0)
    for i in range(bits.size):
        size = bits[i] & np.int64(0x7FFFFFFFFFFFFFFF)
        most = size if size > most else most
    return np.nan if most >= np.int64(0x7FF0000000000000) else np.int64(most).view(np.float64)


@elementary(_most_double)
def _most(x: Any) -> float:
    """The largest |x| of a row, NaN where some x is not finite: by the bits, which LLVM compares many at once."""
    bits, most = x.view(np.int32), np.int32(0)
    for i in range(bits.size):
        size = np.int32(bits[i] & np.int32(0x7FFFFFFF))
        most = size if size > most else most
    return F(np.nan) if most >= np.int32(0x7F800000) else np.int32(most).view(np.float32)


@loops
def _exponentials(row: Any, found: Any) -> None:
    """e^2x."""
    whole_vectors()
    apart()
    two = row.dtype.type(2)
    for i in range(row.size):
        found[i] = exp(two * row[i])


@loops
def _strip(rows: Any, powers: Any, given: bool, columns: Any, size: int, first: int, last: int, room: Any) -> None:
    """Rows from the first to before the last, to columns; in the room, 16 rows of exponentials."""
    whole = columns.shape[0] - 1
    for start in range(first, last, SIDE):
        stop = min(last, start + SIDE)
        for i in range(start, stop):
            columns[whole, i] = _most(rows[i])
        if given:
            turn(powers, start, 0, columns, 0, start, stop - start, size)
            continue
        for d in range(0, size, CHUNK):
            width = min(size, d + CHUNK) - d
            for i in range(start, stop):
                _exponentials(rows[i, d : d + width], room[i - start])
            turn(room, 0, 0, columns, d, start, stop - start, width)
    columns[size:whole, first:last] = columns.dtype.type(0)


@loops
def _part(
    block: int, source: int, known: int, given: bool, found: int, length: int, width: int, room: Any, sizes: Any
) -> None:
    """A strip of one of the entries at an address; of `length` rows, to `width` columns."""
    (size, whole), kind = sizes, room.dtype.type(0)
    strips = (length + STRIP - 1) // STRIP
    n, first = block // strips, block % strips * STRIP
    rows, powers = matrix(source, n, length, size, kind), matrix(known, n, length, size, kind)
    columns = matrix(found, n, whole + 1, width, kind)
    _strip(rows, powers, given, columns, size, first, min(length, first + STRIP), room)
    if first + STRIP >= length:
        columns[:, length:] = columns.dtype.type(0)


@loops
def _pack(table: Any, kind: Any) -> None:
    """2 numbers x `(N, length, features)`, 3 their e^2x or anything, 4 packed `(N, whole + 1, columns)`; [5 length, 6
    features, 7 whole, 8 whether 3 is there, 9 columns, those beyond the length zeros].
    """
    room, sizes = np.empty((SIDE, CHUNK), numbers(table[2], 0, 1, kind).dtype), (table[6], table[7])
    while True:
        block = take(table)
        if block >= table[1]:
            return
        _part(block, table[2], table[3], table[8] != 0, table[4], table[5], table[9], room, sizes)


@kernel
def pack(table: Any) -> None:
    """Rows of float32 numbers to columns of e^2x and their reach: see `_pack`."""
    _pack(table, np.float32(0))


@kernel
def pack_double(table: Any) -> None:
    """The same of float64."""
    _pack(table, np.float64(0))


@loops
def _pack_both(table: Any, kind: Any) -> None:
    """Keys and queries at once, of as many entries: 2 keys, 3 packed, 4 queries, 5 packed; [6 blocks of keys, which
    come first, 7 keys, 8 their columns, 9 queries, 10 their columns, 11 features, 12 whole].
    """
    room, sizes = np.empty((SIDE, CHUNK), numbers(table[2], 0, 1, kind).dtype), (table[11], table[12])
    while True:
        block = take(table)
        if block >= table[1]:
            return
        if block < table[6]:
            _part(block, table[2], table[2], False, table[3], table[7], table[8], room, sizes)
        else:
            _part(block - table[6], table[4], table[4], False, table[5], table[9], table[10], room, sizes)


@kernel
def pack_both(table: Any) -> None:
    """Rows of float32 keys and queries to columns: see `_pack_both`."""
    _pack_both(table, np.float32(0))


@kernel
def pack_both_double(table: Any) -> None:
    """The same of float64."""
    _pack_both(table, np.float64(0))


@loops
def _scale(row: Any, v: Any) -> None:
    apart()
    four = v.dtype.type(4)
    for d in range(row.size):
        row[d] *= four * v[d]


@loops
def _returned(block: int, found: int, rows: int, length: int, width: int, sizes: Any, v: Any) -> None:
    """A strip of one of the entries at an address, back to rows, times 4 v."""
    size, whole = sizes
    kind, strips = v.dtype.type(0), (length + STRIP - 1) // STRIP
    n, first = block // strips, block % strips * STRIP
    last = min(length, first + STRIP)
    target, columns = matrix(rows, n, length, size, kind), matrix(found, n, whole, width, kind)
    for d in range(0, size, SIDE):
        turn(columns, d, first, target, first, d, min(SIDE, size - d), last - first)
    for i in range(first, last):
        _scale(target[i], v)


@loops
def _of_v(sums: Any, parts: Any, found: Any) -> None:
    """What a batch entry adds to the gradient of its v: `parts` has [sum g r, sum g tanh] a feature."""
    total, two = sums.dtype.type(0), sums.dtype.type(2)
    for t in range(sums.size):
        total += sums[t]
    for d in range(found.size):
        found[d] += total - two * parts[2 * d] + parts[2 * d + 1]


@loops
def _unpack(table: Any, kind: Any) -> None:
    """Gradients of keys, queries and v. 2 keys' columns `(N, whole, columns)`, 3 their rows `(N, length, features)`, 4
    and 5 those of queries, 6 v `(N or 1, features)`, 7 the sums of a tile, 8 v's parts `(N, whole, 2)`, 9 the gradient
    of v `(N or 1, features)`; [10 blocks of keys, which come first, 11 keys, 12 their columns, 13 queries, 14 their
    columns, 15 features, 16 whole, 17 from one entry's v to the next's, 18 entries, 19 tiles an entry]. The last block
    is v's.
    """
    size, step, sizes = table[15], table[17], (table[15], table[16])
    whole, of_keys = table[16], table[10]
    while True:
        block = take(table)
        if block >= table[1]:
            return
        if block < of_keys:
            n = block // ((table[11] + STRIP - 1) // STRIP)
            v = numbers(table[6], n * step, size, kind)
            _returned(block, table[2], table[3], table[11], table[12], sizes, v)
        elif block < table[1] - 1:
            n = (block - of_keys) // ((table[13] + STRIP - 1) // STRIP)
            v = numbers(table[6], n * step, size, kind)
            _returned(block - of_keys, table[4], table[5], table[13], table[14], sizes, v)
        else:
            numbers(table[9], 0, size if step == 0 else step * table[18], kind)[:] = 0
            for n in range(table[18]):
                sums = numbers(table[7], n * table[19], table[19], kind)
                _of_v(sums, numbers(table[8], 2 * n * whole, 2 * whole, kind), numbers(table[9], n * step, size, kind))


@kernel
def unpack(table: Any) -> None:
    """Gradients of float32 numbers as they are given back: see `_unpack`."""
    _unpack(table, np.float32(0))


@kernel
def unpack_double(table: Any) -> None:
    """The same of float64."""
    _unpack(table, np.float64(0))
