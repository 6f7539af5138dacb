"""A few draws at a time from a memory, as decoders with hard attention make them.

The weights are those of a step (`steps`), by one kernel forward and one backward. The draws of one memory add their
gradients to the sum of its soft reads. Statistics of a draw are formulas of the weights.
"""

from typing import Any

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade.auxiliary import AuxOutput, entropy, log_probability
from saccade.backends.cpu.step_kernels import defined, gradients, weigh
from saccade.backends.cpu.steps import MemorySums, Steps, fits, folded_step
from saccade.backends.folding import Folded
from saccade.kernels import statistics
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves
from saccade.reads import Sample, pick

_OTHERS = 8
"""Inputs of `_Draws` beside query, key, value and v."""


def serves_draws(call: Call) -> bool:
    """Whether a call draws from a memory by the weights of a step."""
    if not isinstance(call.read, Sample) or call.state is None or not call.key.shape[-2]:
        return False
    if call.query.dtype != torch.float32:
        return False
    request = call.aux
    return not (request.weights or request.lse or request.top or request.received) and fits(call)


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    read, request = call.read, call.aux
    assert isinstance(read, Sample)
    assert read.uniform is not None  # drawn before a backend is chosen
    assert call.state is not None
    shape = (*call.batch, call.query.shape[-2])
    inputs, temperature, unfolded = folded_step(call)
    uniform = read.uniform.expand(shape).reshape(inputs.query.shape[:2])
    shares = unfolded and torch.is_grad_enabled()  # a gate made without gradients would never have any
    gate, sums = call.state.of(Steps).of(inputs.key, inputs.value) if shares else (None, None)
    settings = temperature, uniform, read.estimator, request.entropy
    output, index, log_prob, entropies = _Draws.apply(*inputs[:4], gate, sums, *inputs[4:], *settings)
    return output.reshape(*shape, output.shape[-1]), AuxOutput(
        index=index.reshape(shape) if request.index else None,
        log_prob=log_prob.reshape(shape) if request.log_prob else None,
        entropy=entropies.reshape(shape) if request.entropy else None,
    )


class _Draws(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        v: Tensor,
        gate: Tensor | None,
        sums: MemorySums | None,
        powers: Tensor,
        mask: Tensor | None,
        temperature: float,
        uniform: Tensor,
        estimator: str,
        entropies: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        weights, kinds = weigh(Folded(query, key, value, v, powers, mask), temperature)
        index = statistics.draw(weights, uniform)
        output, log_prob = pick(value, index), log_probability(weights, index)
        of_rows = statistics.entropy(weights) if entropies else None
        ctx.temperature, ctx.sums, ctx.soft = temperature, sums, estimator == "straight_through"
        ctx.save_for_backward(query, key, value, v, powers, mask, weights, kinds, index)
        ctx.set_materialize_grads(False)
        scores, values = _scores_learn(ctx), ctx.needs_input_grad[2]
        constant = [index, *([] if values or (scores and ctx.soft) else [output])]
        constant += [] if scores else [part for part in (log_prob, of_rows) if part is not None]
        ctx.mark_non_differentiable(*constant)
        return output, index, log_prob, of_rows

    @staticmethod
    def backward(
        ctx: Any, grad: Tensor | None, _: None, grad_log_prob: Tensor | None, grad_entropy: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        *tensors, weights, kinds, index = ctx.saved_tensors
        inputs = Folded(*tensors)
        grads = grad, grad_log_prob, grad_entropy
        upstream = [part for part in grads if part is not None]
        if not upstream:
            return (None,) * (4 + _OTHERS)
        if torch.is_grad_enabled() or not serves(*upstream):  # for a second derivative, or many gradients at once

            def definition(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> list[Tensor]:
                weights, value, allowed = defined(query, key, value, v, inputs.mask, ctx.temperature)
                read = Sample("straight_through" if ctx.soft else "reinforce")
                results = read(weights, value, allowed, index), log_probability(weights, index), entropy(weights)
                return [result for result, grad in zip(results, grads, strict=True) if grad is not None]

            of_inputs = by_definition(definition, inputs[:4], ctx.needs_input_grad[:4], upstream)
            return (*of_inputs, *[None] * _OTHERS)
        weights = weights.contiguous()  # hooks on saved tensors may change strides
        total = ctx.sums.current() if ctx.sums is not None and ctx.needs_input_grad[4] else None
        key_grad = None if total is None else total["key"]
        query_grad, v_grad, value_grad = None, None, None
        if _scores_learn(ctx) and (ctx.soft or grad_log_prob is not None or grad_entropy is not None):
            through = grad @ inputs.value.mT if ctx.soft and grad is not None else None
            of_scores = _score_gradient(weights, index, through, grad_log_prob, grad_entropy) / ctx.temperature
            query_grad, key_grad, v_grad = gradients(inputs, of_scores, None, kinds, ctx.temperature, key_grad)
        if grad is not None and ctx.needs_input_grad[2]:
            value_grad = _value_gradient(total, inputs.value, weights if ctx.soft else None, index, grad)
        if total is None:
            return query_grad, key_grad, value_grad, v_grad, *[None] * _OTHERS
        total["key"] = key_grad
        return query_grad, None, None, v_grad, weights.new_zeros(()), *[None] * (_OTHERS - 1)


def _scores_learn(ctx: Any) -> bool:
    query, key, _, v = ctx.needs_input_grad[:4]
    return bool(query or key or v)


def _value_gradient(
    total: dict[str, Any] | None, value: Tensor, weights: Tensor | None, index: Tensor, grad: Tensor
) -> Tensor | None:
    """Gradient of the values; None if it is added to the sums `total`, or passes through `weights` alone."""
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
