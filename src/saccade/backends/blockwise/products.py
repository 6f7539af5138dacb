"""Products of small matrices that overlap in memory, as sliding windows do."""

import math
from itertools import product
from typing import Any

import torch
from torch import Tensor

from saccade._definitions.numerics import broadcast_shapes
from saccade.reads import Soft

WORTH = 1 << 20  # least multiplications of a batch to repay a call of its own instead of a copy


def multiply(left: Tensor, right: Tensor, out: Tensor | None = None) -> Tensor:
    """left @ right with broadcasting, without copies of overlapping views.

    `torch.matmul` makes one batch of all batch dimensions, and copies tensors without such a view: of overlapping keys
    three times their memory. Here the last batch dimension alone is a batch, and the others are a loop.
    """
    batch = broadcast_shapes(left.shape[:-2], right.shape[:-2])
    if _one_batch(left, right, batch):
        return torch.matmul(left, right) if out is None else torch.matmul(left, right, out=out)
    left, right = (part.expand(*batch, *part.shape[-2:]) for part in (left, right))
    out = left.new_empty(*batch, left.shape[-2], right.shape[-1]) if out is None else out
    for entry in product(*map(range, batch[:-1])):
        torch.bmm(left[entry], right[entry], out=out[entry])
    return out


def _one_batch(left: Tensor, right: Tensor, batch: tuple[int, ...]) -> bool:
    """Whether one batch of all batch dimensions is no copy, or a small one."""
    multiplications = left.shape[-2] * math.prod(right.shape[-2:]) * math.prod(batch[-1:])
    return len(batch) < 2 or multiplications < WORTH or (folds(left) and folds(right))


def folds(tensor: Tensor) -> bool:
    """Whether the batch dimensions have a view as one."""
    behind: int | None = None
    for size, stride in zip(reversed(tensor.shape[:-2]), reversed(tensor.stride()[:-2]), strict=True):
        if size == 1:
            continue
        if behind is not None and stride != behind:
            return False
        behind = size * stride
    return True


def multiplied(left: Tensor, right: Tensor) -> Tensor:
    """`multiply`, differentiable by `multiply`."""
    if not torch.is_grad_enabled() or not (left.requires_grad or right.requires_grad):
        return multiply(left, right)
    batch = left.shape[:-2]
    if batch == right.shape[:-2] and _one_batch(left, right, batch):
        return torch.matmul(left, right)
    output: Tensor = _Product.apply(left, right)
    return output


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor) -> Tensor:
        ctx.save_for_backward(left, right)
        return multiply(left, right)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        left, right = ctx.saved_tensors
        left_grad = multiplied(grad, right.mT).sum_to_size(left.shape) if ctx.needs_input_grad[0] else None
        return left_grad, multiplied(left.mT, grad).sum_to_size(right.shape) if ctx.needs_input_grad[1] else None


class Sliding(Soft):
    """`Soft` for values in overlapping views."""

    def __call__(
        self, weights: Tensor, value: Tensor, mask: Tensor | None = None, index: Tensor | None = None
    ) -> Tensor:
        return multiplied(weights, value)


class Unread(Soft):
    """`Soft` with an output of zeros and the right gradients, for a backward alone."""

    def __call__(
        self, weights: Tensor, value: Tensor, mask: Tensor | None = None, index: Tensor | None = None
    ) -> Tensor:
        output: Tensor = _Unread.apply(weights, value)
        return output


class _Unread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, value: Tensor) -> Tensor:
        ctx.save_for_backward(weights, value)
        batch = broadcast_shapes(weights.shape[:-2], value.shape[:-2])
        return weights.new_zeros(()).expand(*batch, weights.shape[-2], value.shape[-1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        return _Product.backward(ctx, grad)
