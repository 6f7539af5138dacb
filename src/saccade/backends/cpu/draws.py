"""A few draws at a time from a memory by additive scores: what a decoder's steps read where attention is hard.

The weights are those of a step (`steps`), in one kernel forward and one backward, and the draws of one memory add their
gradients to the sum that soft reads of it add to. What is told of a draw is a formula of the weights.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade.auxiliary import AuxOutput, entropy, log_probability
from saccade.backends.cpu.folding import Folded
from saccade.backends.cpu.step_kernels import defined, gradients, weigh
from saccade.backends.cpu.steps import MemorySums, Steps, fits, folded_step
from saccade.kernels import statistics
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves
from saccade.reads import Sample, pick

__all__ = ["run", "serves_draws"]

_OTHERS = 8
"""Inputs of `_Draws` beside query, key, value and v."""


def serves_draws(call: Call) -> bool:
    """Whether a call draws by the weights of a step from a memory, and asks for no more than what is told here."""
    if not isinstance(call.read, Sample) or call.state is None or not call.key.shape[-2]:
        return False
    if call.query.dtype != torch.float32:
        return False
    asked = call.aux
    return not (asked.weights or asked.lse or asked.top or asked.received) and fits(call)


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    """What was drawn, and what is asked of it."""
    read, asked = call.read, call.aux
    assert isinstance(read, Sample)
    assert read.uniform is not None  # drawn before any backend is asked
    assert call.state is not None
    shape = (*call.batch, call.query.shape[-2])
    inputs, temperature, own = folded_step(call)
    uniform = read.uniform.expand(shape).reshape(inputs.query.shape[:2])
    shares = own and torch.is_grad_enabled()  # what is made without gradients is kept, and would have none for ever
    gate, sums = call.state.of(Steps).of(inputs.key, inputs.value) if shares else (None, None)
    how = temperature, uniform, read.estimator, asked.entropy
    output, index, log_prob, entropies = _Draws.apply(*inputs[:4], gate, sums, *inputs[4:], *how)
    return output.reshape(*shape, output.shape[-1]), AuxOutput(
        index=index.reshape(shape) if asked.index else None,
        log_prob=log_prob.reshape(shape) if asked.log_prob else None,
        entropy=entropies.reshape(shape) if asked.entropy else None,
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
        told = statistics.entropy(weights) if entropies else None
        ctx.temperature, ctx.sums, ctx.soft = temperature, sums, estimator == "straight_through"
        ctx.save_for_backward(query, key, value, v, powers, mask, weights, kinds, index)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*_fixed(ctx, output, index, [log_prob, told]))
        return output, index, log_prob, told

    @staticmethod
    def backward(
        ctx: Any, grad: Tensor | None, _: None, grad_log_prob: Tensor | None, grad_entropy: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        query, key, value, v, powers, mask, weights, kinds, index = ctx.saved_tensors
        grads = grad, grad_log_prob, grad_entropy
        given = [part for part in grads if part is not None]
        if not given:
            return (None,) * (4 + _OTHERS)
        if torch.is_grad_enabled() or not serves(*given):  # a second derivative is to follow, or many at once
            wanted = [part is not None for part in grads]
            definition = partial(_definition, ctx.soft, ctx.temperature, mask, index, wanted)
            found = by_definition(definition, (query, key, value, v), ctx.needs_input_grad[:4], given)
            return (*found, *[None] * _OTHERS)
        weights = weights.contiguous()  # which they are, unless a hook on saved tensors has changed their strides
        total = ctx.sums.current() if ctx.sums is not None and ctx.needs_input_grad[4] else None
        key_grad = None if total is None else total["key"]
        query_grad, v_grad = None, None
        if _learns(ctx) and (ctx.soft or grad_log_prob is not None or grad_entropy is not None):
            through = grad @ value.mT if ctx.soft and grad is not None else None
            of_scores = _of_scores(weights, index, through, grad_log_prob, grad_entropy) / ctx.temperature
            inputs = Folded(query, key, value, v, powers, mask)
            query_grad, key_grad, v_grad = gradients(inputs, of_scores, None, kinds, ctx.temperature, key_grad)
        value_grad = None
        if grad is not None and ctx.needs_input_grad[2]:
            value_grad = _of_values(total, value, weights if ctx.soft else None, index, grad)
        if total is None:
            return query_grad, key_grad, value_grad, v_grad, *[None] * _OTHERS
        total["key"] = key_grad
        return query_grad, None, None, v_grad, query.new_zeros(()), *[None] * (_OTHERS - 1)


def _learns(ctx: Any) -> bool:
    """Whether anything that scores are made of does."""
    query, key, _, v = ctx.needs_input_grad[:4]
    return bool(query or key or v)


def _fixed(ctx: Any, output: Tensor, index: Tensor, told: list[Tensor | None]) -> list[Tensor]:
    """Which of the results no gradient passes through."""
    scores, values = _learns(ctx), ctx.needs_input_grad[2]
    fixed = [] if scores else [part for part in told if part is not None]
    return [index, *fixed, *([] if values or (scores and ctx.soft) else [output])]


def _of_values(
    total: dict[str, Any] | None, value: Tensor, weights: Tensor | None, index: Tensor, grad: Tensor
) -> Tensor | None:
    """The gradient of the values, None where it is added to the sums.

    Args:
        total: the sums, or None.
        value: `(N, Lk, Dv)`.
        weights: by which the gradient passes; None: to what was drawn alone.
        index: what was, `(N, Lq)`.
        grad: of the output, `(N, Lq, Dv)`.
    """
    if weights is not None:
        if total is None:
            return weights.mT @ grad
        total["weights"].append(weights)
        total["grads"].append(grad)
        return None
    found = value.new_zeros(value.shape) if total is None or total["drawn"] is None else total["drawn"]
    rows = index + torch.arange(len(index), device=index.device)[:, None] * value.shape[1]
    drawn = index >= 0
    rows, grad = (rows.flatten(), grad.flatten(0, 1)) if bool(drawn.all()) else (rows[drawn], grad[drawn])
    found.view(-1, value.shape[-1]).index_add_(0, rows, grad)
    if total is None:
        return found
    total["drawn"] = found
    return None


def _of_scores(
    weights: Tensor, index: Tensor, through: Tensor | None, grad_log_prob: Tensor | None, grad_entropy: Tensor | None
) -> Tensor:
    """The gradient of s / T, from those of the weights, of log w at what was drawn, and of -∑ w log w."""
    found = torch.zeros_like(weights)
    if through is not None:
        slope = through.masked_fill(weights == 0, 0.0)  # values that nobody may see may be no numbers
        found += weights * (slope - (weights * slope).sum(-1, keepdim=True))
    if grad_log_prob is not None:
        drawn = torch.arange(weights.shape[-1], device=index.device) == index[..., None]
        rest = weights.masked_fill(drawn, 0.0)
        # 1 - w would cancel where w is nearly 1: the sum of the others has all its digits
        found += grad_log_prob[..., None] * torch.where(drawn, rest.sum(-1, keepdim=True), -rest)
    if grad_entropy is not None:
        terms = torch.special.entr(weights)
        found += grad_entropy[..., None] * (terms - weights * terms.sum(-1, keepdim=True))
    return found


def _definition(
    soft: bool,
    temperature: float,
    mask: Tensor | None,
    index: Tensor,
    wanted: list[bool],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    v: Tensor,
) -> list[Tensor]:
    """Output, log-probability and entropy by the formulas, those that are wanted, of what was drawn."""
    weights, value, allowed = defined(query, key, value, v, mask, temperature)
    read = Sample("straight_through" if soft else "reinforce")
    found = read(weights, value, allowed, index), log_probability(weights, index), entropy(weights)
    return [part for part, needed in zip(found, wanted, strict=True) if needed]
