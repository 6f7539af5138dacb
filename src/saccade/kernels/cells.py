"""Linear maps and recurrent cells for loops, with one sum for their gradients."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.kernels.gates import (
    gated,
    gates_backward,
    gates_forward,
    gates_plain,
    lstm_backward,
    lstm_forward,
    lstm_plain,
)
from saccade.kernels.sums import Sums, by_definition
from saccade.kernels.threads import serves

__all__ = ["gru_cell", "gru_of", "linear_cell", "lstm_cell", "lstm_of", "plain"]


def linear_cell(linear: nn.Linear) -> Callable[[Tensor], Tensor]:
    r"""The map \(x \mapsto W x + b\) of `(rows, features)`, for the steps of a loop.

    Autograd makes a gradient of W at each step, as large as W, and then adds it to the last one: at a hundred rows a
    third of the product's own time. Here each step's product is added to the sum in place. W is transposed once,
    for the forward products, instead of in each of them.

    Args:
        linear: a module that is not `plain`, or has no bias, is called at each step.

    Example:
        >>> linear, rows = nn.Linear(3, 2), torch.ones(4, 3)
        >>> step = linear_cell(linear)
        >>> torch.allclose(step(rows), linear(rows))
        True
    """
    if not torch.is_grad_enabled() or not plain(linear) or linear.bias is None:
        return linear
    weight, bias = linear.weight, linear.bias
    if not weight.requires_grad or not serves(weight, bias):
        return linear
    sums = _Sums()
    gate = sums.gate(weight, bias)
    transposed = weight.detach().T.contiguous()
    return lambda rows: _Step.apply(sums, gate, rows, weight, transposed, bias)


def plain(module: Any, kind: type[nn.Module] = nn.Linear) -> bool:
    """Whether a module computes as torch's class does, for use of its weights alone.

    Adapters, quantized layers and parametrized ones are of other classes. Hooks, or a `forward` of the instance, run
    in a call alone.

    >>> linear = nn.Linear(2, 2)
    >>> plain(linear), plain(nn.Sequential(linear)), plain(nn.utils.parametrizations.weight_norm(linear))
    (True, False, False)
    """
    if type(module) is not kind or "forward" in vars(module):
        return False
    hooks = module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks
    return not any(hooks)


def gru_cell(weight: Tensor, bias: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    r"""The gated recurrent unit with \(U h + b\) of the state, for the steps of a loop.

    Args:
        weight: U, `(3 hidden, hidden)`, in the order of reset, update and candidate.
        bias: b, `(3 hidden,)`.

    Returns:
        A function of the input's part of the gates, `(rows, 3 hidden)`, and the state, `(rows, hidden)`, that returns
        the next state. See `saccade.kernels.gates.gated`.

    Example:
        >>> step = gru_cell(torch.randn(6, 2), torch.zeros(6))
        >>> step(torch.zeros(4, 6), torch.ones(4, 2)).shape
        torch.Size([4, 2])
    """
    if not torch.is_grad_enabled() or not weight.requires_grad or not serves(weight, bias):
        return lambda input_gates, hidden: gated(input_gates, F.linear(hidden, weight, bias), hidden)
    sums = _Sums()
    gate = sums.gate(weight, bias)
    transposed = weight.detach().T.contiguous()
    return lambda input_gates, hidden: _Gru.apply(sums, gate, input_gates, hidden, weight, transposed, bias)


def gru_of(linear: nn.Linear) -> Callable[[Tensor, Tensor], Tensor]:
    """`gru_cell` of a module that multiplies the state. If not `plain`, it is called.

    Args:
        linear: from the state to the gates, `hidden` to `3 hidden` features.

    Example:
        >>> gru_of(nn.Linear(2, 6))(torch.zeros(4, 6), torch.ones(4, 2)).shape
        torch.Size([4, 2])
    """
    if plain(linear) and linear.bias is not None:
        return gru_cell(linear.weight, linear.bias)
    return lambda input_gates, hidden: gated(input_gates, linear(hidden), hidden)


def lstm_of(linear: nn.Linear) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """`lstm_cell` of a module that multiplies the state. If not `plain`, it is called.

    Args:
        linear: from the state to the gates, `hidden` to `4 hidden` features.

    Example:
        >>> hidden, cell = lstm_of(nn.Linear(2, 8))(torch.zeros(4, 8), torch.ones(4, 2), torch.ones(4, 2))
        >>> hidden.shape, cell.shape
        (torch.Size([4, 2]), torch.Size([4, 2]))
    """
    if plain(linear) and linear.bias is not None:
        return lstm_cell(linear.weight, linear.bias)
    return lambda input_gates, hidden, cell: lstm_plain(input_gates, linear(hidden), cell)


class _Gru(torch.autograd.Function):
    """Product and gates in one, so that their gradients of the state are one sum."""

    @staticmethod
    def forward(
        ctx: Any,
        sums: "_Sums",
        gate: Tensor,
        input_gates: Tensor,
        hidden: Tensor,
        weight: Tensor,
        transposed: Tensor,
        bias: Tensor,
    ) -> Tensor:
        hidden_gates = torch.addmm(bias, hidden, transposed)
        new, gates = gates_forward(input_gates, hidden_gates, hidden)
        ctx.sums = sums
        ctx.save_for_backward(input_gates, gates, hidden_gates, hidden, weight, bias)
        return new

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        input_gates, gates, hidden_gates, hidden, weight, bias = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad):
            needed = [ctx.needs_input_grad[i] for i in (2, 3, 4, 6)]
            gradients = by_definition(_gru, (input_gates, hidden, weight, bias), needed, grad)
            return None, None, gradients[0], gradients[1], gradients[2], None, gradients[3]
        input_grad, gates_grad, hidden_grad = gates_backward(grad, gates, hidden_gates, hidden)
        if ctx.needs_input_grad[1]:
            ctx.sums.add(gates_grad, hidden)
        return None, grad.new_zeros(()), input_grad, hidden_grad.addmm_(gates_grad, weight), None, None, None


def _gru(input_gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return gates_plain(input_gates, F.linear(hidden, weight, bias), hidden)


def lstm_cell(weight: Tensor, bias: Tensor) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    r"""Long short-term memory with \(U h + b\) of the state, for the steps of a loop.

    Args:
        weight: U, `(4 hidden, hidden)`, in the order of input, forget, candidate and output.
        bias: b, `(4 hidden,)`.

    Returns:
        A function of the input's part of the gates, `(rows, 4 hidden)`, the state and the cell, `(rows, hidden)` each,
        that returns the next state and cell. See `saccade.kernels.gates.lstm_plain`.

    Example:
        >>> step = lstm_cell(torch.randn(8, 2), torch.zeros(8))
        >>> [part.shape for part in step(torch.zeros(4, 8), torch.ones(4, 2), torch.ones(4, 2))]
        [torch.Size([4, 2]), torch.Size([4, 2])]
    """
    if not serves(weight, bias) or (torch.is_grad_enabled() and not weight.requires_grad):
        return lambda input_gates, hidden, cell: lstm_plain(input_gates, F.linear(hidden, weight, bias), cell)
    if not torch.is_grad_enabled():
        return lambda input_gates, hidden, cell: lstm_forward(input_gates, F.linear(hidden, weight, bias), cell)[:2]
    sums = _Sums()
    gate = sums.gate(weight, bias)
    transposed = weight.detach().T.contiguous()

    def step(input_gates: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        following: tuple[Tensor, Tensor] = _Lstm.apply(sums, gate, input_gates, hidden, cell, weight, transposed, bias)
        return following

    return step


class _Lstm(torch.autograd.Function):
    """Product and gates in one, as `_Gru` has them."""

    @staticmethod
    def forward(
        ctx: Any,
        sums: "_Sums",
        gate: Tensor,
        input_gates: Tensor,
        hidden: Tensor,
        cell: Tensor,
        weight: Tensor,
        transposed: Tensor,
        bias: Tensor,
    ) -> tuple[Tensor, Tensor]:
        following, new, gates = lstm_forward(input_gates, torch.addmm(bias, hidden, transposed), cell)
        ctx.sums = sums
        ctx.save_for_backward(input_gates, gates, hidden, cell, weight, bias)
        return following, new

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        input_gates, gates, hidden, cell, weight, bias = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(*grads):
            needed = [ctx.needs_input_grad[i] for i in (2, 3, 4, 5, 7)]
            gradients = by_definition(_lstm, (input_gates, hidden, cell, weight, bias), needed, grads)
            return None, None, *gradients[:4], None, gradients[4]
        input_grad, cell_grad = lstm_backward(grads[0], grads[1], gates, cell)
        if ctx.needs_input_grad[1]:
            ctx.sums.add(input_grad, hidden)
        return None, input_gates.new_zeros(()), input_grad, input_grad @ weight, cell_grad, None, None, None


def _lstm(input_gates: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    return lstm_plain(input_gates, F.linear(hidden, weight, bias), cell)


class _Sums(Sums[list[Tensor]]):
    """The gradients of W and b."""

    def start(self) -> list[Tensor]:
        return []

    def add(self, grad: Tensor, rows: Tensor) -> None:
        """Add one step's."""
        total = self.current()
        if total:
            total[0].addmm_(grad.T, rows)
            total[1].add_(grad.sum(0))
        else:
            total += grad.T @ rows, grad.sum(0)

    def finish(self, total: list[Tensor]) -> list[Tensor]:
        return total


class _Step(torch.autograd.Function):
    """W x + b, its weight's gradient added to the sums."""

    @staticmethod
    def forward(
        ctx: Any, sums: _Sums, gate: Tensor, rows: Tensor, weight: Tensor, transposed: Tensor, bias: Tensor
    ) -> Tensor:
        ctx.sums = sums
        ctx.save_for_backward(rows, weight, bias)
        return torch.addmm(bias, rows, transposed)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        rows, weight, bias = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad):
            needed = [ctx.needs_input_grad[i] for i in (2, 3, 5)]
            gradients = by_definition(F.linear, (rows, weight, bias), needed, grad)
            return None, None, gradients[0], gradients[1], None, gradients[2]
        if ctx.needs_input_grad[1]:
            ctx.sums.add(grad, rows)
        return None, grad.new_zeros(()), (grad @ weight if ctx.needs_input_grad[2] else None), None, None, None
