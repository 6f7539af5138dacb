"""Softmax, sparsemax and entmax in plain operations of PyTorch.

Differentiable to any order, traced by compilers and transforms, on any device. `saccade.kernels.weights` computes them
on a CPU, and takes second derivatives from here. Scores are `(..., Lk)`, masks boolean or None.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from saccade._definitions.numerics import LOST, broadcast_shapes, carried, differentiated, recorded, transformed


def lowered(scores: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Scores with −inf at forbidden keys, and rows without an allowed key `(..., 1)`."""
    if mask is None:
        return scores, None
    empty = ~mask.any(-1, keepdim=True)
    return scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0), empty


def softmax(scores: Tensor, mask: Tensor | None, temperature: float | Tensor = 1.0) -> Tensor:
    """exp(s_j / T) / Σ exp(s / T) over allowed keys."""
    return _by_rows(lambda row: torch.softmax(_cooled(row, temperature)[0], -1), scores, mask)


def _cooled(scores: Tensor, temperature: float | Tensor) -> tuple[Tensor, Tensor | float]:
    """(s − m) / T and m / T with the largest score m, since s / T may overflow."""
    if not isinstance(temperature, Tensor) and temperature == 1:
        return scores, 0.0
    top, forbidden = scores.detach().amax(-1, keepdim=True), scores.detach() == -torch.inf
    below = (scores - top).masked_fill(forbidden, 0.0) / temperature  # the temperature's gradient at −∞ is NaN
    return below.masked_fill(forbidden, -torch.inf), (top / temperature)[..., 0]


def log_partition(scores: Tensor, mask: Tensor | None, temperature: float | Tensor = 1.0) -> Tensor:
    """log Σ exp(s / T) over allowed keys, `(...)`; −inf without an allowed key."""
    if not scores.shape[-1]:
        return scores.new_full(scores.shape[:-1], -torch.inf)
    scores, empty = lowered(scores, mask)
    scores, offset = _cooled(scores, temperature)
    lse = torch.logsumexp(scores, -1) + offset
    return lse if empty is None else lse.masked_fill(empty[..., 0], -torch.inf)


def sparsemax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """The point of the simplex nearest to the scores of allowed keys, by sorting."""
    return _by_rows(_sparsemax, scores, mask)


def entmax(scores: Tensor, alpha: float | Tensor, mask: Tensor | None = None) -> Tensor:
    """[(α − 1) s_j − τ]₊^{1/(α − 1)} over allowed keys, α a number or `(..., 1)`."""
    steep = isinstance(alpha, Tensor) or alpha > 2
    order = alpha.to(scores) if isinstance(alpha, Tensor) else scores.new_full((), alpha)
    weigh = _entmax_by_newton if transformed() else _EntmaxWeights.apply
    return _by_rows(lambda row: weigh(row, order, steep), scores, mask)


def _by_rows(weigh: Callable[[Tensor], Tensor], scores: Tensor, mask: Tensor | None) -> Tensor:
    if not scores.shape[-1]:
        return scores
    scores, empty = lowered(scores, mask)
    weights = weigh(scores)
    return weights if empty is None else weights.masked_fill(empty, 0.0)


class _EntmaxWeights(torch.autograd.Function):
    """Weights exp_α(s_i − t), exp_α(x) = [1 + (α − 1) x]₊^{1/(α − 1)}.

    With a = α − 1 and g = p^{1−a} on the support, ∂p_i/∂s_j = g_i (δ_ij − g_j / Σ g) (Peters, Niculae, Martins 2019,
    proposition 2) and ∂p/∂α = c − g Σc / Σg, c_i = (p_i − g_i)/a² − p_i log p_i / a (Correia, Niculae, Martins 2019,
    proposition 1). The backward is a function of the output p, which is differentiable: all derivatives follow.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, alpha: Tensor, steep: bool) -> Tensor:
        return _solve_entmax(scores, alpha - 1, steep)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, bool], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1], output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None]:
        alpha, weights = ctx.saved_tensors
        grad_alpha = gradient_of_alpha(grad, weights, alpha) if ctx.needs_input_grad[1] else None
        return gradient_of_scores(grad, weights, alpha), grad_alpha, None


def _solve_entmax(scores: Tensor, excess: Tensor, steep: bool) -> Tensor:
    """The weights alone, α = 1 + excess; `steep`: some α may be above 2."""
    shifted = scores - scores.amax(-1, keepdim=True)
    gentle = excess.clamp(max=1) if steep else excess
    weights = _deformed_exp(shifted - _threshold(shifted, gentle), gentle)
    weights = weights / weights.sum(-1, keepdim=True)
    return torch.where(excess > 1, _solve_steep(scores, excess.clamp(min=1)), weights) if steep else weights


def _entmax_by_newton(scores: Tensor, alpha: Tensor, steep: bool) -> Tensor:
    """The weights of `_EntmaxWeights` in plain operations, for transforms.

    A `torch.autograd.Function` has wrong derivatives in a transform that a compiler traces, and in forward mode over
    itself. The solution has no derivatives. Each Newton step from there keeps its value and doubles the order of right
    derivatives: three steps make it seven.
    """
    excess, scores = alpha - 1, scores.expand(broadcast_shapes(scores.shape, alpha.shape))
    weights = _solve_entmax(scores.detach(), excess.detach(), steep)
    if not steep:
        return carried(weights, _about_threshold(scores, excess, weights > 0))
    above = excess.detach() > 1
    safe = scores.masked_fill(above, 0.0)  # the derivatives of the unused formula must be finite, too
    gentle = _about_threshold(safe, excess.clamp(max=1), (weights > 0) | above)
    return carried(weights, torch.where(above, _about_least(scores, excess.clamp(min=1), weights), gentle))


def _about_threshold(scores: Tensor, excess: Tensor, support: Tensor) -> Tensor:
    """Weights [1 + a (s − t)]^{1/a} for a ≤ 1, by Newton's steps of t."""
    shifted = scores - scores.detach().amax(-1, keepdim=True)
    threshold = _threshold(shifted.detach(), excess.detach())
    for _ in range(3):
        powers, slopes = _on_support(shifted - threshold, excess, support)
        threshold = carried(threshold, threshold + _residual(powers) / slopes.sum(-1, keepdim=True))
    return _on_support(shifted - threshold, excess, support)[0]


