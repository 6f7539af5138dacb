"""Rows of scores and weights, and their masks, as kernels read them."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from saccade.kernels.threads import Kernel

T = TypeVar("T", bound=tuple[Any, ...])

TYPES = torch.float32, torch.float64
"""Types of the numbers in kernels of rows."""

_ELEMENTS = 1 << 13


class Rows(NamedTuple):
    """A boolean tensor broadcast to `(..., rows, columns)`, without a copy.

    `offsets` are those of each row's start from the tensor's first element, in elements. Empty for no mask.
    """

    flags: Tensor
    offsets: Tensor


_NONE = Rows(torch.ones(1, dtype=torch.bool, device="cpu"), torch.empty(0, dtype=torch.int64, device="cpu"))


def mask_rows(allowed: Tensor | None, shape: tuple[int, ...]) -> Rows:
    """The rows of a mask that broadcasts to `(..., rows, columns)`."""
    if allowed is None:
        return _NONE
    if allowed.ndim == 0 or (allowed.stride(-1) != 1 or allowed.shape[-1] != shape[-1]):
        allowed = allowed.expand(*allowed.shape[:-1], shape[-1]).contiguous()
    strides = allowed.expand(shape).stride()[:-1]
    offsets = torch.zeros((), dtype=torch.int64, device="cpu")
    for dim, (size, stride) in enumerate(zip(shape[:-1], strides, strict=True)):
        along = (slice(None),) + (None,) * (len(shape) - 2 - dim)
        offsets = offsets + torch.arange(size, device="cpu")[along] * stride
    return Rows(allowed, offsets.expand(shape[:-1]).contiguous())


class RowBlocks(NamedTuple):
    """First part of the table of a kernel of rows."""

    width: int
    length: int  # rows in all
    block: int  # rows of a block
    flags: Tensor
    offsets: Tensor
    masked: int  # length of `offsets`: 0 without a mask

    @property
    def blocks(self) -> int:
        return -(-self.length // self.block)


def row_blocks(rows: Tensor, allowed: Tensor | None = None) -> RowBlocks:
    """Blocks of the rows of a tensor `(..., width)`, with the mask of `mask_rows`."""
    width, mask = rows.shape[-1], mask_rows(allowed, rows.shape)
    length = rows.numel() // width if width else 0
    return RowBlocks(width, length, max(1, _ELEMENTS // max(width, 1)), *mask, mask.offsets.numel())


def of_type(name: str, layout: Callable[..., T]) -> dict[torch.dtype, Kernel[T]]:
    return {dtype: Kernel(f"{name}.{str(dtype).removeprefix('torch.')}", layout) for dtype in TYPES}
