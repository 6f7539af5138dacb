"""Softmax, sparsemax and entmax of scores and a mask, in plain operations of PyTorch: the definitions.

Differentiable to any order, traced by compilers and transforms, on any device. `saccade.kernels.weights` computes the
same numbers on a CPU, and takes what is differentiated twice from here.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from saccade.numerics import carried, differentiated

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
    return _by_rows(_sparsemax, scores, mask)


def entmax(scores: Tensor, alpha: Tensor, mask: Tensor | None) -> Tensor:
    """[(α − 1) s_j − τ]₊^{1/(α − 1)} over allowed keys, by bisection.

    Args:
        scores: `(..., Lk)`.
        alpha: of the scores' dtype, at least 1; broadcasts against `(..., 1)` and learns.
        mask: as for all of them: boolean, or None.
    """
    return _by_rows(lambda given: _entmax(given, alpha), scores, mask)


def _by_rows(weigh: Callable[[Tensor], Tensor], scores: Tensor, mask: Tensor | None) -> Tensor:
    if not scores.shape[-1]:
        return scores
    scores, empty = lowered(scores, mask)
    weights = weigh(scores)
    return weights if empty is None else weights.masked_fill(empty, 0.0)


def _entmax(scores: Tensor, alpha: Tensor) -> Tensor:
    """p_i = exp_α(s_i − t), exp_α(x) = [1 + (α − 1) x]₊^{1/(α − 1)}, with t such that Σ p = 1.

    Bisection finds t without derivatives. Each of Newton's steps from there keeps its value and doubles the order up to
    which its derivatives are right: three make it seven. The first ones are those of Peters, Niculae, Martins 2019,
    proposition 2, and by α those of Correia, Niculae, Martins 2019, proposition 1.
    """
    excess, shifted = alpha - 1, scores - scores.detach().amax(-1, keepdim=True)
    threshold = _threshold(shifted.detach(), excess.detach())
    weights = _deformed_exp(shifted.detach() - threshold, excess.detach())
    support, weights = weights > 0, weights / weights.sum(-1, keepdim=True)
    if not differentiated(scores, alpha):
        return weights
    for _ in range(3):
        powers, slopes = _on_support(shifted - threshold, excess, support)
        nearer = threshold + (powers.sum(-1, keepdim=True) - 1) / slopes.sum(-1, keepdim=True)
        threshold = carried(threshold, nearer)
    return carried(weights, _on_support(shifted - threshold, excess, support)[0])


def _on_support(x: Tensor, excess: Tensor, support: Tensor) -> tuple[Tensor, Tensor]:
    """exp_α(x) and its derivative by x where a weight is above 0, else 0."""
    x = x.masked_fill(~support, 0.0)
    powers = torch.exp(_deformed_exponent(x, excess)).masked_fill(~support, 0.0)
    return powers, powers / (1 + excess * x)


def _deformed_exponent(x: Tensor, excess: Tensor) -> Tensor:
    """log(1 + a x) / a, and x at a = 0; where α learns by its series around a x = 0, whose derivatives would cancel."""
    if not differentiated(excess):
        softmax = excess == 0
        safe = excess.masked_fill(softmax, 1.0)
        return torch.where(softmax, x, torch.log1p(safe * x) / safe)
    product = excess * x
    near = product.abs() < 1e-2
    safe, small, series = product.masked_fill(near, 1.0), product.masked_fill(~near, 0.0), torch.zeros_like(x)
    for order in range(8, 0, -1):
        series = 1 / order - small * series
    return x * torch.where(near, series, torch.log1p(safe) / safe)


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


def _threshold(shifted: Tensor, excess: Tensor) -> Tensor:
    """t of scores whose largest is 0, by bisection: exact to rounding for any α ≥ 1.

    t lies in [0, (1 − n^{−a}) / a]: at its lower end the largest weight alone is 1, at its upper end every weight is ≤
    1/n.
    """
    low, count = torch.zeros_like(shifted[..., :1]), float(shifted.shape[-1])
    softmax = excess == 0
    safe = excess.masked_fill(softmax, 1.0)
    log_count = torch.log(torch.as_tensor(count, dtype=shifted.dtype, device=shifted.device))
    high = low + torch.where(softmax, log_count, -torch.expm1(-safe * log_count) / safe)
    for _ in range(56 if shifted.dtype == torch.float64 else 28):
        middle = (low + high) / 2
        heavy = _deformed_exp(shifted - middle, excess).sum(-1, keepdim=True) >= 1
        low, high = torch.where(heavy, middle, low), torch.where(heavy, high, middle)
    return low


def _sparsemax(scores: Tensor) -> Tensor:
    """p = [s − τ]₊ with τ such that Σ p = 1, by sorting (Martins, Astudillo 2016, algorithm 1)."""
    shifted = scores - scores.detach().amax(-1, keepdim=True)
    ordered = shifted.detach().sort(-1, descending=True).values
    count = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)
    threshold = (ordered.cumsum(-1) - 1) / count
    inside = (ordered > threshold).sum(-1, keepdim=True).clamp(min=1)
    weights = (shifted.detach() - threshold.gather(-1, inside - 1)).clamp(min=0)
    if not differentiated(scores):
        return weights
    support = weights > 0
    mean = shifted.masked_fill(~support, 0.0).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
    return carried(weights, (shifted - mean).masked_fill(~support, 0.0))
