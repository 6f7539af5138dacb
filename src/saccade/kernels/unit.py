"""Vectors of unit length in one pass, and their gradients in another."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade._definitions import numerics
from saccade.kernels.rows import RowBlocks, row_blocks
from saccade.kernels.scratch import scratch
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import Kernel, serves


class Unit(NamedTuple):
    """Table of the forward, and with `grads` of the backward."""

    rows: RowBlocks
    vectors: Tensor
    units: Tensor
    lengths: Tensor  # float64
    grads: Tensor | None = None
    vectors_grad: Tensor | None = None


_forward, _backward = Kernel("unit.forward", Unit), Kernel("unit.backward", Unit)


def unit(vectors: Tensor, room: str | None = None) -> Tensor:
    """x / ‖x‖ in the last dimension, as `numerics.unit` has it.

    A vector whose gradient is 0 gets a gradient of 0, whatever it holds. `room` is a name of `scratch`, for a result
    that is used up before the next by that name: memory that is new takes longer to be had than all of it to be
    computed. Nothing may be recorded then.
    """
    if not serves(vectors) or not vectors.numel():
        return numerics.unit(vectors)
    if room is not None:
        return _units(vectors.contiguous(), scratch(room, vectors.shape, vectors.dtype))[0]
    units: Tensor = _Unit.apply(vectors)
    return units


def _units(vectors: Tensor, units: Tensor) -> tuple[Tensor, Tensor]:
    lengths = vectors.new_empty(vectors.shape[:-1], dtype=torch.float64)
    rows = row_blocks(vectors)
    _forward(rows.blocks, Unit(rows, vectors, units, lengths))
    return units, lengths


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor) -> Tensor:
        contiguous = vectors.contiguous()
        units, lengths = _units(contiguous, torch.empty_like(contiguous))
        ctx.save_for_backward(vectors, units, lengths)
        return units

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor | None:
        vectors, units, lengths = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad):  # a second derivative is to follow, or many at once
            return by_definition(numerics.unit, (vectors,), (True,), grad)[0]
        grad = grad.contiguous()
        rows, vectors_grad = row_blocks(grad), torch.empty_like(grad)
        table = Unit(rows, vectors, units.contiguous(), lengths.contiguous(), grad, vectors_grad)
        _backward(rows.blocks, table)
        return vectors_grad
