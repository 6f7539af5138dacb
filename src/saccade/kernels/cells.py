"""Linear maps and recurrent cells for loops, with one sum for their gradients.

At each step of a loop autograd makes a gradient of a weight, as large as the weight, and adds it to the last one. At a
hundred rows that takes a third of the product's own time. Here each step's product is added to the sum in place. The
weight is transposed once, for the forward products, instead of in each of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.kernels import gates
from saccade.kernels.sums import Sums, by_definition
from saccade.kernels.threads import serves


def linear_cell(linear: nn.Linear) -> Callable[[Tensor], Tensor]:
    """The map x ↦ W x + b of `(rows, features)`, for the steps of a loop."""
    step = _step(_LINEAR, linear.weight, linear.bias) if _bare(linear) else None
    return linear if step is None else lambda rows: step(rows)[0]


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
    step = _step(_GRU, weight, bias)
    if step is None:
        return lambda input_gates, hidden: gates.gated(input_gates, F.linear(hidden, weight, bias), hidden)
    return lambda input_gates, hidden: step(hidden, input_gates)[0]


def gru_of(linear: nn.Linear) -> Callable[[Tensor, Tensor], Tensor]:
    """`gru_cell` of a module that multiplies the state. If not `plain`, it is called."""
    if _bare(linear):
        return gru_cell(linear.weight, linear.bias)
    return lambda input_gates, hidden: gates.gated(input_gates, linear(hidden), hidden)


def lstm_cell(weight: Tensor, bias: Tensor) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """`lstm_plain` of x and U h + b for a loop, from x, h and c to the next h and c."""
    step = _step(_LSTM, weight, bias)
    if step is not None:
        return lambda input_gates, hidden, cell: step(hidden, input_gates, cell)
    if torch.is_grad_enabled() or not serves(weight, bias):
        return lambda input_gates, hidden, cell: gates.lstm_plain(input_gates, F.linear(hidden, weight, bias), cell)
    return lambda input_gates, hidden, cell: gates.lstm_forward(input_gates, F.linear(hidden, weight, bias), cell)[:2]


def lstm_of(linear: nn.Linear) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """`lstm_cell` of a module that multiplies the state. If not `plain`, it is called."""
    if _bare(linear):
        return lstm_cell(linear.weight, linear.bias)
    return lambda input_gates, hidden, cell: gates.lstm_plain(input_gates, linear(hidden), cell)


class _Kind(NamedTuple):
    """Functions of a step of W x + b: its definition, its forward and its backward.

    Args:
        definition: of W, b, x and other states.
        forward: of the product, x and other states: the results, and tensors kept for the backward.
        backward: of the results' gradients, these tensors, x and other states: gradients of the product, the part of x
            beside the product, and the other states.
    """

    definition: Callable[..., Any]
    forward: Callable[..., tuple[Sequence[Tensor], Sequence[Tensor]]]
    backward: Callable[..., tuple[Tensor, Tensor | None, Sequence[Tensor]]]


_LINEAR = _Kind(
    lambda weight, bias, rows: F.linear(rows, weight, bias),
    lambda product, rows: ((product,), ()),
    lambda grads, kept, rows: (grads[0], None, ()),
)


def _gru_forward(product: Tensor, hidden: Tensor, input_gates: Tensor) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    new, kept = gates.gates_forward(input_gates, product, hidden)
    return (new,), (kept, product)


def _gru_backward(
    grads: Sequence[Tensor], kept: Sequence[Tensor], hidden: Tensor, input_gates: Tensor
) -> tuple[Tensor, Tensor, Sequence[Tensor]]:
    input_grad, product_grad, hidden_grad = gates.gates_backward(grads[0], kept[0], kept[1], hidden)
    return product_grad, hidden_grad, (input_grad,)


_GRU = _Kind(
    lambda weight, bias, hidden, input_gates: gates.gates_plain(input_gates, F.linear(hidden, weight, bias), hidden),
    _gru_forward,
    _gru_backward,
)


def _lstm_forward(
    product: Tensor, hidden: Tensor, input_gates: Tensor, cell: Tensor
) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    *results, kept = gates.lstm_forward(input_gates, product, cell)
    return tuple(results), (kept,)


def _lstm_backward(
    grads: Sequence[Tensor], kept: Sequence[Tensor], hidden: Tensor, input_gates: Tensor, cell: Tensor
) -> tuple[Tensor, None, Sequence[Tensor]]:
    input_grad, cell_grad = gates.lstm_backward(grads[0], grads[1], kept[0], cell)
    return input_grad, None, (input_grad, cell_grad)


_LSTM = _Kind(
    lambda weight, bias, hidden, input_gates, cell: gates.lstm_plain(input_gates, F.linear(hidden, weight, bias), cell),
    _lstm_forward,
    _lstm_backward,
)


class _Sums(Sums[list[Tensor]]):
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


def _step(kind: _Kind, weight: Tensor, bias: Tensor) -> Callable[..., Any] | None:
    """A function of x and other states, or None if W needs no sum of gradients."""
    if not torch.is_grad_enabled() or not weight.requires_grad or not serves(weight, bias):
        return None
    sums = _Sums()
    gate, transposed = sums.gate(weight, bias), weight.detach().T.contiguous()
    return lambda *states: _Step.apply(kind, sums, gate, transposed, weight, bias, *states)


class _Step(torch.autograd.Function):
    """Product and gates in one, so that their gradients of the state are one sum."""

    @staticmethod
    def forward(
        ctx: Any, kind: _Kind, sums: _Sums, gate: Tensor, transposed: Tensor, *inputs: Tensor
    ) -> Sequence[Tensor]:
        _, bias, rows, *others = inputs
        results, kept = kind.forward(torch.addmm(bias, rows, transposed), rows, *others)
        ctx.kind, ctx.sums, ctx.count = kind, sums, len(inputs)
        ctx.save_for_backward(*inputs, *kept)
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        saved, needed = ctx.saved_tensors, ctx.needs_input_grad  # checkpoints hand saved tensors out once
        inputs, kept = saved[: ctx.count], saved[ctx.count :]
        if torch.is_grad_enabled() or not serves(*grads):
            return None, None, None, None, *by_definition(ctx.kind.definition, inputs, needed[4:], grads)
        weight, _, rows, *others = inputs
        product_grad, rows_grad, others_grads = ctx.kind.backward(grads, kept, rows, *others)
        if needed[2]:
            ctx.sums.add(product_grad, rows)
        if rows_grad is not None:
            rows_grad.addmm_(product_grad, weight)
        elif needed[6]:
            rows_grad = product_grad @ weight
        return None, None, grads[0].new_zeros(()), None, None, None, rows_grad, *others_grads
