"""What kernels are written with: memory from addresses, the next block to do, elementary functions that vectorize."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic, overload

from saccade.kernels import cache, loading

__all__ = [
    "FAST",
    "STRIDE",
    "F",
    "above",
    "apart",
    "elementary",
    "exact",
    "exp",
    "flags",
    "floats",
    "inline",
    "integers",
    "kernel",
    "largest",
    "largest_of",
    "log",
    "loops",
    "matrix",
    "numbers",
    "quotient",
    "sigmoid",
    "take",
    "tanh",
    "tanh_near",
    "whole_vectors",
]

FAST = {"contract", "reassoc", "nsz"}
"""Liberties with float arithmetic. Not "nnan" or "ninf": with them what asks for NaN and infinity is compiled away."""

F = np.float32
"""A literal without it is a float64, and so is what it meets."""

inline = njit(inline="always", fastmath=FAST, error_model="numpy")
"""Decorator of elementary functions: they become part of the loop that uses them, which then vectorizes."""

loops = njit(fastmath=FAST, error_model="numpy")
"""Decorator of functions of arrays. Compiled on their own and called: within a kernel, which makes its arrays of
addresses, LLVM cannot tell that they do not overlap, and the same loops took four times as long.
"""


exact = njit(fastmath=FAST - {"reassoc"}, error_model="numpy")
"""As `loops`, but the order of operations is the one that is written: (x - most) - t keeps digits that x - (most + t)
does not have.
"""


def elementary(double: Any) -> Callable[[Callable[[Any], Any]], Any]:
    """Decorator of a function of one float32, written so that loops with it vectorize, or of a row of them; of float64
    it is `double`, which for a single one numpy or the C library compute.
    """

    def decorate(single: Callable[[Any], Any]) -> Any:
        def function(x: Any) -> Any:
            return single(x)

        # written out: Numba compiles a function of the type it is called with, not a choice within one
        def of_float64(x: Any) -> Any:
            return double(x)

        def chosen(x: Any) -> Any:
            return of_float64 if getattr(x, "dtype", x) == types.float64 else single

        for one in (single, of_float64, chosen):
            one.__annotations__ = {}  # Numba wants those of all three to be the same
        overload(function, jit_options={"fastmath": FAST, "error_model": "numpy"})(chosen)

        function.__name__, function.__doc__ = single.__name__, single.__doc__
        return function

    return decorate


def kernel(function: Callable[..., Any]) -> Callable[[], loading.Loaded]:
    """Decorator: a call loads the function of a table from the disk, or compiles it as C calls it and keeps it there.

    Nothing is compiled before: a module with all its kernels takes up to a minute.

    Numba's own cache is not used: where it cannot write it takes the folder of the sources, whose changes in other
    files it does not see, and a file of it that is cut short is an error for good.
    """
    name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"

    def load() -> loading.Loaded:
        with global_compiler_lock:
            if (loaded := loading.kept(name)) is not None:
                return loaded
            with cache.alone(name):
                return loading.kept(name) or _compiled(name, function)

    return load


def _compiled(name: str, function: Callable[..., Any]) -> loading.Loaded:
    made = cfunc(types.void(types.CPointer(types.int64)), fastmath=FAST, error_model="numpy")(function)
    _, _, (machine, _) = made._library.serialize_using_object_code()
    module = made._library._final_module
    symbols = [value.name for value in (*module.functions, *module.global_variables) if value.is_declaration]
    code = cache.Code(made.native_name, tuple(name for name in symbols if not name.startswith("llvm.")), machine)
    try:
        cache.write(cache.folder(), name, code)
    except OSError as error:
        _say_once(error)
    loaded = loading.load(code, anew=True)
    assert loaded is not None, f"{name}: Numba has given its symbols no addresses"
    return loaded


_said: list[str] = []


def _say_once(error: OSError) -> None:
    """That what is compiled is lost with the process: nobody would know otherwise why each begins so late."""
    if not _said:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        _said.append(reason)
        warnings.warn(
            f"saccade: kernels cannot be kept ({reason}), so each process compiles them anew, which takes up to half "
            "a minute; NUMBA_CACHE_DIR names another folder",
            RuntimeWarning,
            stacklevel=2,
        )


@intrinsic
def take(context: Any, table: Any) -> Any:
    """Take the next block: the number of blocks taken before, added to by no two threads at once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", arguments[0], ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(types.CPointer(types.int64)), generate


