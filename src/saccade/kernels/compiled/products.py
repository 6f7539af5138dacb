"""Products of small matrices in the nearest caches, by tiles in registers.

Libraries multiply large matrices faster than this and small ones slower: they copy their operands first, and choose
among ways to. Here the strides of the first matrix are free, so that its transpose costs nothing, and the rows of the
second one lie in the lanes of vectors.
"""

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils

from saccade.kernels.compiled import intrinsic, loops


def _lanes() -> int:
    """float32 numbers of the processor's widest vector."""
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 16
    return 8 if features.get("avx") else 4


LANES = _lanes()
"""Columns of a tile are one or two vectors of as many."""

ROWS = 12 if LANES == 16 else 6
"""Rows of a tile: its vectors and operands fill the 32 or 16 registers."""

SIZE = 4
"""Bytes of a number."""

DEPTH = 256
"""Products summed one after another. Of 30,000 equal ones the error was 3e-4."""

_WORD = ir.IntType(64)
_NUMBER = ir.FloatType()
_VECTOR = ir.VectorType(_NUMBER, LANES)


class _Code:
    """Instructions of a tile. Addresses and lengths are in bytes."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        self.multiply_add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32")

    def offset(self, address: Any, by: int) -> Any:
        return self.builder.add(address, ir.Constant(_WORD, by))

    def row_addresses(self, first: Any, step: Any) -> list[Any]:
        """As many as a tile has rows, the step apart."""
        return [self.builder.add(first, self.builder.mul(step, ir.Constant(_WORD, i))) for i in range(ROWS)]

    def row(self, address: Any, vectors: int) -> list[Any]:
        loaded = []
        for by in range(0, vectors * LANES * SIZE, LANES * SIZE):
            pointer = self.builder.inttoptr(self.offset(address, by), _VECTOR.as_pointer())
            loaded.append(self.builder.load(pointer))
            loaded[-1].align = SIZE
        return loaded

    def store(self, row: list[Any], address: Any) -> None:
        for by, vector in enumerate(row):
            pointer = self.builder.inttoptr(self.offset(address, by * LANES * SIZE), _VECTOR.as_pointer())
            self.builder.store(vector, pointer).align = SIZE

    def everywhere(self, address: Any) -> Any:
        """The number at an address in all lanes."""
        vector = self.builder.load(self.builder.inttoptr(address, _NUMBER.as_pointer()))
        first = ir.Constant(ir.IntType(32), 0)
        vector = self.builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), vector, first)
        return self.builder.shuffle_vector(
            vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        )

    def carried(self, start: Any, before: Any) -> Any:
        """A value that a loop has from the block before it, and then from itself."""
        phi = self.builder.phi(start.type)
        phi.add_incoming(start, before)
        return phi


def _summed(
    code: _Code, sums: list[list[Any]], a: Any, a_row: Any, a_step: Any, b: Any, b_step: Any, depth: Any
) -> Any:
    """Write the loop over columns of a and rows of b; sums with all products."""
    builder, vectors = code.builder, len(sums[0])
    before, body, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    away = code.row_addresses(ir.Constant(_WORD, 0), a_row)
    builder.branch(body)
    builder.position_at_end(body)
    k, left, right = (code.carried(start, before) for start in (ir.Constant(_WORD, 0), a, b))
    old = [[code.carried(start, before) for start in row] for row in sums]
    columns, new = code.row(right, vectors), []
    for row, by in zip(old, away, strict=True):
        factor = code.everywhere(builder.add(left, by))
        pairs = zip(columns, row, strict=True)
        new.append([builder.call(code.multiply_add, [factor, column, total]) for column, total in pairs])
    following = code.offset(k, 1)
    for phi, value in ((k, following), (left, builder.add(left, a_step)), (right, builder.add(right, b_step))):
        phi.add_incoming(value, body)
    for phis, values in zip(old, new, strict=True):
        for phi, value in zip(phis, values, strict=True):
            phi.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<", following, depth), body, after)
    builder.position_at_end(after)
    return new


def _tile(vectors: int, *, adds: bool) -> Any:
    """c = a b, or c += a b, of `ROWS` rows and some vectors. All lengths are in bytes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, a_row, a_step, b, b_step, c, c_row, depth = arguments
        code = _Code(builder)
        zeros = [[ir.Constant(_VECTOR, [0.0] * LANES)] * vectors] * ROWS
        sums = _summed(code, zeros, a, a_row, a_step, b, b_step, depth)
        for row, target in zip(sums, code.row_addresses(c, c_row), strict=True):
            before = code.row(target, vectors) if adds else []
            code.store([builder.fadd(*pair) for pair in zip(before, row, strict=True)] if adds else row, target)
        return context.get_dummy_value()

    @intrinsic
    def tile(context: Any, a: Any, a_row: Any, a_step: Any, b: Any, b_step: Any, c: Any, c_row: Any, depth: Any) -> Any:
        return types.none(*[types.int64] * 8), generate

    return tile


_single, _double = _tile(1, adds=False), _tile(2, adds=False)
_single_more, _double_more = _tile(1, adds=True), _tile(2, adds=True)


@loops
def product(
    a: tuple[int, int, int], b: tuple[int, int], c: tuple[int, int], rows: int, depth: int, columns: int, adds: bool
) -> None:
    """c = a b, or c += a b, of float32 matrices.

    a is an address, and how many numbers rows and columns are apart. b and c are addresses, and how many numbers rows
    are apart. `rows` of a are read and of c written up to a multiple of `ROWS`, `columns` of b and c up to one of
    `LANES`. The depth is at least 1.
    """
    (a_start, a_row, a_step), (b_start, b_row), (c_start, c_row) = a, b, c
    lines, steps, row, c_lines = SIZE * a_row, SIZE * a_step, SIZE * b_row, SIZE * c_row
    for i in range(0, rows, ROWS):
        for j in range(0, columns, 2 * LANES):
            right, out, wide = b_start + SIZE * j, c_start + i * c_lines + SIZE * j, columns - j > LANES
            for k in range(0, depth, DEPTH):
                here, there, some = a_start + i * lines + k * steps, right + k * row, min(DEPTH, depth - k)
                more = adds or k > 0
                if wide and more:
                    _double_more(here, lines, steps, there, row, out, c_lines, some)
                elif wide:
                    _double(here, lines, steps, there, row, out, c_lines, some)
                elif more:
                    _single_more(here, lines, steps, there, row, out, c_lines, some)
                else:
                    _single(here, lines, steps, there, row, out, c_lines, some)
