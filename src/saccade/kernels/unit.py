"""Vectors of unit length in one pass, and their gradients in another."""

from typing import Any

import torch
from torch import Tensor

from saccade._definitions import numerics
from saccade.kernels.rows import by_rows, mask_rows
from saccade.kernels.scratch import scratch
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import Kernel, serves

__all__ = ["unit"]

_forward, _backward = ({torch.float32: Kernel(f"unit:{name}")} for name in ("forward", "backward"))


def unit(vectors: Tensor, room: str | None = None) -> Tensor:
    r"""\(x / \lVert x \rVert\) along the last dimension, as `numerics.unit` computes it.

    A vector whose gradient is 0 gets a gradient of 0, whatever it holds.

    Args:
        vectors: `(..., D)`, of any type; float32 is compiled.
        room: a name of `scratch`, for a result that is used up before the next by that name: memory that is new takes
            longer to be had than all of it to be computed. Nothing may be recorded then.

    >>> unit(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    if not serves(vectors) or not vectors.numel():
        return numerics.unit(vectors)
    if room is not None:
        return _units(vectors.contiguous(), scratch(room, vectors.shape, vectors.dtype))[0]
    found: Tensor = _Unit.apply(vectors)
    return found


def _units(rows: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
    """Where they are written, and the lengths."""
    lengths = rows.new_empty(rows.shape[:-1], dtype=torch.float64)
    by_rows(_forward, rows, mask_rows(None, tuple(rows.shape)), found, lengths)
    return found, lengths


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor) -> Tensor:
        rows = vectors.contiguous()
        found, lengths = _units(rows, torch.empty_like(rows))
        ctx.save_for_backward(vectors, found, lengths)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor | None:
        vectors, found, lengths = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad):  # a second derivative is to follow, or many at once
            return by_definition(numerics.unit, (vectors,), (True,), grad)[0]
        grad, found = grad.contiguous(), found.contiguous()
        of_rows = torch.empty_like(grad)
        by_rows(_backward, grad, mask_rows(None, tuple(grad.shape)), found, lengths.contiguous(), of_rows)
        return of_rows
