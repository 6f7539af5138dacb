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


def launch(kernel: Any, programs: int, *arguments: Any, **constants: Any) -> None:
    """Run the kernel for some programs on the device of the first argument.

    Programs lie along the first axis of the grid, which alone is long enough.
    """
    if not programs:
        return
    # in the interpreter numpy computes, and would warn of an overflow that a GPU passes over
    with torch.cuda.device_of(arguments[0]), np.errstate(all="ignore"):
        kernel[(programs,)](*arguments, **constants, enable_fp_fusion=True)
