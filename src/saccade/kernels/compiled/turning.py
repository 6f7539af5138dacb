"""Transposed blocks of 16 x 16 numbers, in registers."""

from typing import Any

from llvmlite import ir
from numba import types

from saccade.kernels.compiled import inline, intrinsic, loops

SIDE = 16
"""Rows and columns of a block."""

_WORD = ir.IntType(64)


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """Transpose in four rounds: in each, rows a power of two apart swap runs."""
    for step in (1, 2, 4, 8):
        low = [j - step + SIDE if j & step else j for j in range(SIDE)]
        high = [j + SIDE if j & step else j + step for j in range(SIDE)]
        of_low, of_high = (ir.Constant(ir.VectorType(ir.IntType(32), SIDE), order) for order in (low, high))
        for i in range(SIDE):
            if not i & step:
                pair = rows[i], rows[i + step]
                rows[i], rows[i + step] = (builder.shuffle_vector(*pair, order) for order in (of_low, of_high))
    return rows


@intrinsic
def _turn_block(context: Any, kind: Any, source: Any, source_step: Any, target: Any, target_step: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = context.get_value_type(kind)
        size = kind.bitwidth // 8
        vector = ir.VectorType(number, SIDE).as_pointer()

        def row(first: Any, step: Any, i: int) -> Any:
            away = builder.mul(step, ir.Constant(_WORD, i * size))
            return builder.inttoptr(builder.add(first, away), vector)

        _, first, step, out, out_step = arguments
        rows = [builder.load(row(first, step, i)) for i in range(SIDE)]
        for loaded in rows:
            loaded.align = size
        for i, column in enumerate(_turned(builder, rows)):
            builder.store(column, row(out, out_step, i)).align = size
        return context.get_dummy_value()

    return types.none(kind, *[types.int64] * 4), generate


@inline
def _address(numbers: Any, i: int, j: int) -> Any:
    return numbers.ctypes.data + numbers.itemsize * (i * numbers.shape[1] + j)


@loops
def _one_by_one(rows: Any, columns: Any) -> None:
    for i in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            columns[d, i] = rows[i, d]


@loops
def turn(
    source: Any, row: int, column: int, target: Any, target_row: int, target_column: int, count: int, size: int
) -> None:
    """Some rows of a matrix as columns of another, each in one piece.

    Args:
        source, row, column: the matrix that is read, and the row and column of its first number.
        target, target_row, target_column: the matrix that is written, and the row and column of the same number there.
        count: rows that are read, at most 16. Where 16 rows of the source and 16 columns of the target are left, all of
            them are moved: numbers beyond the count are anything.
        size: columns that are read.
    """
    kind, whole = source.dtype.type(0), 0
    if row + SIDE <= source.shape[0] and target_column + SIDE <= target.shape[1]:
        whole = size // SIDE * SIDE
        for d in range(0, whole, SIDE):
            start, end = _address(source, row, column + d), _address(target, target_row + d, target_column)
            _turn_block(kind, start, source.shape[1], end, target.shape[1])
    if whole < size:
        part = source[row : row + count, column + whole : column + size]
        _one_by_one(part, target[target_row + whole : target_row + size, target_column : target_column + count])
