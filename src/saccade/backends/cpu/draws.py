"""A few draws at a time from a memory by additive scores: what a decoder's steps read where attention is hard.

The weights are those of a step (`steps`), in one kernel forward and one backward, and the draws of one memory add their
gradients to the sum that soft reads of it add to. What is told of a draw is a formula of the weights.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from saccade.auxiliary import AuxOutput, entropy, log_probability
from saccade.backends.cpu import steps
from saccade.backends.cpu.folding import Folded, folded
from saccade.call import Call
from saccade.kernels import statistics
from saccade.kernels.sums import Sums, by_definition
from saccade.kernels.threads import serves
from saccade.normalizers import Softmax
from saccade.reads import Sample, pick
from saccade.scores import Additive, exponentials

__all__ = ["run", "serves_draws"]


def serves_draws(call: Call) -> bool:
    """Whether a call draws by the weights of a step from a memory, and asks for no more than what is told here."""
    if not isinstance(call.read, Sample) or call.state is None or not call.key.shape[-2]:
        return False
    if call.query.dtype != torch.float32:
        return False
    asked = call.aux
    return not (asked.weights or asked.lse or asked.top or asked.received) and steps.fits(call)


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    """What was drawn, and what is asked of it."""
    read, score, normalizer = call.read, call.score, call.normalizer
    assert isinstance(read, Sample)
    assert isinstance(score, Additive)
    assert isinstance(normalizer, Softmax)
    assert read.uniform is not None  # drawn before any backend is asked
    assert call.state is not None
    shape = (*call.batch, call.query.shape[-2])
    powers = exponentials(call.key.detach()) if call.cache is None else call.cache
    mask = None if call.mask is None else call.mask.dense(call.grid())
    inputs = folded(call.batch, call.query, call.key, call.value, score.v, powers, mask)
    uniform = read.uniform.expand(shape).reshape(inputs.query.shape[:2])
    own = inputs.key.shape == call.key.shape and inputs.value.shape == call.value.shape
    gate, sums = call.state.of(steps.Steps).of(inputs.key, inputs.value) if own else (None, None)
    how = float(normalizer.temperature), uniform, read.estimator, call.aux.entropy
    output, index, log_prob, entropies = _Draws.apply(*inputs[:4], gate, sums, *inputs[4:], *how)
    return output.reshape(*shape, output.shape[-1]), AuxOutput(
        index=index.reshape(shape) if call.aux.index else None,
        log_prob=log_prob.reshape(shape) if call.aux.log_prob else None,
        entropy=entropies.reshape(shape) if call.aux.entropy else None,
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
        sums: "Sums[dict[str, Any]] | None",
        powers: Tensor,
        mask: Tensor | None,
        temperature: float,
        uniform: Tensor,
        estimator: str,
        entropies: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        weights, kinds = steps.weigh(Folded(query, key, value, v, powers, mask), temperature)
        index = statistics.draw(weights, uniform)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(index)
        ctx.temperature, ctx.sums, ctx.estimator = temperature, sums, estimator
        ctx.save_for_backward(query, key, value, v, powers, mask, weights, kinds, index)
        told = statistics.entropy(weights) if entropies else None
        return pick(value, index), index, log_probability(weights, index), told

    @staticmethod
    def backward(
        ctx: Any, grad: Tensor | None, _: None, grad_log_prob: Tensor | None, grad_entropy: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        query, key, value, v, powers, mask, weights, kinds, index = ctx.saved_tensors
        grads = grad, grad_log_prob, grad_entropy
        given = [part for part in grads if part is not None]
        if torch.is_grad_enabled() or not serves(*given):  # a second derivative is to follow, or many at once
            wanted = [part is not None for part in grads]
            definition = partial(_definition, ctx.estimator, ctx.temperature, mask, index, wanted)
            return (*by_definition(definition, (query, key, value, v), ctx.needs_input_grad[:4], given), *[None] * 8)
        soft = ctx.estimator == "straight_through"
        total = ctx.sums.current() if ctx.sums is not None and ctx.needs_input_grad[4] else None
        chosen = torch.zeros_like(weights).scatter_(-1, index.clamp(min=0)[..., None], 1.0)
        chosen.masked_fill_(index[..., None] < 0, 0.0)
        known = None if total is None else total["key"]
        through = grad @ value.mT if soft and grad is not None else None
        query_grad, key_grad, v_grad = None, known, None
        if through is not None or grad_log_prob is not None or grad_entropy is not None:
            of_scores = _of_scores(weights, chosen, through, grad_log_prob, grad_entropy) / ctx.temperature
            inputs = Folded(query, key, value, v, powers, mask)
            query_grad, key_grad, v_grad = steps.gradients(inputs, of_scores, None, kinds, ctx.temperature, known)
        read = weights if soft else chosen
        if total is None:
            value_grad = None if grad is None else read.mT @ grad
            return query_grad, key_grad, value_grad, v_grad, *[None] * 8
        total["key"] = key_grad
        if grad is not None:
            total["weights"].append(read)
            total["grads"].append(grad)
        return query_grad, None, None, v_grad, query.new_zeros(()), *[None] * 7


def _of_scores(
    weights: Tensor, chosen: Tensor, through: Tensor | None, grad_log_prob: Tensor | None, grad_entropy: Tensor | None
) -> Tensor:
    """The gradient of s / T, from those of the weights, of log w at what was chosen, and of -∑ w log w."""
    found = torch.zeros_like(weights)
    if through is not None:
        slope = through.masked_fill(weights == 0, 0.0)  # values that nobody may see may be no numbers
        found += weights * (slope - (weights * slope).sum(-1, keepdim=True))
    if grad_log_prob is not None:
        found += grad_log_prob[..., None] * (chosen - weights)
    if grad_entropy is not None:
        terms = torch.special.entr(weights)
        found += grad_entropy[..., None] * (terms - weights * terms.sum(-1, keepdim=True))
    return found


def _definition(
    estimator: str,
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
    allowed = None
    if mask is not None:
        allowed = mask.expand(*query.shape[:2], key.shape[1])
        hidden = ~allowed.any(1)[..., None]
        key, value = key.masked_fill(hidden, 0.0), value.masked_fill(hidden, 0.0)
    weights = Softmax(temperature)(Additive(v)(query, key), allowed)
    found = Sample(estimator)(weights, value, allowed, index), log_probability(weights, index), entropy(weights)
    return [part for part, needed in zip(found, wanted, strict=True) if needed]
