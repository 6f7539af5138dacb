"""`gated`, the gated recurrent unit's gates: one pass over what its two products made, forward and backward."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.team import Kernel, serves

__all__ = ["gated"]

_ROWS = 8
_forward, _backward = Kernel("gates:forward"), Kernel("gates:backward")


def gated(entering: Tensor, before: Tensor, hidden: Tensor) -> Tensor:
    if serves(entering, before, hidden) and hidden.ndim == 2:
        if torch.is_grad_enabled() and (entering.requires_grad or before.requires_grad or hidden.requires_grad):
            return _Gated.apply(entering, before, hidden)
        return _run(entering, before, hidden)[0]
    size = hidden.shape[-1]
    gates = torch.sigmoid(entering[..., : 2 * size] + before[..., : 2 * size])
    reset, update = gates.split(size, -1)
    new = torch.tanh(torch.addcmul(entering[..., 2 * size :], reset, before[..., 2 * size :]))
    return torch.lerp(new, hidden, update)


def rows_of(tensor: Tensor) -> Tensor:
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _run(entering, before, hidden):
    rows, size = hidden.shape
    entering, before, hidden = rows_of(entering), before.contiguous(), rows_of(hidden)
    new, gates = torch.empty_like(hidden, memory_format=torch.contiguous_format), torch.empty_like(before)
    _forward(-(-rows // _ROWS), entering, entering.stride(0), before, hidden, hidden.stride(0), new, gates, rows, size)
    return new, gates


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, entering: Tensor, before: Tensor, hidden: Tensor) -> Tensor:
        new, gates = _run(entering, before, hidden)
        ctx.save_for_backward(gates, before, hidden)
        return new

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor):
        gates, before, hidden = ctx.saved_tensors
        rows, size = hidden.shape
        grad, before, hidden = rows_of(grad), before.contiguous(), rows_of(hidden)
        e, b, h = torch.empty_like(gates), torch.empty_like(gates), torch.empty(rows, size)
        _backward(-(-rows // _ROWS), grad, grad.stride(0), gates, before, hidden, hidden.stride(0), e, b, h, rows, size)
        return e, b, h
