"""Functions of one number that vectorize, and the largest number of a row."""

from typing import Any

import numpy as np
from numba import types

from saccade.kernels.compiled import F, apart, elementary, inline, intrinsic, loops


@intrinsic
def quotient(context: Any, number: Any, divisor: Any) -> Any:
    """number / divisor, float32, within about 2 ulp. An infinite divisor is undefined.

    Where the processor estimates reciprocals, that and a step of Newton's method: a division of 16 numbers takes some
    processors as long as ten of their products.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fdiv(*arguments, flags=("arcp", "contract", "ninf"))

    return types.float32(types.float32, types.float32), generate


def _largest_by(integer: Any, floating: Any, sign: int, low: int, least: int) -> Any:
    def largest_of(x: Any) -> Any:
        keys, top = x.view(integer), integer(least)
        for j in range(keys.size):  # Numba widens what it computes
            key = integer(keys[j] ^ integer(integer(keys[j] >> integer(sign)) & integer(low)))
            top = key if key > top else top
        return integer(top ^ integer(integer(top >> integer(sign)) & integer(low))).view(floating)

    return largest_of


_largest_double = loops(_largest_by(np.int64, np.float64, 63, 0x7FFFFFFFFFFFFFFF, -0x7FF0000000000001))
largest_of = elementary(_largest_double)(_largest_by(np.int32, np.float32, 31, 0x7FFFFFFF, -0x7F800001))
"""The largest number of a contiguous row, -inf if empty, undefined if any is NaN.

With the bits of negative floats flipped except the sign, floats order as integers. LLVM vectorizes a maximum of
integers, but not one of floats. The numbers are the sign's bit, all others, and those of -inf.
"""


@elementary(np.exp)
def exp(x: float) -> Any:
    """e^x within 2 ulp: 0 below -87, the value at 88 above it, NaN of NaN."""
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
    """Natural logarithm of normal numbers within 2 ulp, -87.3 below them, NaN of NaN."""
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
def sigmoid(x: float) -> Any:
    return F(1.0) / (F(1.0) + exp(-x))


@elementary(np.tanh)
def tanh_near(x: float) -> Any:
    """tanh for |x| < 0.625, by a polynomial: 1 - 2 / (1 + e^2x) would cancel."""
    square = x * x
    y = F(-5.70498872745e-3)
    y = y * square + F(2.06390887954e-2)
    y = y * square + F(-5.37397155531e-2)
    y = y * square + F(1.33314422036e-1)
    y = y * square + F(-3.33332819422e-1)
    return y * square * x + x


@elementary(np.tanh)
def tanh(x: float) -> Any:
    far = F(1.0) - F(2.0) / (F(1.0) + exp(F(2.0) * x))
    return tanh_near(x) if abs(x) < F(0.625) else far


STRIDE = 128
"""Numbers tested together first, and one by one only if any passes."""


@loops
def above(numbers: Any, bound: float) -> int:
    """Count the numbers above a bound, in their own type so that the sum vectorizes."""
    unity, count = numbers.dtype.type(1), numbers.dtype.type(0)
    for i in range(numbers.size):
        count += unity if numbers[i] > bound else numbers.dtype.type(0)
    return int(count)


@loops
def add(numbers: Any, target: Any) -> None:
    apart()
    for i in range(numbers.size):
        target[i] += numbers[i]


@loops
def add_times(factor: float, numbers: Any, target: Any) -> None:
    apart()
    for i in range(numbers.size):
        target[i] += factor * numbers[i]
