"""One step of an external memory, all of its heads in one pass: how heads move is said by `shift` and `links`.

By PyTorch's operations a step of a Neural Turing Machine is some sixty small ones, and as many in the backward, each of
which takes longer to start than to do.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor

from saccade.kernels.rows import TYPES
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import Kernel, serves

__all__ = ["Formula", "Heads", "columns", "empty_columns", "kernels", "step"]

Formula: TypeAlias = Callable[..., tuple[Tensor, ...]]


class Heads(Protocol):
    """The heads of a memory, and how a step of theirs is computed."""

    @property
    def formula(self) -> Formula:
        """The step by PyTorch's operations: for what kernels do not serve, and for second derivatives."""

    def forward(self, *tensors: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The step by a kernel, and what its backward needs: first the results."""

    def backward(self, kept: Sequence[Tensor], grads: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The gradients of the tensors from those of the results, by a kernel."""


def kernels(single: str, double: str) -> dict[torch.dtype, Kernel]:
    """The kernels of float32 and of float64, from their names."""
    return {torch.float32: Kernel(single), torch.float64: Kernel(double)}


def step(heads: Heads, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The state of a memory after a step.

    Args:
        heads: of the memory.
        tensors: what heads ask for, `(batch, features)`, and the state before.
    """
    first = tensors[0]
    same = all(tensor.dtype == first.dtype for tensor in tensors)
    # With one feature a cosine is 1 or -1, and its gradient, 0, the difference of two numbers that a kernel rounds.
    single = any(tensor.ndim == 3 and tensor.shape[-1] == 1 for tensor in tensors)
    if not same or single or not first.shape[0] or not serves(*tensors, dtypes=TYPES):
        return heads.formula(*tensors)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        found: tuple[Tensor, ...] = _Step.apply(heads, *tensors)
        return found
    return heads.forward(*tensors)[0]


def columns(memory: Tensor) -> Tensor:
    """`(batch, cells, features)` with the cells side by side, as kernels read and write it."""
    return memory.mT.contiguous().mT


def empty_columns(memory: Tensor) -> Tensor:
    """Room for another such memory."""
    batch, cells, size = memory.shape
    return memory.new_empty_strided((batch, cells, size), (cells * size, 1, cells))


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, heads: Heads, *tensors: Tensor) -> tuple[Tensor, ...]:
        found, kept = heads.forward(*tensors)
        ctx.heads, ctx.count, ctx.strides = heads, len(tensors), [part.stride() for part in kept]
        ctx.save_for_backward(*tensors, *kept)
        ctx.set_materialize_grads(False)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        saved = ctx.saved_tensors  # read once: activation checkpointing hands each of them out once
        inputs, kept = saved[: ctx.count], saved[ctx.count :]
        pairs = zip(grads, kept[: len(grads)], strict=True)
        given = [torch.zeros_like(part) if grad is None else grad for grad, part in pairs]
        if torch.is_grad_enabled() or not serves(*given, dtypes=TYPES):
            return (None, *by_definition(ctx.heads.formula, inputs, ctx.needs_input_grad[1:], given))
        return (None, *ctx.heads.backward(list(map(_laid, kept, ctx.strides)), given))


def _laid(tensor: Tensor, strides: tuple[int, ...]) -> Tensor:
    """A tensor with these strides, which hooks on saved tensors may have changed."""
    return tensor if tensor.stride() == strides else tensor.new_empty_strided(tensor.shape, strides).copy_(tensor)
