"""Gradients of what a loop uses at every step, summed where they arise.

Autograd makes the whole gradient of a weight or of a memory at every step of a recurrent network, and adds it to the
last one. Here the steps add to one sum; a gate, on which they all hang, hands it over when the last of them has.
"""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["Sums"]

T = TypeVar("T")


class Sums(Generic[T]):
    """What the steps' backwards add up to, for tensors that all of them use.

    Make the gate with `gate(*tensors)` before the first step, and have it and the tensors among the inputs of each
    step's autograd function. Its backward changes `current()` and returns zero for the gate and None for the tensors.

    Sums are kept by backward pass: one that was broken off leaves nothing in the next.
    """

    def __init__(self) -> None:
        self._passes: dict[int, T] = {}

    def start(self) -> T:
        """What a pass begins with."""
        raise NotImplementedError

    def finish(self, total: T) -> Sequence[Tensor | None]:
        """The gradients of the gate's tensors."""
        raise NotImplementedError

    def current(self) -> T:
        """The sums of this backward pass."""
        number = torch._C._current_graph_task_id()
        if number not in self._passes:
            self._passes[number] = self.start()
        return self._passes[number]

    def gate(self, *tensors: Tensor) -> Tensor:
        """A zero that depends on tensors: their gradient is what was summed when its own has come from every step."""
        gate: Tensor = _Gate.apply(self, *tensors)
        return gate

    def _taken(self, count: int) -> Sequence[Tensor | None]:
        number = torch._C._current_graph_task_id()
        return self.finish(self._passes.pop(number)) if number in self._passes else [None] * count


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sums: Sums[Any], *tensors: Tensor) -> Tensor:
        ctx.sums, ctx.count = sums, len(tensors)
        return tensors[0].new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *ctx.sums._taken(ctx.count))
