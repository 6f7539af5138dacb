"""The kernels, in Triton: imported when the first call runs, since Triton is optional.

Whether a process compiles them or runs them in Triton's interpreter is decided when Triton is imported.
"""

import inspect
from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl

__all__ = ["kernel"]


def kernel(function: Callable[..., None]) -> Any:
    """The function as a kernel that is compiled once for each combination of dtypes and constants.

    Triton would compile anew for a length of 1, or one that 16 divides: here another length is never another kernel.
    """
    names = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.annotation is not tl.constexpr
    ]
    return triton.jit(function, do_not_specialize=names)
