"""What kernels are written with: memory from addresses, the next block to do, elementary functions that vectorize."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic

__all__ = ["FAST", "STRIDE", "above", "exp", "flags", "floats", "inline", "integers", "kernel", "largest", "loops", "sigmoid", "take", "tanh"]

FAST = {"contract", "reassoc", "nsz"}
"""Liberties with float arithmetic. Not "nnan" or "ninf": with them what asks for NaN and infinity is compiled away."""

F = np.float32

inline = njit(inline="always", fastmath=FAST, error_model="numpy")
"""Decorator of elementary functions: they become part of the loop that uses them, which then vectorizes."""

loops = njit(fastmath=FAST, error_model="numpy")
"""Decorator of functions of arrays. Compiled on their own and called: within a kernel that makes the arrays of addresses,
LLVM cannot tell that they do not overlap, and the same loops took four times as long.
"""


def kernel(function: Callable[..., Any]) -> Any:
    """Decorator: the function of a table, compiled as C calls it, and kept on disk for the next process."""
    signature = types.void(types.CPointer(types.int64))
    try:
        return cfunc(signature, fastmath=FAST, error_model="numpy", cache=True)(function)
    except RuntimeError:  # nowhere to keep it: a home that cannot be written to
        return cfunc(signature, fastmath=FAST, error_model="numpy")(function)


@intrinsic
def take(context: Any, table: Any) -> Any:  # noqa: ARG001
    """Take the next block: the number of blocks taken before, added to by no two threads at once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", arguments[0], ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(types.CPointer(types.int64)), generate


def _pointer(kind: Any) -> Any:
    @intrinsic
    def pointer(context: Any, address: Any) -> Any:  # noqa: ARG001
        target = types.CPointer(kind)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(target))

        return target(types.int64), generate

    return pointer


_float_pointer, _integer_pointer, _byte_pointer = (_pointer(kind) for kind in (types.float32, types.int64, types.uint8))


@njit(inline="always")
def floats(address: int, size: int) -> Any:
    """The float32 numbers at an address."""
    return carray(_float_pointer(address), (size,))


@njit(inline="always")
def integers(address: int, size: int) -> Any:
    """The int64 numbers at an address."""
    return carray(_integer_pointer(address), (size,))


@njit(inline="always")
def flags(address: int, size: int) -> Any:
    """The booleans at an address, as bytes."""
    return carray(_byte_pointer(address), (size,))


@inline
def exp(x: float) -> float:
    """e^x to two units in the last place, for x from -87 to 88; the values at these ends beyond them, NaN of NaN."""
    x = F(-87.0) if x < F(-87.0) else (F(88.0) if x > F(88.0) else x)
    whole = np.floor(x * F(1.44269504) + F(0.5))
    rest = x - whole * F(0.693359375) + whole * F(2.12194440e-4)  # ln 2 in two parts, the first one exact
    y = F(1.9875691500e-4)
    y = y * rest + F(1.3981999507e-3)
    y = y * rest + F(8.3334519073e-3)
    y = y * rest + F(4.1665795894e-2)
    y = y * rest + F(1.6666665459e-1)
    y = y * rest + F(5.0000001201e-1)
    y = y * rest * rest + rest + F(1.0)
    return y * np.int32((np.int32(whole) + 127) << 23).view(np.float32)


@inline
def sigmoid(x: float) -> float:
    """1 / (1 + e^-x)."""
    return F(1.0) / (F(1.0) + exp(-x))


@inline
def tanh(x: float) -> float:
    """The hyperbolic tangent; near 0, where 1 - 2 / (1 + e^2x) cancels, a polynomial."""
    square = x * x
    y = F(-5.70498872745e-3)
    y = y * square + F(2.06390887954e-2)
    y = y * square + F(-5.37397155531e-2)
    y = y * square + F(1.33314422036e-1)
    y = y * square + F(-3.33332819422e-1)
    near = y * square * x + x
    far = F(1.0) - F(2.0) / (F(1.0) + exp(F(2.0) * x))
    return near if abs(x) < F(0.625) else far


STRIDE = 128


@loops
def above(numbers: Any, bound: float) -> int:
    """How many are larger than a bound: a sum, which LLVM vectorizes, as it does no maximum of floats."""
    count = 0
    for i in range(numbers.size):
        count += numbers[i] > bound
    return count


@loops
def largest(numbers: Any) -> float:
    """The largest number; one that is NaN, no comparison finds. -inf of none."""
    found = F(-np.inf)
    for first in range(0, numbers.size, STRIDE):
        part = numbers[first : min(numbers.size, first + STRIDE)]
        if above(part, found):
            for i in range(part.size):
                found = part[i] if part[i] > found else found
    return found
