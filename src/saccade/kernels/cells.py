"""Linear maps and recurrent cells for loops, with one sum for their gradients.

At each step of a loop autograd makes a gradient of a weight, as large as the weight, and adds it to the last one. At a
hundred rows that takes a third of the product's own time. Here each step's product is added to the sum in place. The
weight is transposed once, for the forward products, instead of in each of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.kernels import gates
from saccade.kernels.sums import Sums, by_definition
from saccade.kernels.threads import serves


def linear_cell(linear: nn.Linear) -> Callable[[Tensor], Tensor]:
    """The map x ↦ W x + b of `(rows, features)`, for the steps of a loop."""
    shared = _shared(linear.weight, linear.bias) if _bare(linear) else None
    return linear if shared is None else lambda rows: _Step.apply(*shared, rows)


def plain(module: Any, kind: type[nn.Module] = nn.Linear) -> bool:
    """Whether a module computes as torch's class does, for use of its weights alone.

    Adapters, quantized layers and parametrized ones are of other classes. Hooks, or a `forward` of the instance, run
    in a call alone.
    """
    if type(module) is not kind or "forward" in vars(module):
        return False
    hooks = module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks
    return not any(hooks)


def _bare(linear: nn.Linear) -> bool:
    return plain(linear) and linear.bias is not None


def gru_cell(weight: Tensor, bias: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """`gates_plain` of x and U h + b for a loop, from x and h to the next h."""
    shared = _shared(weight, bias)
    if shared is None:
        return lambda input_gates, hidden: gates.gated(input_gates, F.linear(hidden, weight, bias), hidden)
    return lambda input_gates, hidden: _Gru.apply(*shared, hidden, input_gates)


def gru_of(linear: nn.Linear) -> Callable[[Tensor, Tensor], Tensor]:
    """`gru_cell` of a module that multiplies the state. If not `plain`, it is called."""
    if _bare(linear):
        return gru_cell(linear.weight, linear.bias)
    return lambda input_gates, hidden: gates.gated(input_gates, linear(hidden), hidden)


def lstm_cell(weight: Tensor, bias: Tensor) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """`lstm_plain` of x and U h + b for a loop, from x, h and c to the next h and c."""
    shared = _shared(weight, bias)
    if shared is not None:
        return lambda input_gates, hidden, cell: _Lstm.apply(*shared, hidden, input_gates, cell)
    if torch.is_grad_enabled() or not serves(weight, bias):
        return lambda input_gates, hidden, cell: gates.lstm_plain(input_gates, F.linear(hidden, weight, bias), cell)
    return lambda input_gates, hidden, cell: gates.lstm_forward(input_gates, F.linear(hidden, weight, bias), cell)[:2]


def lstm_of(linear: nn.Linear) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """`lstm_cell` of a module that multiplies the state. If not `plain`, it is called."""
    if _bare(linear):
        return lstm_cell(linear.weight, linear.bias)
    return lambda input_gates, hidden, cell: gates.lstm_plain(input_gates, linear(hidden), cell)


class _Sums(Sums[list[Tensor]]):
    """The gradients of W and b, once a step has added its own."""

    def start(self) -> list[Tensor]:
        return []

    def add(self, grad: Tensor, rows: Tensor) -> None:
        total = self.current()
        if total:
            total[0].addmm_(grad.T, rows)
            total[1].add_(grad.sum(0))
        else:
            total += grad.T @ rows, grad.sum(0)

    def finish(self, total: list[Tensor]) -> list[Tensor]:
        return total


def _shared(weight: Tensor, bias: Tensor) -> tuple[Any, ...] | None:
    """Inputs of all steps, or None if W needs no sum of gradients."""
    if not torch.is_grad_enabled() or not weight.requires_grad or not serves(weight, bias):
        return None
    sums = _Sums()
    return sums, sums.gate(weight, bias), weight.detach().T.contiguous(), weight, bias


def _again(ctx: Any, definition: Callable[..., Any], inputs: Sequence[Tensor], grads: Any) -> tuple[Any, ...]:
    """Gradients of a step's inputs by its definition, W's and b's too."""
    return None, None, None, *by_definition(definition, inputs, ctx.needs_input_grad[3:], grads)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, sums: _Sums, gate: Tensor, transposed: Tensor, weight: Tensor, bias: Tensor, rows: Tensor
    ) -> Tensor:
        ctx.sums = sums
        ctx.save_for_backward(weight, bias, rows)
        return torch.addmm(bias, rows, transposed)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        weight, bias, rows = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad):
            return _again(ctx, lambda weight, bias, rows: F.linear(rows, weight, bias), (weight, bias, rows), grad)
        if ctx.needs_input_grad[1]:
            ctx.sums.add(grad, rows)
        return None, grad.new_zeros(()), None, None, None, grad @ weight if ctx.needs_input_grad[5] else None


class _Gru(torch.autograd.Function):
    """Product and gates in one, so that their gradients of the state are one sum."""

    @staticmethod
    def forward(ctx: Any, sums: _Sums, gate: Tensor, transposed: Tensor, *inputs: Tensor) -> Tensor:
        _, bias, hidden, input_gates = inputs
        product = torch.addmm(bias, hidden, transposed)
        new, kept = gates.gates_forward(input_gates, product, hidden)
        ctx.sums = sums
        ctx.save_for_backward(*inputs, kept, product)
        return new

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        weight, bias, hidden, input_gates, kept, product = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad):
            return _again(ctx, _gru, (weight, bias, hidden, input_gates), grad)
        input_grad, product_grad, hidden_grad = gates.gates_backward(grad, kept, product, hidden)
        if ctx.needs_input_grad[1]:
            ctx.sums.add(product_grad, hidden)
        return None, grad.new_zeros(()), None, None, None, hidden_grad.addmm_(product_grad, weight), input_grad


def _gru(weight: Tensor, bias: Tensor, hidden: Tensor, input_gates: Tensor) -> Tensor:
    return gates.gates_plain(input_gates, F.linear(hidden, weight, bias), hidden)


class _Lstm(torch.autograd.Function):
    """Product and gates in one, as `_Gru` has them."""

    @staticmethod
    def forward(ctx: Any, sums: _Sums, gate: Tensor, transposed: Tensor, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        _, bias, hidden, input_gates, cell = inputs
        following, new, kept = gates.lstm_forward(input_gates, torch.addmm(bias, hidden, transposed), cell)
        ctx.sums = sums
        ctx.save_for_backward(*inputs, kept)
        return following, new

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        weight, bias, hidden, input_gates, cell, kept = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(*grads):
            return _again(ctx, _lstm, (weight, bias, hidden, input_gates, cell), grads)
        input_grad, cell_grad = gates.lstm_backward(grads[0], grads[1], kept, cell)
        if ctx.needs_input_grad[1]:
            ctx.sums.add(input_grad, hidden)
        return None, grads[0].new_zeros(()), None, None, None, input_grad @ weight, input_grad, cell_grad


def _lstm(weight: Tensor, bias: Tensor, hidden: Tensor, input_gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    return gates.lstm_plain(input_gates, F.linear(hidden, weight, bias), cell)
