"""The kernels, in Triton. The first call imports them, since Triton is optional.

Whether a process compiles them or runs them in Triton's interpreter is decided when Triton is imported.

A kernel's parameters stand in groups, a line each: a tensor with its strides, sizes, constants. They are not
tuples, because Triton (3.5 to 3.9) compiles anew for each value class (1, divisible by 16) of an integer in a tuple,
despite `do_not_specialize`. Inside a kernel, related values do travel as one tuple. Tensors are contiguous unless
strides stand beside them.
"""

import inspect
from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl

__all__ = ["kernel"]

ALIGNED = {
    "query",
    "key",
    "value",
    "k_side",
    "bias",
    "pairs",
    "grads",
    "output",
    "out",
    "query_grad",
    "key_grad",
    "value_grad",
}
"""Tensors with a kernel of their own if 16 bytes divide their address.

That kernel reads and writes 16 bytes at once.
"""


def kernel(function: Callable[..., None]) -> Any:
    """A kernel, compiled once for its dtypes, constants and aligned tensors.

    Triton would compile anew for a length of 1, or one that 16 divides: here another length is never another kernel.
    """
    names = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.annotation is not tl.constexpr and name not in ALIGNED
    ]
    return triton.jit(function, do_not_specialize=names)