def _about_least(scores: Tensor, excess: Tensor, weights: Tensor) -> Tensor:
    """Weights [q^a + a (s − r)]^{1/a} for a ≥ 1, by Newton's steps of q."""
    support = weights > 0
    lowest = weights.masked_fill(~support, torch.inf).argmin(-1, keepdim=True)
    apart = (scores - scores.gather(-1, lowest)).masked_fill(~support, 0.0)
    bases = (excess.detach() * weights.log()).exp().clamp(min=LOST * torch.finfo(weights.dtype).tiny)
    least, here = weights.gather(-1, lowest), torch.arange(weights.shape[-1], device=weights.device) == lowest
    for step in range(4):
        base = carried(bases, (excess * least.log()).exp() + excess * apart)
        powers = (base.masked_fill(here, 1.0).log() / excess).exp().masked_fill(~support, 0.0)
        powers = torch.where(here, least, powers)  # q^a may be outside the dtype
        if step < 3:
            slopes = ((excess - 1) * (least / powers.masked_fill(~support, 1.0)).log()).exp().masked_fill(~support, 0.0)
            least = carried(least, least - _residual(powers) / slopes.sum(-1, keepdim=True))
    return powers


def _residual(powers: Tensor) -> Tensor:
    """Σ p − 1 without rounding: 0 at the solution."""
    total = powers.sum(-1, keepdim=True)
    return total - total.detach()


def _on_support(x: Tensor, excess: Tensor, support: Tensor) -> tuple[Tensor, Tensor]:
    """exp_α(x) and its derivative by x on the support, else 0."""
    x = x.masked_fill(~support, 0.0)
    powers = torch.exp(_deformed_exponent(x, excess)).masked_fill(~support, 0.0)
    return powers, powers / (1 + excess * x)


def _deformed_exponent(x: Tensor, excess: Tensor) -> Tensor:
    """log(1 + a x) / a, and x at a = 0; by its series near a x = 0 if α learns."""
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


def _log_slopes(weights: Tensor, alpha: Tensor) -> Tensor:
    """log g = (2 − α) log p on the support, −∞ beside it."""
    support = weights > 0
    return ((2 - alpha) * weights.masked_fill(~support, 1.0).log()).masked_fill(~support, -torch.inf)


def _shares(logs: Tensor) -> Tensor:
    """g / Σ g, and 0 in a row without support."""
    return torch.softmax(logs, -1).masked_fill(logs == -torch.inf, 0.0)


def gradient_of_scores(grad: Tensor, weights: Tensor, alpha: Tensor) -> Tensor:
    r"""g_i (u_i − Σ g u / Σ g), g = p^{2−α}: the gradient of entmax's scores.

    For α > 2 the slope g of a small weight may be far larger than all others, or beyond the dtype. The gradient of the
    steepest key k is −g_k / Σ g · Σ g_j (u_j − u_k), without g_k. Slopes beyond the dtype become its largest number.
    Gradients are at most 2⁻²⁴ of it, so that their sums over keys are finite: ∞ − ∞ is NaN.
    """
    logs, largest = _log_slopes(weights, alpha), torch.finfo(weights.dtype).max
    share, slope = _shares(logs), logs.exp().clamp(max=largest)
    steepest = logs.detach().argmax(-1, keepdim=True)
    apart = grad - grad.gather(-1, steepest)
    here = torch.arange(logs.shape[-1], device=logs.device) == steepest
    next_to_it = slope.detach().masked_fill(here, 0.0).amax(-1, keepdim=True).clamp(min=1)  # a sum of ∞ − ∞ is NaN
    total = next_to_it * (slope / next_to_it * apart).masked_fill(here, 0.0).sum(-1, keepdim=True)
    beside = slope * (apart - (share * apart).sum(-1, keepdim=True))
    return torch.where(here, -share * total, beside).clamp(-largest / LOST, largest / LOST)