@intrinsic
def whole_vectors(context: Any) -> Any:
    """In a function: its loops may use the processor's widest vectors, where LLVM prefers halves of them on some.

    Measured on a Xeon with AVX-512: the gradients of additive scores 1.15 to 1.27 times as fast, their sums slower.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')  # llvmlite knows attributes without values
        return context.get_dummy_value()

    return types.none(), generate


@intrinsic
def apart(context: Any) -> Any:
    """In a function: its arrays do not overlap. Short loops need not find that out each time they begin."""
    numbers = [kind.as_pointer() for kind in (ir.FloatType(), ir.DoubleType(), ir.IntType(32), ir.IntType(64))]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for argument in builder.function.args:
            if argument.type in numbers:
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    return types.none(), generate


@intrinsic
def quotient(context: Any, number: Any, divisor: Any) -> Any:
    """number / divisor of float32, to about two units in the last place; an infinite divisor may give anything.

    Where the processor estimates reciprocals, that and a step of Newton's method: a division of 16 numbers takes some
    processors as long as ten of their products.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fdiv(*arguments, flags=("arcp", "contract", "ninf"))

    return types.float32(types.float32, types.float32), generate


def _pointer(kind: Any) -> Any:
    @intrinsic
    def pointer(context: Any, address: Any) -> Any:
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


@intrinsic
def _numbers_pointer(context: Any, address: Any, start: Any, kind: Any) -> Any:
    target = types.CPointer(kind)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.inttoptr(arguments[0], context.get_value_type(target))
        return builder.gep(first, [arguments[1]])

    return target(types.int64, types.int64, kind), generate


@njit(inline="always")
def numbers(address: int, start: int, size: int, kind: Any) -> Any:
    """`size` numbers from number `start` on at an address, of the type that `kind` has: one source for float32 and
    float64.
    """
    return carray(_numbers_pointer(address, start, kind), (size,))


@njit(inline="always")
def matrix(address: int, n: int, rows: int, columns: int, kind: Any) -> Any:
    """Matrix n of those at an address."""
    return numbers(address, n * rows * columns, rows * columns, kind).reshape(rows, columns)


@njit(inline="always")
def flags(address: int, size: int) -> Any:
    """The booleans at an address, as bytes."""
    return carray(_byte_pointer(address), (size,))


@loops
def _largest_double(x: Any) -> float:
    keys, low = x.view(np.int64), np.int64(0x7FFFFFFFFFFFFFFF)
    found = np.int64(-0x7FF0000000000001)  # the key of -inf
    for j in range(keys.size):
        key = keys[j] ^ ((keys[j] >> np.int64(63)) & low)
        found = key if key > found else found
    return np.int64(found ^ ((found >> np.int64(63)) & low)).view(np.float64)


@elementary(_largest_double)
def largest_of(x: Any) -> float:
    """The largest number of a contiguous row x, whatever it is where one is NaN; -inf of none.

    The bits of a float, those of a negative one but the sign's turned over, are an integer in the order of the numbers;
    and a maximum of integers LLVM vectorizes, as it does none of floats.
    """
    keys, low = x.view(np.int32), np.int32(0x7FFFFFFF)
    found = np.int32(-0x7F800001)  # the key of -inf
    for j in range(keys.size):
        key = np.int32(keys[j] ^ np.int32(np.int32(keys[j] >> np.int32(31)) & low))  # Numba widens what it computes
        found = key if key > found else found
    return np.int32(found ^ ((found >> np.int32(31)) & low)).view(np.float32)


