"""The one place where kernels start."""

import importlib
import importlib.util
from functools import cache
from typing import Any

import numpy as np
import torch

MISSING = importlib.util.find_spec("triton") is None


@cache
def triton_kernels(module: str) -> Any:
    """A module of kernels, imported at its first use: Triton is optional."""
    return importlib.import_module(f"saccade.kernels.triton.{module}")


_COMPILED: dict[Any, tuple[Any, tuple[Any, ...]]] = {}
"""Compiled kernels, each with its constants in order.

Keys are the kernel, the device, constants and classes of arguments.

Triton's own search for a compiled kernel takes 70 µs with 60 arguments.
"""


def launch(kernel: Any, programs: int, *arguments: Any, **constants: Any) -> None:
    """Run the kernel for some programs on the device of the first argument.

    Programs lie along the first axis of the grid, which alone is long enough.
    """
    if not programs:
        return
    with torch.cuda.device_of(arguments[0]):
        variant = kernel.fn, arguments[0].device, tuple(constants.items()), tuple(map(_class_of, arguments))
        if variant in _COMPILED:
            compiled, ordered = _COMPILED[variant]
            compiled[programs, 1, 1](*arguments, *ordered)
            return
        with np.errstate(all="ignore"):  # in the interpreter numpy computes, and warns of an overflow unlike a GPU
            compiled = kernel[(programs,)](*arguments, **constants, enable_fp_fusion=True)
        if compiled is not None:  # None from the interpreter
            _COMPILED[variant] = compiled, tuple(constants[name] for name in kernel.arg_names[len(arguments) :])


def _class_of(argument: Any) -> Any:
    """Dtype and alignment of a tensor, or the width of an integer.

    Triton compiles a kernel for each of them.
    """
    if isinstance(argument, torch.Tensor):
        return argument.dtype, argument.data_ptr() % 16 == 0
    return isinstance(argument, int) and -(1 << 31) <= argument < 1 << 31