def gradient_of_alpha(grad: Tensor, weights: Tensor, alpha: Tensor) -> Tensor:
    """Gradient of entmax's α, from the gradient of its weights `(..., Lk)`.

    Equal parts of c and of g · Σ c / Σ g cancel: c omits −g / (α − 1)², unless α is near 1.
    """
    share, support = _shares(_log_slopes(weights, alpha)), weights > 0
    safe = weights.masked_fill(~support, 1.0)
    log, excess = safe.log(), alpha - 1
    far = excess > 0.5
    near = -safe * log.square() * _second_order((excess * log).masked_fill(far, 0.0))
    divisor = excess.masked_fill(~far, 1.0)
    change = torch.where(far, safe * (1 / divisor - log) / divisor, near).masked_fill(~support, 0.0)
    return (grad * (change - share * change.sum(-1, keepdim=True))).sum_to_size(alpha.shape)


def _second_order(y: Tensor) -> Tensor:
    """(e^{−y} − 1 + y) / y², by its series near 0, at α = 1."""
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
    """t of scores with the largest 0, by bisection, exact to rounding for α ≥ 1.

    t lies in [0, (1 − n^{−a}) / a]: the largest weight is 1 at the lower end, every weight ≤ 1/n at the upper end.
    """
    low, count = torch.zeros_like(shifted[..., :1]), float(shifted.shape[-1])
    softmax = excess == 0
    safe = excess.masked_fill(softmax, 1.0)
    log_count = torch.log(shifted.new_full((), count))
    high = low + torch.where(softmax, log_count, -torch.expm1(-safe * log_count) / safe)
    for _ in range(56 if shifted.dtype == torch.float64 else 28):
        middle = (low + high) / 2
        heavy = _deformed_exp(shifted - middle, excess).sum(-1, keepdim=True) >= 1
        low, high = torch.where(heavy, middle, low), torch.where(heavy, high, middle)
    return low


def _solve_steep(scores: Tensor, excess: Tensor) -> Tensor:
    """Weights [q^a + a (s_i − r)]^{1/a} of a = α − 1 > 1.

    A weight far below 1 would depend on the last digits of 1 + a (s − t): here nothing cancels. A score is in the
    support if Σ_i [a (s_i − s)]₊^{1/a} < 1. The sum of weights is convex in q with slopes of at least 1, and q ≤ 1/n of
    the support, so that Newton's method converges from one side.
    """
    scores = scores.expand(broadcast_shapes(scores.shape, excess.shape))
    ordered = scores.sort(-1, descending=True).values
    steps = 40 if recorded() else scores.shape[-1].bit_length()
    low = torch.zeros_like(scores[..., :1], dtype=torch.int64)
    high = low + scores.shape[-1]
    for _ in range(steps):
        middle = (low + high) // 2
        distance = excess * (scores - ordered.gather(-1, middle)).clamp(min=0)
        inside = (distance.log() / excess).exp().sum(-1, keepdim=True) < 1
        low, high = torch.where(inside, middle, low), torch.where(inside, high, middle)
    distance = scores - ordered.gather(-1, low)
    logs = (excess * distance.clamp(min=0)).log()
    least = 1 / (distance >= 0).sum(-1, keepdim=True).to(scores.dtype)
    smallest = torch.finfo(scores.dtype).tiny
    for _ in range(40 if scores.dtype == torch.float64 else 24):
        powers = torch.logaddexp(excess * least.log(), logs) / excess
        weights = powers.exp().masked_fill(distance < 0, 0.0)
        slope = ((excess - 1) * (least.log() - powers)).exp().masked_fill(distance < 0, 0.0)
        least = (least - (weights.sum(-1, keepdim=True) - 1) / slope.sum(-1, keepdim=True)).clamp(min=smallest)
    weights = (torch.logaddexp(excess * least.log(), logs) / excess).exp().masked_fill(distance < 0, 0.0)
    return weights / weights.sum(-1, keepdim=True)


def _sparsemax(scores: Tensor) -> Tensor:
    """p = [s − τ]₊ with Σ p = 1, by sorting (Martins, Astudillo 2016, algorithm 1)."""
    shifted = scores - scores.detach().amax(-1, keepdim=True)
    ordered = shifted.detach().clamp(min=-2).sort(-1, descending=True).values  # sums of huge numbers overflow
    count = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)
    threshold = (ordered.cumsum(-1) - 1) / count
    inside = (ordered > threshold).sum(-1, keepdim=True).clamp(min=1)
    weights = (shifted.detach() - threshold.gather(-1, inside - 1)).clamp(min=0)
    if not differentiated(scores):
        return weights
    support = weights > 0
    mean = shifted.masked_fill(~support, 0.0).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
    return carried(weights, (shifted - mean).masked_fill(~support, 0.0))
