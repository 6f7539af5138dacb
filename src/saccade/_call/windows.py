"""Some keys of a tensor, as many for each entry of its batch, and their gradients.

Those of one memory's reads are summed where they arise, so that a step backward costs its window, too.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from saccade.kernels.scratch import scratch
from saccade.kernels.sums import Sums, by_definition
from saccade.kernels.threads import addressed


def taken(tensor: Tensor, dim: int, first: int | Tensor, width: int, room: str | None = None) -> Tensor:
    """`width` positions of a dimension ≥ 0, a copy unless all entries begin alike.

    Integers `first` broadcast with the dimensions before `dim`. A copy that nobody keeps may lie in the scratch `room`.
    """
    if not isinstance(first, Tensor):
        return tensor.narrow(dim, first, width)
    axis = _varying(first)
    if axis is None:
        rank = first.ndim
        return tensor.movedim(dim, rank)[_index(tensor, first, width)].movedim(rank, dim)
    entries, starts = _entries(tensor, axis, first), first.flatten().tolist()
    parts = [entry.narrow(dim - 1, start, width) for entry, start in zip(entries, starts, strict=True)]
    if room is None:
        return torch.stack(parts, axis)
    shape = list(parts[0].shape)
    shape.insert(axis, len(parts))
    return torch.stack(parts, axis, out=scratch(room, shape, tensor.dtype))


def _varying(first: Tensor) -> int | None:
    """The only dimension with several entries, or None."""
    varying = [axis for axis in range(first.ndim) if first.shape[axis] > 1]
    return varying[0] if len(varying) == 1 else None


def _entries(tensor: Tensor, axis: int, first: Tensor) -> tuple[Tensor, ...]:
    entries = tensor.unbind(axis)
    return entries if len(entries) == first.shape[axis] else entries * first.shape[axis]


def _index(tensor: Tensor, first: Tensor, width: int) -> tuple[Tensor, ...]:
    """Indices of rows of a tensor with positions behind its batch dimensions."""
    sizes = enumerate(tensor.shape[: first.ndim])
    index = (torch.arange(size, device="cpu").view(size, *[1] * (first.ndim - axis)) for axis, size in sizes)
    return *index, first[..., None] + torch.arange(width, device="cpu")


class WindowSums(Sums[list[Tensor | None]]):
    """Gradients of a memory's key and value, summed over the reads of their parts."""

    def start(self) -> list[Tensor | None]:
        return [None, None]

    def finish(self, total: list[Tensor | None]) -> list[Tensor | None]:
        return total


class Windows:
    """Parts of a memory. The sums do not hold their gate, whose graph holds the sums."""

    def __init__(self) -> None:
        self.sums = WindowSums()
        self._made: tuple[Tensor, Tensor, Tensor] | None = None  # the gate, key and value

    def of(self, key: Tensor, value: Tensor, first: int | Tensor, width: int, rank: int) -> tuple[Tensor, Tensor]:
        """Keys of a memory and their values, for a call of `rank` batch dimensions."""
        if self._made is None and torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):
            self._made = self.sums.gate(key, value), key, value
        gate, *made = self._made or (None, None, None)
        summed, function = key is made[0] and value is made[1], partial(_aligned, first=first, width=width, rank=rank)
        parts = [
            _Taken.apply(tensor, gate, self.sums, index, function)
            if summed and tensor.requires_grad
            else function(tensor)
            for index, tensor in enumerate((key, value))
        ]
        return parts[0], parts[1]


def _aligned(tensor: Tensor, *, first: int | Tensor, width: int, rank: int) -> Tensor:
    """Keys of a tensor that may have fewer batch dimensions than the call."""
    tensor = tensor[(None,) * (rank + 2 - tensor.ndim)]
    return taken(tensor, rank, first, width)


class _Taken(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, tensor: Tensor, gate: Tensor, sums: WindowSums, index: int, function: Callable[[Tensor], Tensor]
    ) -> Tensor:
        ctx.sums, ctx.index, ctx.function = sums, index, function
        ctx.save_for_backward(tensor)
        return function(tensor).clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        (tensor,) = ctx.saved_tensors
        mapped = torch._C._are_functorch_transforms_active() or not addressed(grad)  # torch maps gradients its own way
        if torch.is_grad_enabled() or not ctx.needs_input_grad[1] or mapped:
            return (*by_definition(ctx.function, (tensor,), (True,), grad), *[None] * 4)
        total = ctx.sums.current()
        if total[ctx.index] is None:
            total[ctx.index] = torch.zeros_like(tensor)
        _add(total[ctx.index], grad, **ctx.function.keywords)
        return None, grad.new_zeros(()), None, None, None


def _add(total: Tensor, grad: Tensor, first: int | Tensor, width: int, rank: int) -> None:
    """Adds the gradient of `_aligned` where it came from."""
    total = total[(None,) * (rank + 2 - total.ndim)]
    if not isinstance(first, Tensor):
        total.narrow(rank, first, width).add_(grad)
    elif (axis := _varying(first)) is None:
        total.index_put_(_index(total, first, width), grad, accumulate=True)
    else:
        starts, parts = first.flatten().tolist(), grad.unbind(axis)
        for entry, start, part in zip(_entries(total, axis, first), starts, parts, strict=True):
            entry.narrow(rank - 1, start, width).add_(part)
