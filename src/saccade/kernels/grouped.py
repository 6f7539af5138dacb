"""`grouped_product`: rows sorted by group, times the matrix of their group."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade._definitions.numerics import differentiated, tracing, valueless
from saccade._plainly import is_plain

_ALIGNED = 16  # bytes that strides have to be a multiple of, by torch's kernel
_BLOCK = 32  # rows multiplied at once where torch's kernel does not serve


def grouped_product(rows: Tensor, weights: Tensor, ends: Tensor) -> Tensor:
    """Each row times its group's matrix, differentiable any number of times.

    Weights are `(groups, in, out)`. Rows of the first group come first, and `ends` is where each group ends, int32.
    `torch.nn.functional.grouped_mm` does not serve float64, rows that are no multiple of 16 bytes, and transforms.
    There groups are cut into blocks of as many rows, and batches of blocks are multiplied. At most one block a group is
    not full, however uneven the groups are.
    """
    if _serves(rows, weights):
        product: Tensor = _Product.apply(rows, weights, ends)
        return product
    return by_blocks(rows, weights, ends)


def by_blocks(rows: Tensor, weights: Tensor, ends: Tensor) -> Tensor:
    """`grouped_product` by batches of blocks, as many as the sizes alone determine."""
    count, groups = rows.shape[0], weights.shape[0]
    indices = torch.arange(count, device=rows.device)
    group = torch.searchsorted(ends, indices.to(ends.dtype), right=True)
    starts = F.pad(ends[:-1], (1, 0))
    blocks = (ends - starts + _BLOCK - 1) // _BLOCK
    last = blocks.cumsum(0)
    slots = (last - blocks)[group] * _BLOCK + indices - starts[group]
    capacity = count // _BLOCK + groups
    padded = rows.new_zeros(capacity * _BLOCK, rows.shape[1]).index_copy(0, slots, rows)
    of_block = torch.searchsorted(last, torch.arange(capacity, device=rows.device), right=True).clamp(max=groups - 1)
    product = padded.view(capacity, _BLOCK, -1) @ weights.index_select(0, of_block)
    return product.flatten(0, 1).index_select(0, slots)


def _serves(rows: Tensor, weights: Tensor) -> bool:
    size = rows.element_size()
    aligned = all(features * size % _ALIGNED == 0 for features in weights.shape[1:])
    if not aligned or not rows.shape[0] or differentiated() or valueless(rows) or is_plain():
        return False
    # a compiler knows the shapes of its results in bfloat16 alone
    return rows.dtype in ((torch.bfloat16,) if tracing() else (torch.float32, torch.bfloat16, torch.float16))


class _Product(torch.autograd.Function):
    """Torch's kernel, on the layouts it takes. Gradients seldom have them."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weights: Tensor, ends: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weights, ends)
        weights = weights if weights.is_contiguous() or weights.mT.is_contiguous() else weights.contiguous()
        return F.grouped_mm(rows.contiguous(), weights, offs=ends)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, weights, ends = ctx.saved_tensors
        of_rows = _Product.apply(grad, weights.mT, ends) if ctx.needs_input_grad[0] else None
        return of_rows, _Outer.apply(rows, grad, ends) if ctx.needs_input_grad[1] else None, None


class _Outer(torch.autograd.Function):
    """Transposed rows times other rows, for each group: `(groups, in, out)`."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, others: Tensor, ends: Tensor) -> Tensor:
        ctx.save_for_backward(rows, others, ends)
        return F.grouped_mm(rows.contiguous().mT, others.contiguous(), offs=ends)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, others, ends = ctx.saved_tensors
        of_rows = _Product.apply(others, grad.mT, ends) if ctx.needs_input_grad[0] else None
        return of_rows, _Product.apply(rows, grad, ends) if ctx.needs_input_grad[1] else None, None
