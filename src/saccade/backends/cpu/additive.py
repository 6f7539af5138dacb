"""Additive attention by the compiled kernels, as a differentiable function of its tensors."""

from typing import Any

import torch
from torch import Tensor

from saccade.kernels.sums import Sums
from saccade.kernels.team import Kernel
from saccade.normalizers import Softmax
from saccade.scores import Additive

__all__ = ["Steps", "attention"]

_forward, _backward = Kernel("additive:forward"), Kernel("additive:backward")


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    v: Tensor,
    powers: Tensor,
    mask: Tensor | None,
    temperature: float,
    steps: "Steps | None" = None,
) -> Tensor:
    r"""Fused \(\sum_j \operatorname{softmax}_j(v^\top \tanh(q_i + k_j) / T)\, \mathrm{value}_j\).

    Args:
        query: `(N, Lq, D)`.
        key: `(N, Lk, D)`.
        value: `(N, Lk, Dv)`.
        v: `(D,)`, or `(N, D)`.
        powers: `saccade.scores.exponentials` of the key; no gradient passes through them.
        mask: boolean `(N or 1, Lq or 1, Lk)`, or None.
        temperature: T.
        steps: what the reads of one memory share, these key and value.

    Returns:
        `(N, Lq, Dv)`.
    """
    tensors = query, key, value, v
    if not torch.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors):
        return _run(*tensors, powers, mask, temperature)[0]
    gate = None if steps is None else steps.gate_of(key, value)
    found: Tensor = _Attention.apply(*tensors, gate, steps if gate is not None else None, powers, mask, temperature)
    return found


class Steps(Sums[dict[str, Any]]):
    """The gradients of a memory's key and value, over all reads of it."""

    def __init__(self) -> None:
        super().__init__()
        self._gates: dict[tuple[int, ...], Tensor] = {}

    def gate_of(self, key: Tensor, value: Tensor) -> Tensor | None:
        """The gate of these tensors; None where neither learns.

        The tensors are the memory's as folded for a query's batch: of one shape they are always the same.
        """
        if not (key.requires_grad or value.requires_grad):
            return None
        if key.shape not in self._gates:
            self._gates[key.shape] = self.gate(key, value)
        return self._gates[key.shape]

    def start(self) -> dict[str, Any]:
        return {"key": None, "weights": [], "grads": []}

    def finish(self, total: dict[str, Any]) -> tuple[Tensor, Tensor]:
        return total["key"], torch.cat(total["weights"], 1).mT @ torch.cat(total["grads"], 1)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        v: Tensor,
        gate: Tensor | None,
        steps: Steps | None,
        powers: Tensor,
        mask: Tensor | None,
        temperature: float,
    ) -> Tensor:
        output, weights, kinds = _run(query, key, value, v, powers, mask, temperature)
        ctx.temperature, ctx.steps = temperature, steps
        ctx.save_for_backward(query, key, value, v, powers, mask, weights, kinds)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        query, key, value, v, powers, mask, weights, kinds = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative is to follow: through the definition
            return (*_definition_gradients(ctx, (query, key, value, v), mask, grad), *[None] * 5)
        total = None if ctx.steps is None else ctx.steps.current()
        parts, sizes = _table(query, key, value, v, powers, mask)
        grad, features, width = grad.contiguous(), query.shape[-1], key.shape[-2]
        query_grad = query.new_empty(query.shape)
        key_grad = key.new_zeros(key.shape) if total is None or total["key"] is None else total["key"]
        v_grad, room = query.new_zeros(len(query), features), query.new_empty(len(query), 2 * features + width)
        numbers = torch.tensor([ctx.temperature])
        _backward(len(query), *parts, grad, weights, kinds, room, *sizes, numbers, query_grad, key_grad, v_grad)
        v_grad = v_grad.sum(0) if v.ndim == 1 else v_grad
        if total is None:
            return query_grad, key_grad, weights.mT @ grad, v_grad, *[None] * 5
        total["key"] = key_grad
        total["weights"].append(weights)
        total["grads"].append(grad)
        return query_grad, None, None, v_grad, grad.new_zeros(()), *[None] * 4


def _table(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, powers: Tensor, mask: Tensor | None
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The beginning of the kernels' table, and the sizes."""
    length, features = query.shape[1:]
    width, out = value.shape[-2:]
    query, key, value, v, powers = (part.contiguous() for part in (query, key, value, v, powers))
    mask = torch.ones(1, 1, width, dtype=torch.bool) if mask is None else mask.contiguous()
    steps = 0 if len(mask) == 1 else mask.stride(0), 0 if mask.shape[1] == 1 else mask.stride(1)
    parts = query, key, powers, value, v, 0 if v.ndim == 1 else features, mask, *steps
    return parts, (length, width, features, out)


def _run(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, powers: Tensor, mask: Tensor | None, temperature: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Output, weights, and which way each row's scores were computed."""
    parts, sizes = _table(query, key, value, v, powers, mask)
    length, width, features, out = sizes
    batch = len(query)
    output, weights = query.new_empty(batch, length, out), query.new_zeros(batch, length, width)
    kinds, room = query.new_empty(batch, length, dtype=torch.uint8), query.new_empty(batch, features)
    _forward(batch, *parts, output, weights, kinds, room, *sizes, torch.tensor([temperature]))
    return output, weights, kinds


def _definition_gradients(
    ctx: Any, tensors: tuple[Tensor, ...], mask: Tensor | None, grad: Tensor
) -> tuple[Tensor | None, ...]:
    """The gradients by the definition, which autograd can differentiate again."""
    query, key, value, v = tensors
    v = v if v.ndim == 1 else v[:, None]
    scores = Additive(v[..., 0, :] if v.ndim > 1 else v)(query, key)
    allowed = None if mask is None else mask.expand(scores.shape)
    output = Softmax(ctx.temperature)(scores, allowed) @ value
    wanted = [tensor for tensor, needed in zip(tensors, ctx.needs_input_grad, strict=False) if needed]
    found = iter(torch.autograd.grad(output, wanted, grad, create_graph=True, allow_unused=True))
    return tuple(next(found) if needed else None for needed in ctx.needs_input_grad[:4])
