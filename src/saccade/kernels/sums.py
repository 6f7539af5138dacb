"""Gradients of tensors that a loop uses at every step, summed step by step.

Autograd makes the whole gradient of a weight or of a memory at every step of a recurrent network, and adds it to the
last one. Here the steps add to one sum. A gate that all of them depend on hands it over after the last step.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

T = TypeVar("T")


class Sums(ABC, Generic[T]):
    """Sums over the steps' backwards, for tensors that all of them use.

    Make the gate before the first step, and have it and the tensors among the inputs of each step's autograd function.
    Its backward changes `current()` and returns zero for the gate and None for the tensors, or the tensors' gradients
    and None for the gate. Sums are kept by backward pass, and go with it.
    """

    def __init__(self) -> None:
        self._passes: dict[int, T] = {}

    @abstractmethod
    def start(self) -> T:
        """The sums of a pass before its first step."""

    @abstractmethod
    def finish(self, total: T) -> Sequence[Tensor | None]:
        """The gradients of the gate's tensors."""

    def current(self) -> T:
        number = torch._C._current_graph_task_id()
        if number not in self._passes:
            self._passes[number] = self.start()

            def forget() -> None:  # a pass may end without coming to the gate
                self._passes.pop(number, None)

            torch.autograd.Variable._execution_engine.queue_callback(forget)
        return self._passes[number]

    def gate(self, *tensors: Tensor) -> Tensor:
        """A zero of tensors with the sums as gradients, once every step gave its own."""
        gate: Tensor = _Gate.apply(self, *tensors)
        return gate


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sums: Sums[Any], *tensors: Tensor) -> Tensor:
        ctx.sums, ctx.count = sums, len(tensors)
        return tensors[0].new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        number, passes = torch._C._current_graph_task_id(), ctx.sums._passes
        return (None, *(ctx.sums.finish(passes.pop(number)) if number in passes else [None] * ctx.count))


def by_definition(
    function: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Sequence[Tensor],
    needed: Sequence[bool],
    grad: Tensor | Sequence[Tensor],
) -> list[Tensor | None]:
    """Gradients of inputs that need them, by torch's operations, for any derivative."""
    again = torch.is_grad_enabled()
    with torch.enable_grad(), torch.autocast("cpu", enabled=False):  # the forward's casts are done
        # Views: an input may depend on another, which is not this function's derivative.
        leaves = [
            tensor.view_as(tensor) if again else tensor.detach().requires_grad_(want)
            for tensor, want in zip(inputs, needed, strict=True)
        ]
        chosen = [tensor for tensor, want in zip(leaves, needed, strict=True) if want]
        gradients = iter(torch.autograd.grad(function(*leaves), chosen, grad, create_graph=again, allow_unused=True))
    return [next(gradients) if want else None for want in needed]
