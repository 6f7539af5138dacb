"""Normalizers: how scores become weights.

A normalizer is called with `(scores, mask)`, mask boolean (True: may attend) or None. It returns weights of the shape
of the scores: exactly 0 if the mask forbids, and all 0 in a row with nothing allowed. Forbidden scores play no part,
even NaN.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from saccade._definitions import simplex
from saccade._definitions.checks import number, per_query, positive, positive_number, within
from saccade._definitions.numerics import LARGEST, bounded, divide, like, wide
from saccade._definitions.structure import Axes, Definition, Extent, registered
from saccade.errors import ArgumentTypeError
from saccade.kernels import weights as kernels

__all__ = ["Entmax", "Identity", "Normalizer", "NormalizerFunction", "Sigmoid", "Softmax", "Sparsemax", "Sum"]

NormalizerFunction = Callable[..., Tensor]
"""`(scores, mask)` or `(scores, mask, positions)` to weights."""


class Normalizer(Definition):
    """Base of the built-in normalizers; any `(scores, mask) -> weights` is one too."""

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """The definition: weights of the shape of `scores`."""
        raise ArgumentTypeError("normalizer: expected one of saccade.normalizers or a callable, got the base class")

    def formula(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Weights by PyTorch alone, for backends without kernels and to test kernels."""
        return self(scores, mask)

    def check(self, extent: Extent) -> None:
        """Raise a `SaccadeError` if the normalizer's tensors do not fit the call."""

    @property
    def sums_to_one(self) -> bool:
        """Whether rows with an allowed key sum to one, so that entropy is defined."""
        return False


def filled(scores: Tensor, mask: Tensor | None, value: float = -torch.inf) -> Tensor:
    """Scores with `value` at forbidden positions."""
    return scores if mask is None else scores.masked_fill(~mask, value)


@registered
@dataclass(frozen=True)
class Softmax(Normalizer):
    """w_j = exp(s_j / T) / (exp(sink) + Σ exp(s / T)) over allowed keys.

    Vaswani et al. 2017, equation 1.

    Args:
        temperature: T from 1e-12 to 1e12, a float or a tensor that broadcasts against `(..., Lq, 1)`. A tensor that
            learns and leaves this range raises in an eager call, and is clamped if values cannot be checked.
        sink: the logit of one more key without a value, which takes its share and is dropped (Xiao et al. 2024). It is
            a float, a tensor as for temperature, or None.

    >>> import torch
    >>> Softmax()(torch.tensor([[0.0, 0.0, 5.0]]), torch.tensor([[True, True, False]])).tolist()
    [[0.5, 0.5, 0.0]]
    """

    axes: ClassVar[dict[str, Axes]] = {"temperature": ("q", "1"), "sink": ("q", "1")}
    temperature: float | Tensor = 1.0
    sink: float | Tensor | None = None

    def __post_init__(self) -> None:
        positive_number("temperature", self.temperature, tensor=True)
        number("sink", self.sink, tensor=True, none=True)

    def scaled(self, scores: Tensor) -> Tensor:
        """scores / T, clamped to finite numbers."""
        if not isinstance(self.temperature, Tensor) and self.temperature == 1.0:
            return scores
        largest = torch.finfo(scores.dtype).max
        return (scores / bounded(self.temperature, scores)).clamp(-largest, largest)

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        weights = simplex.softmax(scores, mask, bounded(self.temperature, scores))
        if self.sink is None:
            return weights
        lse = self.log_partition(scores, mask)[..., None]
        over = (lse - like(self.sink, scores)).masked_fill(lse == -torch.inf, -torch.inf)  # −∞ − (−∞) is NaN
        return weights * torch.sigmoid(over)

    def log_partition(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """lse = log Σ exp(s / T) over allowed keys, without the sink, `(..., Lq)`.

        It is −inf if nothing is allowed.
        """
        return simplex.log_partition(scores, mask, bounded(self.temperature, scores))

    def check(self, extent: Extent) -> None:
        positive("temperature", self.temperature, extent)
        per_query("sink", self.sink, extent)

    @property
    def sums_to_one(self) -> bool:
        return self.sink is None


@registered
@dataclass(frozen=True)
class Sparsemax(Normalizer):
    """The point of the simplex nearest to the scores: sparse weights.

    Martins, Astudillo 2016, equation 2.

    >>> import torch
    >>> Sparsemax()(torch.tensor([[0.0, 0.5, -3.0]]), None).tolist()
    [[0.25, 0.75, 0.0]]
    """

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        if kernels.serves_rows(scores, mask):
            return kernels.sparsemax(wide(scores), mask).to(scores.dtype)
        return self.formula(scores, mask)

    def formula(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return simplex.sparsemax(wide(scores), mask).to(scores.dtype)

    @property
    def sums_to_one(self) -> bool:
        return True


@registered
@dataclass(frozen=True)
class Entmax(Normalizer):
    """w_j = [(α − 1) s_j − τ]₊^{1/(α − 1)}, τ such that Σ w = 1; softmax at α = 1.

    At α = 2 it is sparsemax. Peters, Niculae, Martins 2019, equation 10, in its threshold form.

    Args:
        alpha: α from 1 to 1e12, a float or a tensor that broadcasts against `(..., Lq, 1)` and learns (Correia et al.
            2019).

    Raises:
        ArgumentError: alpha outside its range.

    >>> import torch
    >>> Entmax(alpha=2.0)(torch.tensor([[0.0, 0.5, -3.0]]), None).tolist()
    [[0.25, 0.75, 0.0]]
    """

    axes: ClassVar[dict[str, Axes]] = {"alpha": ("q", "1")}
    alpha: float | Tensor = 1.5

    def __post_init__(self) -> None:
        number("alpha", self.alpha, least=1, high=LARGEST, tensor=True)

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        if kernels.serves_rows(scores, mask, self.alpha):
            return kernels.entmax(wide(scores), self.alpha, mask).to(scores.dtype)
        return self.formula(scores, mask)

    def formula(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        numbers = wide(scores)
        return simplex.entmax(numbers, like(self.alpha, numbers), mask).to(scores.dtype)

    def check(self, extent: Extent) -> None:
        per_query("alpha", self.alpha, extent)
        if isinstance(self.alpha, Tensor):
            within("alpha", self.alpha, extent, least=1)

    @property
    def sums_to_one(self) -> bool:
        return True


@registered
@dataclass(frozen=True)
class Sigmoid(Normalizer):
    """w_j = 1 / (1 + exp(−(s_j + b))), every key by itself.

    Ramapuram et al. 2024, equation 3.

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
    """w_j = s_j / (eps + Σ s) over allowed keys, 0 in a row with sum 0.

    Nadaraya 1964, Watson 1964.

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
        number("eps", self.eps, least=0, finite=True)

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
    """w_j = s_j over allowed keys: a plain readout, nothing normalized.

    A linear associative memory is one, for example (Schlag et al. 2021, section 3.1).

    >>> import torch
    >>> Identity()(torch.tensor([[2.0, -1.0]]), torch.tensor([[True, False]])).tolist()
    [[2.0, 0.0]]
    """

    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return filled(scores, mask, 0.0)
