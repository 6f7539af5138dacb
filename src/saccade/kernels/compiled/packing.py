"""Rows to columns and back: what `lanes` reads, and the gradients that it writes."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import apart, exp, kernel, loops, matrix, numbers, take, whole_vectors

STRIP = 64
"""Rows a block."""

CHUNK = 16
"""Features that are moved together, so that what is written is still in the cache when it is written to again."""


@loops
def _turn(rows: Any, columns: Any) -> None:
    """A part of some rows into as many columns."""
    for i in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            columns[d, i] = rows[i, d]


@loops
def _reached(column: Any, reach: Any) -> None:
    """The largest |x| so far; NaN from the first that is not finite on, since x - x is not zero then."""
    for i in range(column.size):
        x = abs(column[i])
        most = x if x > reach[i] else reach[i]
        reach[i] = most + (x - x)


@loops
def _exponentials(column: Any, reach: Any) -> None:
    """The same, and x becomes e^2x."""
    whole_vectors()
    apart()
    two = column.dtype.type(2)
    for i in range(column.size):
        x = column[i]
        most = abs(x) if abs(x) > reach[i] else reach[i]
        reach[i] = most + (x - x)
        column[i] = exp(two * x)


@loops
def _strip(rows: Any, powers: Any, given: bool, columns: Any, size: int, first: int, last: int) -> None:
    whole, zero = columns.shape[0] - 1, columns.dtype.type(0)
    reach = columns[whole, first:last]
    for i in range(reach.size):
        reach[i] = zero
    for start in range(0, size, CHUNK):
        stop = min(size, start + CHUNK)
        _turn(rows[first:last, start:stop], columns[start:stop, first:last])
        for d in range(start, stop):
            if given:
                _reached(columns[d, first:last], reach)
            else:
                _exponentials(columns[d, first:last], reach)
        if given:
            _turn(powers[first:last, start:stop], columns[start:stop, first:last])
    columns[size:whole, first:last] = zero


@loops
def _pack(table: Any, kind: Any) -> None:
    """2 numbers x `(N, length, features)`, 3 their e^2x or anything, 4 packed `(N, whole + 1, columns)`; [5 length, 6
    features, 7 whole, 8 whether 3 is there, 9 columns, those beyond the length zeros].
    """
    length, size, whole = table[5], table[6], table[7]
    strips = (length + STRIP - 1) // STRIP
    while True:
        block = take(table)
        if block >= table[1]:
            return
        n, first = block // strips, block % strips * STRIP
        rows, powers = matrix(table[2], n, length, size, kind), matrix(table[3], n, length, size, kind)
        columns = matrix(table[4], n, whole + 1, table[9], kind)
        _strip(rows, powers, table[8] != 0, columns, size, first, min(length, first + STRIP))
        if first + STRIP >= length:
            columns[:, length:] = columns.dtype.type(0)


@kernel
def pack(table: Any) -> None:
    """Rows of float32 numbers to columns of e^2x and their reach: see `_pack`."""
    _pack(table, np.float32(0))


@kernel
def pack_double(table: Any) -> None:
    """The same of float64."""
    _pack(table, np.float64(0))


@loops
def _scaled(rows: Any, columns: Any, factors: Any) -> None:
    for i in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            rows[i, d] = columns[d, i] * factors[d]


@loops
def _unpack(table: Any, kind: Any) -> None:
    """2 columns `(N, whole, columns)`, 3 factors `(N or 1, features)`, 4 rows `(N, length, features)`; [5 length, 6
    features, 7 whole, 8 from one entry's factors to the next's, 9 columns, at least the length].
    """
    length, size, whole = table[5], table[6], table[7]
    strips = (length + STRIP - 1) // STRIP
    while True:
        block = take(table)
        if block >= table[1]:
            return
        n, first = block // strips, block % strips * STRIP
        last = min(length, first + STRIP)
        rows, columns = matrix(table[4], n, length, size, kind), matrix(table[2], n, whole, table[9], kind)
        factors = numbers(table[3], n * table[8], size, kind)
        for start in range(0, size, CHUNK):
            stop = min(size, start + CHUNK)
            _scaled(rows[first:last, start:stop], columns[start:stop, first:last], factors[start:stop])


@kernel
def unpack(table: Any) -> None:
    """Columns of float32 numbers to rows, times a factor a feature: see `_unpack`."""
    _unpack(table, np.float32(0))


@kernel
def unpack_double(table: Any) -> None:
    """The same of float64."""
    _unpack(table, np.float64(0))
