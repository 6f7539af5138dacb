"""Normalizers: how scores become weights.

Each is called with `(scores, mask)`, mask boolean (True: may attend) or None, and returns weights of the same shape:
exactly 0 where the mask forbids, and all 0 in a row with nothing allowed. What forbidden scores are, NaN included,
plays no part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from saccade.checks import ensure, number, per_query, positive
from saccade.errors import ArgumentError, ArgumentTypeError
from saccade.numerics import divide, like
from saccade.structure import Axes, Definition, Extent, registered

NormalizerFunction = Callable[..., Tensor]
"""`(scores, mask)` or `(scores, mask, positions)` to weights."""


class Normalizer(Definition):
    """Base of the built-in normalizers; any other callable `(scores, mask) -> weights` is a normalizer as well."""

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """The definition: weights of the shape of `scores`."""
        raise ArgumentTypeError("normalizer: expected one of saccade.normalizers or a callable, got the base class")

    def check(self, extent: Extent) -> None:
        """Raises a `SaccadeError` where the normalizer's tensors do not fit the call."""

    @property
    def sums_to_one(self) -> bool:
        """Whether every row with an allowed key sums to one, so that its entropy is defined."""
        return False


def filled(scores: Tensor, mask: Tensor | None, value: float = -torch.inf) -> Tensor:
    """Scores with `value` at forbidden positions."""
    return scores if mask is None else scores.masked_fill(~mask, value)