@elementary(np.exp)
def exp(x: float) -> float:
    """e^x to two units in the last place; 0 below -87, the value at 88 above it, NaN of NaN."""
    tiny = x < F(-87.0)
    x = F(-87.0) if tiny else (F(88.0) if x > F(88.0) else x)
    whole = np.floor(x * F(1.44269504) + F(0.5))
    rest = x - whole * F(0.693359375) + whole * F(2.12194440e-4)  # ln 2 in two parts, the first one exact
    y = F(1.9875691500e-4)
    y = y * rest + F(1.3981999507e-3)
    y = y * rest + F(8.3334519073e-3)
    y = y * rest + F(4.1665795894e-2)
    y = y * rest + F(1.6666665459e-1)
    y = y * rest + F(5.0000001201e-1)
    y = y * rest * rest + rest + F(1.0)
    return F(0.0) if tiny else y * np.int32((np.int32(whole) + 127) << 23).view(np.float32)


@elementary(np.log)
def log(x: float) -> float:
    """The natural logarithm to two units in the last place, of normal numbers: -87.3 of smaller ones, NaN of NaN."""
    x = F(1.17549435e-38) if x < F(1.17549435e-38) else x
    bits = np.float32(x).view(np.int32)
    # a fraction in [sqrt(1/2), sqrt(2)) and a power of two
    power = (bits - np.int32(0x3F3504F3)) >> np.int32(23)
    rest = np.int32(bits - (power << np.int32(23))).view(np.float32) - F(1.0)
    square = rest * rest
    y = F(7.0376836292e-2)
    y = y * rest + F(-1.1514610310e-1)
    y = y * rest + F(1.1676998740e-1)
    y = y * rest + F(-1.2420140846e-1)
    y = y * rest + F(1.4249322787e-1)
    y = y * rest + F(-1.6668057665e-1)
    y = y * rest + F(2.0000714765e-1)
    y = y * rest + F(-2.4999993993e-1)
    y = y * rest + F(3.3333331174e-1)
    whole = F(power)
    y = y * rest * square + whole * F(-2.12194440e-4) - F(0.5) * square
    return y + rest + whole * F(0.693359375) if x == x else x


@inline
def sigmoid(x: float) -> float:
    """1 / (1 + e^-x)."""
    return F(1.0) / (F(1.0) + exp(-x))


@elementary(np.tanh)
def tanh_near(x: float) -> float:
    """The hyperbolic tangent for |x| < 0.625, by a polynomial: 1 - 2 / (1 + e^2x) cancels there."""
    square = x * x
    y = F(-5.70498872745e-3)
    y = y * square + F(2.06390887954e-2)
    y = y * square + F(-5.37397155531e-2)
    y = y * square + F(1.33314422036e-1)
    y = y * square + F(-3.33332819422e-1)
    return y * square * x + x


@elementary(np.tanh)
def tanh(x: float) -> float:
    """The hyperbolic tangent."""
    far = F(1.0) - F(2.0) / (F(1.0) + exp(F(2.0) * x))
    return tanh_near(x) if abs(x) < F(0.625) else far


STRIDE = 128
"""Numbers that are looked at together: only where one of them counts is each looked at."""


@loops
def above(numbers: Any, bound: float) -> int:
    """How many are larger than a bound: a sum, which LLVM vectorizes, as it does no maximum of floats. It is of their
    own type, so that as many fit a vector.
    """
    one, count = numbers.dtype.type(1), numbers.dtype.type(0)
    for i in range(numbers.size):
        count += one if numbers[i] > bound else numbers.dtype.type(0)
    return int(count)


@loops
def largest(numbers: Any) -> float:
    """The largest number; one that is NaN, no comparison finds. -inf of none."""
    found = numbers.dtype.type(-np.inf)
    for first in range(0, numbers.size, STRIDE):
        part = numbers[first : min(numbers.size, first + STRIDE)]
        if above(part, found):
            for i in range(part.size):
                found = part[i] if part[i] > found else found
    return found
