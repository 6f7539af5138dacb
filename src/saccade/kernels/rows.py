"""Rows of scores and weights, and their masks, as kernels read them."""

from typing import NamedTuple

import torch
from torch import Tensor

from saccade.kernels.threads import Kernel

__all__ = ["TYPES", "Rows", "by_rows", "mask_rows", "of_type"]

TYPES = {torch.float32: "", torch.float64: "_double"}
"""What the kernels of rows are compiled for, and how their names end."""

_ELEMENTS = 1 << 13


class Rows(NamedTuple):
    """A boolean tensor that broadcasts to `(..., rows, columns)`, without a copy of it.

    Args:
        flags: the tensor, whose last dimension has stride one.
        offsets: for each row, where it begins from the tensor's first element, in elements; empty for no mask.
    """

    flags: Tensor
    offsets: Tensor


_NONE = Rows(torch.ones(1, dtype=torch.bool, device="cpu"), torch.empty(0, dtype=torch.int64, device="cpu"))


def mask_rows(allowed: Tensor | None, shape: tuple[int, ...]) -> Rows:
    """The rows of a mask.

    Args:
        allowed: boolean, broadcastable to `shape`, or None.
        shape: `(..., rows, columns)`.
    """
    if allowed is None:
        return _NONE
    if allowed.ndim == 0 or (allowed.stride(-1) != 1 or allowed.shape[-1] != shape[-1]):
        allowed = allowed.expand(*allowed.shape[:-1], shape[-1]).contiguous()
    strides = allowed.expand(shape).stride()[:-1]
    offsets = torch.zeros((), dtype=torch.int64, device="cpu")
    for dim, (size, stride) in enumerate(zip(shape[:-1], strides, strict=True)):
        place = (slice(None),) + (None,) * (len(shape) - 2 - dim)
        offsets = offsets + torch.arange(size, device="cpu")[place] * stride
    return Rows(allowed, offsets.expand(shape[:-1]).contiguous())


def of_type(name: str) -> dict[torch.dtype, Kernel]:
    """The kernels of one name for each type."""
    return {dtype: Kernel(name + suffix) for dtype, suffix in TYPES.items()}


def by_rows(kernels: dict[torch.dtype, Kernel], rows: Tensor, mask: Rows, *table: Tensor | int) -> None:
    """Run a kernel over all rows of a tensor.

    Args:
        kernels: of each type, from `of_type`.
        rows: `(..., width)`, contiguous; the first entry of the kernel's own table.
        mask: which numbers of the rows are allowed.
        table: the rest of its own.
    """
    width = rows.shape[-1]
    count = rows.numel() // width if width else 0
    block = max(1, _ELEMENTS // max(width, 1))
    parts = mask.flags, mask.offsets, mask.offsets.numel()
    kernels[rows.dtype](-(-count // block), width, count, block, *parts, rows, *table)
