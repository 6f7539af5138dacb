"""Kernels of a step as functions of folded tensors, and their derivatives.

A read is the mean of the values by the weights, or draws of them. All reads of one memory add to one sum of gradients.
Statistics of a draw are formulas of the weights.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.auxiliary import entropy, log_probability
from saccade.backends.folding import Folded
from saccade.kernels import statistics, steps
from saccade.kernels.sums import Sums, by_definition
from saccade.kernels.threads import serves
from saccade.normalizers import Softmax
from saccade.reads import Sample, pick
from saccade.scores import Additive


def _inputs(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, powers: Tensor, mask: Tensor | None, temperature: float
) -> steps.Inputs:
    length, features = query.shape[1:]
    width, out = value.shape[-2:]
    query, key, value, v, powers = (part.contiguous() for part in (query, key, value, v, powers))
    mask = _all_allowed(width) if mask is None else mask.contiguous()
    strides = 0 if len(mask) == 1 else mask.stride(0), 0 if mask.shape[1] == 1 else mask.stride(1)
    tensors = query, key, powers, value, v, 0 if v.ndim == 1 else features, mask, *strides
    return steps.Inputs(*tensors, length, width, features, out, _number(temperature))


def gradients(
    inputs: Folded, grad: Tensor, weights: Tensor | None, ways: Tensor, temperature: float, key_grad: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and v.

    That of the key is added to `key_grad`. `grad` is of the output `(N, Lq, Dv)`, in one piece, as are the weights.
    Without weights, it is of the scores `(N, Lq, Lk)`, with the sum zero in each row.
    """
    query, key, v = inputs.query, inputs.key, inputs.v
    features, width = query.shape[-1], key.shape[-2]
    query_grad, key_grad = query.new_empty(query.shape), key.new_zeros(key.shape) if key_grad is None else key_grad
    v_grad, room = query.new_zeros(len(query), features), query.new_empty(len(query), 2 * features + width)
    tensors = grad, weights, ways.contiguous(), room, query_grad, key_grad, v_grad
    steps.backward(len(query), steps.Backward(_inputs(*inputs, temperature), *tensors))
    return query_grad, key_grad, v_grad.sum(0) if v.ndim == 1 else v_grad


def weigh(inputs: Folded, temperature: float) -> tuple[Tensor, Tensor]:
    """The weights alone, `(N, Lq, Lk)`, and how each row's scores were computed."""
    return forward(inputs._replace(value=inputs.value[..., :0]), temperature)[1:]  # no values to sum


