"""Launches of kernels, and tensors of any batch dimensions as kernels read them."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor


class Shape(NamedTuple):
    """A program of a kernel of rows: its rows, keys of each at once, and warps."""

    rows: int
    block: int
    warps: int


SHORT, LONG = Shape(1, 256, 1), Shape(1, 1024, 1)
"""Programs of rows up to 256 keys and of longer ones: a warp a row.

No sum crosses warps. They are the fastest on an H100 in `results/benchmarks/triton-tiles.json`, or near it.
"""


def launch(kernel: Any, programs: int, *arguments: Any, **constants: Any) -> None:
    """Run the kernel for programs 0 .. programs - 1 on the first argument's device.

    All lie along the first axis of the grid, the only one long enough.
    """
    if not programs:
        return
    # in the interpreter numpy computes, and would warn of an overflow that a GPU passes over
    with torch.cuda.device_of(arguments[0]), np.errstate(all="ignore"):
        kernel[(programs,)](*arguments, **constants, enable_fp_fusion=True)


def launch_rows(kernel: Any, rows: int, width: int, *arguments: Any, **constants: Any) -> None:
    """`launch` for a kernel of rows of `width` keys."""
    shape = SHORT if width <= SHORT.block else LONG
    settings = {"ROWS": shape.rows, "BLOCK": shape.block, "num_warps": shape.warps}
    launch(kernel, -(-rows // shape.rows), *arguments, **constants, **settings)


def stacked(tensor: Tensor, batch: tuple[int, ...]) -> Tensor:
    """`(..., A, B)` as `(N, A, B)`, N entries of the batch, a view if possible."""
    return tensor.expand(*batch, *tensor.shape[-2:]).reshape(math.prod(batch), *tensor.shape[-2:])


class Flags(NamedTuple):
    """The allowed keys for a kernel: bytes `(N, L, S)` and their strides."""

    allowed: Tensor
    n: int
    i: int
    j: int


def flags(allowed: Tensor | None, shape: torch.Size, stand_in: Tensor) -> tuple[Flags, bool]:
    """The `Flags` of a mask, and whether there is one. `stand_in` replaces none."""
    if allowed is None:
        return Flags(stand_in, 0, 0, 0), False
    stacked_flags = stacked(allowed.expand(shape), tuple(shape[:-2])).view(torch.uint8)
    return Flags(stacked_flags, *stacked_flags.stride()), True
