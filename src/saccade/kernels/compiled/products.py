"""Products of small matrices that lie in the nearest caches: a tile of the result at a time, in registers.

Libraries multiply large matrices faster than this and small ones slower: they copy what they read first, and choose
among ways to. Here the strides of the first matrix are free, so that its transpose costs nothing, and the rows of the
second one lie in the lanes of vectors.
"""

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from saccade.kernels.compiled import loops

__all__ = ["LANES", "ROWS", "SIZE", "product"]


def _lanes() -> int:
    """float32 numbers of the processor's widest vector."""
    known = binding.get_host_cpu_features()
    if known.get("avx512f"):
        return 16
    return 8 if known.get("avx") else 4


LANES = _lanes()
"""Columns of a tile are one or two vectors of as many."""

ROWS = 12 if LANES == 16 else 6
"""Rows of a tile: with two vectors each, one row of the second matrix and a number of the first they fill 32 registers,
or 16.
"""

SIZE = 4
"""Bytes of a number."""

_WORD = ir.IntType(64)


def _tile(vectors: int, *, adds: bool) -> Any:
    """c = a b, or c += a b, of `ROWS` rows of a and as many vectors of columns of b; all lengths are in bytes."""
    number = ir.FloatType()
    vector = ir.VectorType(number, LANES)
    same = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)

    def at(builder: Any, address: Any, kind: Any) -> Any:
        return builder.inttoptr(address, kind.as_pointer())

    def moved(builder: Any, address: Any, by: int) -> Any:
        return builder.add(address, ir.Constant(_WORD, by))

    def loaded(builder: Any, address: Any) -> Any:
        found = builder.load(at(builder, address, vector))
        found.align = SIZE
        return found

    def everywhere(builder: Any, address: Any) -> Any:
        found = builder.load(at(builder, address, number))
        found = builder.insert_element(ir.Constant(vector, ir.Undefined), found, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(found, found, same)

    def places(builder: Any, first: Any, step: Any) -> list[Any]:
        return [builder.add(first, builder.mul(step, ir.Constant(_WORD, i))) for i in range(ROWS)]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, a_row, a_step, b, b_step, c, c_row, depth = arguments
        kind = ir.FunctionType(vector, [vector] * 3)
        multiply_add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32")
        across, targets = range(0, vectors * LANES * SIZE, LANES * SIZE), places(builder, c, c_row)
        zero = ir.Constant(vector, [0.0] * LANES)
        first = [[loaded(builder, moved(builder, row, by)) if adds else zero for by in across] for row in targets]
        away = [builder.mul(a_row, ir.Constant(_WORD, i)) for i in range(ROWS)]
        before, body, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.branch(body)

        builder.position_at_end(body)

        def carried(start: Any) -> Any:
            found = builder.phi(start.type)
            found.add_incoming(start, before)
            return found

        k, left, right = carried(ir.Constant(_WORD, 0)), carried(a), carried(b)
        sums = [[carried(start) for start in row] for row in first]
        columns = [loaded(builder, moved(builder, right, by)) for by in across]
        found = []
        for i, row in enumerate(sums):
            factor = everywhere(builder, builder.add(left, away[i]))
            pairs = zip(columns, row, strict=True)
            found.append([builder.call(multiply_add, [factor, column, total]) for column, total in pairs])
        following = builder.add(k, ir.Constant(_WORD, 1))
        nexts = [(k, following), (left, builder.add(left, a_step)), (right, builder.add(right, b_step))]
        nexts += [pair for old, new in zip(sums, found, strict=True) for pair in zip(old, new, strict=True)]
        for old, new in nexts:
            old.add_incoming(new, body)
        builder.cbranch(builder.icmp_signed("<", following, depth), body, after)

        builder.position_at_end(after)
        for row, target in zip(found, targets, strict=True):
            for by, total in zip(across, row, strict=True):
                builder.store(total, at(builder, moved(builder, target, by), vector)).align = SIZE
        return context.get_dummy_value()

    @intrinsic
    def tile(
        context: Any, a: Any, a_row: Any, a_step: Any, b: Any, b_step: Any, c: Any, c_row: Any, depth: Any
    ) -> Any:
        return types.none(*[types.int64] * 8), generate

    return tile


_one, _two = _tile(1, adds=False), _tile(2, adds=False)
_one_more, _two_more = _tile(1, adds=True), _tile(2, adds=True)


@loops
def product(
    a: int, a_row: int, a_step: int, b: int, b_row: int, c: int, c_row: int, rows: int, depth: int, columns: int,
    adds: bool,
) -> None:
    """c = a b, or c += a b, of float32 matrices at addresses.

    Args:
        a, a_row, a_step: the first matrix, and how many numbers its rows and its columns are apart.
        b, b_row: the second, and how many numbers its rows are apart; its columns are next to each other.
        c, c_row: the result, likewise.
        rows: of the result: as many as that, up to a multiple of `ROWS`, are read of a and written to c.
        depth: columns of the first and rows of the second, at least 1.
        columns: of the result: up to a multiple of `LANES` are read of b and written to c.
        adds: whether to what c has.
    """
    lines, steps, row = SIZE * a_row, SIZE * a_step, SIZE * b_row
    for i in range(0, rows, ROWS):
        left, target = a + i * lines, c + SIZE * i * c_row
        for j in range(0, columns, 2 * LANES):
            right, place = b + SIZE * j, target + SIZE * j
            if columns - j <= LANES:
                if adds:
                    _one_more(left, lines, steps, right, row, place, SIZE * c_row, depth)
                else:
                    _one(left, lines, steps, right, row, place, SIZE * c_row, depth)
            elif adds:
                _two_more(left, lines, steps, right, row, place, SIZE * c_row, depth)
            else:
                _two(left, lines, steps, right, row, place, SIZE * c_row, depth)