def forward(inputs: Folded, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """Output `(N, Lq, Dv)`, weights `(N, Lq, Lk)`, and each row's way of scoring."""
    table = _inputs(*inputs, temperature)
    rows, new = table.query.shape[:2], inputs.query.new_empty
    output, weights = new(*rows, table.out), new(*rows, table.width)
    ways, room = new(rows, dtype=torch.uint8), new(rows[0], table.features)
    steps.forward(rows[0], steps.Forward(table, output, weights, ways, room))
    return output, weights, ways


@lru_cache(maxsize=64)
def _all_allowed(width: int) -> Tensor:
    """A mask that forbids nothing, `(1, 1, width)`; to be read alone."""
    return torch.ones(1, 1, width, dtype=torch.bool, device="cpu")


@lru_cache(maxsize=64)
def _number(value: float) -> Tensor:
    """A number as kernels read it; to be read alone."""
    return torch.tensor([value], dtype=torch.float32, device="cpu")


def defined(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, mask: Tensor | None, temperature: float
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Weights, values and mask, with zeros for queries and keys without a pair."""
    if mask is None:
        return Softmax(temperature)(Additive(v)(query, key), None), value, None
    allowed = mask.expand(*query.shape[:2], key.shape[1])
    hidden = ~allowed.any(1)[..., None]
    query = query.masked_fill(~allowed.any(2)[..., None], 0.0)
    key, value = key.masked_fill(hidden, 0.0), value.masked_fill(hidden, 0.0)
    return Softmax(temperature)(Additive(v)(query, key), allowed), value, allowed


class MemorySums(Sums[dict[str, Any]]):
    """Gradients of a memory's key and value, summed over all its reads."""

    def start(self) -> dict[str, Any]:
        return {"key": None, "drawn": None, "weights": [], "grads": []}

    # that of the values by draws, and by weights with gradients of the outputs, whose product is made once
    def finish(self, total: dict[str, Any]) -> tuple[Tensor | None, Tensor | None]:
        value = total["drawn"]
        if total["grads"]:
            read = torch.cat(total["weights"], 1).mT @ torch.cat(total["grads"], 1)
            value = read if value is None else value + read
        return total["key"], value


class Draw(NamedTuple):
    """A draw in place of the mean."""

    uniform: Tensor  # (N, Lq)
    soft: bool  # whether the gradient of the mean passes through it (straight-through)
    entropies: bool  # whether they are requested


class Read(torch.autograd.Function):
    """The mean of the values by a step's weights, or a draw and its statistics."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        v: Tensor,
        gate: Tensor | None,
        sums: "MemorySums | None",
        powers: Tensor,
        mask: Tensor | None,
        temperature: float,
        draw: Draw | None,
    ) -> Tensor | tuple[Tensor, Tensor, Tensor, Tensor | None]:
        inputs = Folded(query, key, value, v, powers, mask)
        ctx.temperature, ctx.sums, ctx.soft = temperature, sums, draw is None or draw.soft
        if draw is None:
            output, weights, kinds = forward(inputs, temperature)
            ctx.save_for_backward(*inputs, weights, kinds, None)
            return output
        weights, kinds = weigh(inputs, temperature)
        index = statistics.draw(weights, draw.uniform)
        output, log_prob = pick(value, index), log_probability(weights, index)
        of_rows = statistics.entropy(weights) if draw.entropies else None
        ctx.save_for_backward(*inputs, weights, kinds, index)
        ctx.set_materialize_grads(False)
        scores, values = _scores_learn(ctx), ctx.needs_input_grad[2]
        constant = [index, *([] if values or (scores and ctx.soft) else [output])]
        constant += [] if scores else [part for part in (log_prob, of_rows) if part is not None]
        ctx.mark_non_differentiable(*constant)
        return output, index, log_prob, of_rows

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *others: Tensor | None) -> tuple[Tensor | None, ...]:
        *tensors, weights, kinds, index = ctx.saved_tensors
        # of a draw, the others are of the index (none), log-probabilities and entropies
        inputs, of_statistics = Folded(*tensors), others[1:]
        grads = grad, *of_statistics
        upstream = [part for part in grads if part is not None]
        if not upstream:
            return (None,) * 10
        if torch.is_grad_enabled() or not serves(*upstream):  # for a second derivative, or many gradients at once

            def definition(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor | list[Tensor]:
                weights, value, allowed = defined(query, key, value, v, inputs.mask, ctx.temperature)
                if index is None:
                    return weights @ value
                read = Sample("straight_through" if ctx.soft else "reinforce")
                results = read(weights, value, allowed, index), log_probability(weights, index), entropy(weights)
                return [result for result, grad in zip(results, grads, strict=True) if grad is not None]

            of_inputs = by_definition(definition, inputs[:4], ctx.needs_input_grad[:4], upstream)
            return (*of_inputs, *[None] * 6)
        total = ctx.sums.current() if ctx.sums is not None and ctx.needs_input_grad[4] else None
        key_grad = None if total is None else total["key"]
        query_grad, v_grad, value_grad = None, None, None
        weights = weights.contiguous()  # hooks on saved tensors may change strides
        slope, kept = grad, weights
        if index is not None:
            learns = _scores_learn(ctx) and (ctx.soft or any(part is not None for part in of_statistics))
            through = grad @ inputs.value.mT if learns and ctx.soft and grad is not None else None
            slope = _score_gradient(weights, index, through, *of_statistics) / ctx.temperature if learns else None
            kept = None
        if slope is not None:
            slopes = gradients(inputs, slope.contiguous(), kept, kinds, ctx.temperature, key_grad)
            query_grad, key_grad, v_grad = slopes
        if grad is not None and ctx.needs_input_grad[2]:
            value_grad = _value_gradient(total, inputs.value, weights if ctx.soft else None, index, grad)
        if total is None:
            return query_grad, key_grad, value_grad, v_grad, *[None] * 6
        total["key"] = key_grad
        return query_grad, None, None, v_grad, weights.new_zeros(()), *[None] * 5


def _scores_learn(ctx: Any) -> bool:
    query, key, _, v = ctx.needs_input_grad[:4]
    return bool(query or key or v)


def _value_gradient(
    total: dict[str, Any] | None, value: Tensor, weights: Tensor | None, index: Tensor, grad: Tensor
) -> Tensor | None:
    """Gradient of the values; None if it is added to the sums."""
    if weights is not None:
        if total is None:
            return weights.mT @ grad
        total["weights"].append(weights)
        total["grads"].append(grad)
        return None
    value_grad = value.new_zeros(value.shape) if total is None or total["drawn"] is None else total["drawn"]
    rows = index + torch.arange(len(index), device=index.device)[:, None] * value.shape[1]
    drawn = index >= 0
    rows, grad = (rows.flatten(), grad.flatten(0, 1)) if bool(drawn.all()) else (rows[drawn], grad[drawn])
    value_grad.view(-1, value.shape[-1]).index_add_(0, rows, grad)
    if total is None:
        return value_grad
    total["drawn"] = value_grad
    return None


def _score_gradient(
    weights: Tensor, index: Tensor, through: Tensor | None, grad_log_prob: Tensor | None, grad_entropy: Tensor | None
) -> Tensor:
    """Gradient of s / T, from those of weights, log-probabilities and entropies."""
    score_grad = torch.zeros_like(weights)
    if through is not None:
        slope = through.masked_fill(weights == 0, 0.0)  # values of forbidden keys may be NaN
        score_grad += weights * (slope - (weights * slope).sum(-1, keepdim=True))
    if grad_log_prob is not None:
        drawn = torch.arange(weights.shape[-1], device=index.device) == index[..., None]
        rest = weights.masked_fill(drawn, 0.0)
        # 1 - w would cancel if w is nearly 1: the sum of the other weights has all its digits
        score_grad += grad_log_prob[..., None] * torch.where(drawn, rest.sum(-1, keepdim=True), -rest)
    if grad_entropy is not None:
        terms = torch.special.entr(weights)
        score_grad += grad_entropy[..., None] * (terms - weights * terms.sum(-1, keepdim=True))
    return score_grad
