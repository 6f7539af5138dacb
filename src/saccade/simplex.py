"""Softmax, sparsemax and entmax of scores and a mask, in plain operations of PyTorch: the definitions.

Differentiable to any order, traced by compilers and transforms, on any device. `saccade.kernels.weights` computes the
same numbers on a CPU, and takes what is differentiated twice from here.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["entmax", "gradient_of_alpha", "log_partition", "lowered", "softmax", "sparsemax"]


def lowered(scores: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Scores with −inf at forbidden positions but 0 in rows with nothing allowed, and which rows those are `(...,
    1)`.
    """
    if mask is None:
        return scores, None
    empty = ~mask.any(-1, keepdim=True)
    return scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0), empty


def softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """exp(s_j) / Σ exp(s) over allowed keys."""
    return _by_rows(lambda given: torch.softmax(given, -1), scores, mask)


def log_partition(scores: Tensor, mask: Tensor | None) -> Tensor:
    """log Σ exp(s) over allowed keys, `(...)` of scores `(..., Lk)`; −inf where nothing is allowed."""
    if not scores.shape[-1]:
        return scores.new_full(scores.shape[:-1], -torch.inf)
    scores, empty = lowered(scores, mask)
    lse = torch.logsumexp(scores, -1)
    return lse if empty is None else lse.masked_fill(empty[..., 0], -torch.inf)


def sparsemax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """The point of the simplex nearest to the scores of allowed keys, by sorting."""
    return _by_rows(_SparsemaxWeights.apply, scores, mask)


def entmax(scores: Tensor, alpha: Tensor, mask: Tensor | None) -> Tensor:
    """[(α − 1) s_j − τ]₊^{1/(α − 1)} over allowed keys, by bisection.

    Args:
        scores: `(..., Lk)`.
        alpha: of the scores' dtype, at least 1; broadcasts against `(..., 1)` and learns.
        mask: as for all of them: boolean, or None.
    """
    return _by_rows(lambda given: _EntmaxWeights.apply(given, alpha), scores, mask)


def _by_rows(weigh: Callable[[Tensor], Tensor], scores: Tensor, mask: Tensor | None) -> Tensor:
    if not scores.shape[-1]:
        return scores
    scores, empty = lowered(scores, mask)
    weights = weigh(scores)
    return weights if empty is None else weights.masked_fill(empty, 0.0)


class _EntmaxWeights(torch.autograd.Function):
    """p_i = exp_α(s_i − t), exp_α(x) = [1 + (α − 1) x]₊^{1/(α − 1)}, with t such that Σ p = 1.

    With a = α − 1 and g = p^{1−a} on the support, ∂p_i/∂s_j = g_i (δ_ij − g_j / Σ g) (Peters, Niculae, Martins 2019,
    proposition 2) and ∂p/∂α = c − g Σc / Σg, c_i = (p_i − g_i)/a² − p_i log p_i / a (Correia, Niculae, Martins 2019,
    proposition 1). The backward is
    written in terms of the output p, which is itself differentiable: every further derivative follows.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, alpha: Tensor) -> Tensor:
        return _solve_entmax(scores, alpha - 1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1], output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None]:
        alpha, weights = ctx.saved_tensors
        excess, support = alpha - 1, weights > 0
        safe = weights.masked_fill(~support, 1.0)
        slope = torch.pow(safe, 1 - excess).masked_fill(~support, 0.0)
        share = slope / slope.sum(-1, keepdim=True)
        grad_scores = slope * (grad - (share * grad).sum(-1, keepdim=True))
        if not ctx.needs_input_grad[1]:
            return grad_scores, None
        return grad_scores, gradient_of_alpha(grad, weights, share, alpha)


def gradient_of_alpha(grad: Tensor, weights: Tensor, share: Tensor, alpha: Tensor) -> Tensor:
    """That of entmax's α, from the gradient of its weights `(..., Lk)` and p^{2−α} / Σ p^{2−α}, their share."""
    support = weights > 0
    safe = weights.masked_fill(~support, 1.0)
    log = safe.log()
    change = -safe * log.square() * _second_order((alpha - 1) * log)
    change = change.masked_fill(~support, 0.0)
    return (grad * (change - share * change.sum(-1, keepdim=True))).sum_to_size(alpha.shape)


def _second_order(y: Tensor) -> Tensor:
    """(e^{−y} − 1 + y) / y², by its series near 0, where α = 1 is the softmax."""
    near = y.abs() < 1e-2
    safe = y.masked_fill(near, 1.0)
    series = 0.5 - y / 6 + y * y / 24 - y * y * y / 120
    return torch.where(near, series, (torch.exp(-safe) - 1 + safe) / (safe * safe))


def _deformed_exp(x: Tensor, excess: Tensor) -> Tensor:
    """exp_α(x) = [1 + a x]₊^{1/a}, a = α − 1; exp(x) at a = 0."""
    softmax = excess == 0
    safe = excess.masked_fill(softmax, 1.0)
    power = torch.exp(torch.log1p((safe * x).clamp(min=-1.0)) / safe)
    return torch.where(softmax, torch.exp(x), power)


def _solve_entmax(scores: Tensor, excess: Tensor) -> Tensor:
    """Bisection for the threshold t, then p / Σ p: exact to rounding for any α ≥ 1.

    t lies in [max s, max s + (1 − n^{−a}) / a]: at its lower end the largest weight alone is 1, at its upper end
    every weight is ≤ 1/n.
    """
    top = scores.amax(-1, keepdim=True)
    shifted, count = scores - top, float(scores.shape[-1])
    softmax = excess == 0
    safe = excess.masked_fill(softmax, 1.0)
    log_count = torch.log(torch.as_tensor(count, dtype=scores.dtype, device=scores.device))
    width = torch.where(softmax, log_count, -torch.expm1(-safe * log_count) / safe)
    low, high = torch.zeros_like(top), torch.zeros_like(top) + width
    for _ in range(56 if scores.dtype == torch.float64 else 28):
        middle = (low + high) / 2
        heavy = _deformed_exp(shifted - middle, excess).sum(-1, keepdim=True) >= 1
        low, high = torch.where(heavy, middle, low), torch.where(heavy, high, middle)
    weights = _deformed_exp(shifted - low, excess)
    return weights / weights.sum(-1, keepdim=True)


class _SparsemaxWeights(torch.autograd.Function):
    """p = [s − τ]₊ with τ such that Σ p = 1, by sorting (Martins, Astudillo 2016, algorithm 1)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor) -> Tensor:
        ordered = (scores - scores.amax(-1, keepdim=True)).sort(-1, descending=True).values
        count = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)
        threshold = (ordered.cumsum(-1) - 1) / count
        inside = (ordered > threshold).sum(-1, keepdim=True).clamp(min=1)
        return (scores - scores.amax(-1, keepdim=True) - threshold.gather(-1, inside - 1)).clamp(min=0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (weights,) = ctx.saved_tensors
        support: Tensor = (weights > 0).to(grad.dtype)
        centered: Tensor = grad - (support * grad).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return centered * support