def lowered(scores: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Scores with −inf at forbidden positions but 0 in rows with nothing allowed, and which rows those are `(...,
    1)`.
    """
    if mask is None:
        return scores, None
    empty = ~mask.any(-1, keepdim=True)
    return scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0), empty


@registered
@dataclass(frozen=True)
class Softmax(Normalizer):
    """w_j = exp(s_j / T) / (exp(sink) + Σ exp(s / T)) over allowed keys (Vaswani et al. 2017, equation 1).

    Args:
        temperature: T > 0, a float or a tensor that broadcasts against `(..., Lq, 1)`.
        sink: the logit of one more key without a value, which takes its share and is dropped (Xiao et al. 2024); a
            float, a tensor as for temperature, or None for none.

    >>> import torch
    >>> Softmax()(torch.tensor([[0.0, 0.0, 5.0]]), torch.tensor([[True, True, False]])).tolist()
    [[0.5, 0.5, 0.0]]
    """

    axes: ClassVar[dict[str, Axes]] = {"temperature": ("q", "1"), "sink": ("q", "1")}
    temperature: float | Tensor = 1.0
    sink: float | Tensor | None = None

    def __post_init__(self) -> None:
        number("temperature", self.temperature, above=0, tensor=True)
        number("sink", self.sink, tensor=True, none=True)

    def scaled(self, scores: Tensor) -> Tensor:
        """scores / T."""
        plain = not isinstance(self.temperature, Tensor) and self.temperature == 1.0
        return scores if plain else scores / like(self.temperature, scores)

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        if not scores.shape[-1]:
            return scores
        scores, empty = lowered(self.scaled(scores), mask)
        if self.sink is None:
            weights = torch.softmax(scores, -1)
        else:
            sink = torch.as_tensor(self.sink, dtype=scores.dtype, device=scores.device).expand(*scores.shape[:-1], 1)
            weights = torch.softmax(torch.cat((scores, sink), -1), -1)[..., :-1]
        return weights if empty is None else weights.masked_fill(empty, 0.0)

    def log_partition(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """lse = log Σ exp(s / T) over allowed keys, without the sink, `(..., Lq)`; −inf where nothing is allowed."""
        if not scores.shape[-1]:
            return scores.new_full(scores.shape[:-1], -torch.inf)
        scores, empty = lowered(self.scaled(scores), mask)
        lse = torch.logsumexp(scores, -1)
        return lse if empty is None else lse.masked_fill(empty[..., 0], -torch.inf)

    def check(self, extent: Extent) -> None:
        positive("temperature", self.temperature, extent)
        if self.sink is not None:
            per_query("sink", self.sink, extent)

    @property
    def sums_to_one(self) -> bool:
        return self.sink is None


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
    """p = [s − τ]₊ with τ such that Σ p = 1, by sorting (Martins, Astudillo 2016, algorithm 1 and equation 10)."""

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


def _sparse(weigh: Callable[[Tensor], Tensor], scores: Tensor, mask: Tensor | None) -> Tensor:
    if not scores.shape[-1]:
        return scores
    scores, empty = lowered(scores, mask)
    weights = weigh(scores)
    return weights if empty is None else weights.masked_fill(empty, 0.0)


@registered
@dataclass(frozen=True)
class Sparsemax(Normalizer):
    """w = the point of the simplex nearest to the scores, sparse (Martins, Astudillo 2016, equation 2).

    >>> import torch
    >>> Sparsemax()(torch.tensor([[0.0, 0.5, -3.0]]), None).tolist()
    [[0.25, 0.75, 0.0]]
    """

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return _sparse(_SparsemaxWeights.apply, scores, mask)

    @property
    def sums_to_one(self) -> bool:
        return True


@registered
@dataclass(frozen=True)
class Entmax(Normalizer):
    """w_j = [(α − 1) s_j − τ]₊^{1/(α − 1)}: softmax at α = 1, sparsemax at α = 2 (Peters, Niculae, Martins 2019,
    equation 10).

    Args:
        alpha: α ≥ 1, a float or a tensor that broadcasts against `(..., Lq, 1)` and learns (Correia et al. 2019).

    Raises:
        ArgumentError: alpha below 1.

    >>> import torch
    >>> Entmax(alpha=2.0)(torch.tensor([[0.0, 0.5, -3.0]]), None).tolist()
    [[0.25, 0.75, 0.0]]
    """

    axes: ClassVar[dict[str, Axes]] = {"alpha": ("q", "1")}
    alpha: float | Tensor = 1.5

    def __post_init__(self) -> None:
        number("alpha", self.alpha, least=1, tensor=True)
        if not isinstance(self.alpha, Tensor) and self.alpha == float("inf"):
            raise ArgumentError("alpha: expected a finite number (1 is softmax, 2 is sparsemax), got inf")

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        alpha = torch.as_tensor(self.alpha, dtype=scores.dtype, device=scores.device)
        return _sparse(lambda lowered_scores: _EntmaxWeights.apply(lowered_scores, alpha), scores, mask)

    def check(self, extent: Extent) -> None:
        per_query("alpha", self.alpha, extent)
        if isinstance(self.alpha, Tensor):
            inside = (self.alpha.detach() >= 1) & self.alpha.detach().isfinite()
            ensure(inside, "alpha: expected finite values of at least 1, got some outside", values=extent.values)

    @property
    def sums_to_one(self) -> bool:
        return True


@registered
@dataclass(frozen=True)
class Sigmoid(Normalizer):
    """w_j = 1 / (1 + exp(−(s_j + b))): every key on its own (Ramapuram et al. 2024, equation 3).

    Args:
        bias: b, a float or a tensor that broadcasts against `(..., Lq, 1)`.

    >>> import torch
    >>> Sigmoid()(torch.zeros(1, 2), None).tolist()
    [[0.5, 0.5]]
    """

    axes: ClassVar[dict[str, Axes]] = {"bias": ("q", "1")}
    bias: float | Tensor = 0.0

    def __post_init__(self) -> None:
        number("bias of normalizers.Sigmoid", self.bias, tensor=True)

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        scores = filled(scores, mask, 0.0)
        return filled(torch.sigmoid(scores + like(self.bias, scores)), mask, 0.0)

    def check(self, extent: Extent) -> None:
        per_query("bias of normalizers.Sigmoid", self.bias, extent)


@registered
@dataclass(frozen=True)
class Sum(Normalizer):
    """w_j = s_j / (eps + Σ s) over allowed keys, 0 in a row that sums to 0 (Nadaraya 1964, Watson 1964).

    Args:
        eps: ≥ 0, added to the row's sum.

    Raises:
        ArgumentError: eps below 0.

    >>> import torch
    >>> Sum()(torch.tensor([[1.0, 3.0], [0.0, 0.0]]), None).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """

    eps: float = 0.0

    def __post_init__(self) -> None:
        number("eps", self.eps, least=0)

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        scores = filled(scores, mask, 0.0)
        total = scores.sum(-1, keepdim=True)
        return divide(scores, (total + self.eps).masked_fill(total == 0, 0.0))

    @property
    def sums_to_one(self) -> bool:
        return self.eps == 0


@registered
@dataclass(frozen=True)
class Identity(Normalizer):
    """w_j = s_j where allowed: a plain readout, nothing normalized (linear associative memory, Schlag et al. 2021,
    equation 4).

    >>> import torch
    >>> Identity()(torch.tensor([[2.0, -1.0]]), torch.tensor([[True, False]])).tolist()
    [[2.0, 0.0]]
    """

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return filled(scores, mask, 0.0)
