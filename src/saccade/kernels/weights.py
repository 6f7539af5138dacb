"""Weights from scores, row by row: softmax, sparsemax and entmax, as differentiable functions."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from saccade._definitions import simplex
from saccade._definitions.numerics import HALF
from saccade.kernels.rows import TYPES, by_rows, mask_rows, of_type
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves

__all__ = ["MANY", "Statistics", "entmax", "serves_rows", "softmax", "softmax_over", "sparsemax"]

_weigh, _differentiate = of_type("rows:weigh"), of_type("rows_backward:differentiate")


class _Family(NamedTuple):
    """Which weights: softmax at α = 1, sparsemax at α = 2.

    Args:
        temperature: what scores are divided by.
        alpha: of all rows, a float or one number; of each row, `(..., 1)`.
    """

    temperature: float = 1.0
    alpha: float | Tensor = 1.0

    @property
    def learned(self) -> Tensor | None:
        """α where it is a tensor."""
        return self.alpha if isinstance(self.alpha, Tensor) else None

    def formula(self, scores: Tensor, alpha: Tensor | None, mask: Tensor | None) -> Tensor:
        """Weights in operations of PyTorch."""
        if alpha is not None:
            return simplex.entmax(scores, alpha, mask)
        if self.alpha in (1, 2):
            return simplex.sparsemax(scores, mask) if self.alpha == 2 else simplex.softmax(self.scaled(scores), mask)
        return simplex.entmax(scores, self.alpha, mask)

    def scaled(self, scores: Tensor) -> Tensor:
        return scores if self.temperature == 1 else scores / self.temperature


def serves_rows(scores: Tensor, mask: Tensor | None, alpha: float | Tensor = 1.0) -> bool:
    """Whether `sparsemax` and `entmax` take these, half types once they are float32; else the formula is to be taken.

    Args:
        scores, mask: whatever a normalizer was called with.
        alpha: its own.
    """
    tensors = [part for part in (scores, mask, alpha) if isinstance(part, Tensor)]
    if not serves(*tensors, dtypes=_DTYPES) or not scores.is_floating_point() or not (scores.ndim and scores.shape[-1]):
        return False
    if mask is not None and not (isinstance(mask, Tensor) and mask.dtype == torch.bool and _fits(mask, scores.shape)):
        return False
    return not isinstance(alpha, Tensor) or (alpha.is_floating_point() and _fits(alpha, (*scores.shape[:-1], 1)))


def _fits(tensor: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether a tensor broadcasts to this shape as it is."""
    missing = len(shape) - tensor.ndim
    return missing >= 0 and all(own in (1, size) for own, size in zip(tensor.shape, shape[missing:], strict=True))


_DTYPES = {*TYPES, *HALF, torch.bool}


def softmax(
    scores: Tensor, allowed: Tensor | None = None, temperature: float = 1.0, *, overwrite: bool = False, top: int = 0
) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor] | None]:
    r"""\(w_j = e^{s_j / T} / \sum e^{s / T}\) over allowed keys, the logarithm of that sum, and the entropy.

    Args:
        scores: `(..., Lk)`, float32 or float64, at least two dimensions.
        allowed: boolean, broadcastable to scores, or None.
        temperature: T > 0.
        overwrite: whether the scores may be lost: where they are contiguous and nothing is recorded, the weights take
            their place.
        top: how many of the largest weights are wanted too, at most `MANY`.

    Returns:
        Weights, of the shape of scores; lse and entropy, without the last dimension; what `statistics.largest` finds,
        None where something is recorded or nothing of it is wanted. No gradient passes through the entropy.
    """
    return _weights(scores, allowed, _Family(temperature), overwrite=overwrite, top=top)


class Statistics(NamedTuple):
    """Where the statistics of a softmax are written.

    Args:
        lse, entropy: `(..., rows)`.
        values, indices: of the largest weights, `(..., rows, many)`, many at most `MANY`.
    """

    lse: Tensor
    entropy: Tensor
    values: Tensor
    indices: Tensor

    @classmethod
    def of(cls, rows: Tensor, many: int) -> "Statistics":
        """Room for those of as many rows as there are numbers."""
        indices = rows.new_empty(*rows.shape, many, dtype=torch.int64)
        return cls(rows, torch.empty_like(rows), rows.new_empty(*rows.shape, many), indices)

    def part(self, *place: slice) -> "Statistics":
        """The room of some rows, which must lie in one piece."""
        return Statistics(*(part[place] for part in self))


def softmax_over(scores: Tensor, temperature: float, found: Statistics) -> None:
    """Weights, as `softmax` has them, in the place of scores `(..., rows, Lk)` in one piece, all of them allowed."""
    numbers, _ = _numbers(_Family(temperature), scores)
    wanted = found.values, found.indices, found.values.shape[-1]
    by_rows(_weigh, scores, mask_rows(None, scores.shape), scores, found.lse, found.entropy, numbers, 0, *wanted)


def sparsemax(scores: Tensor, allowed: Tensor | None = None) -> Tensor:
    r"""\([s_j - \tau]_+\), the point of the simplex nearest to the scores (Martins, Astudillo 2016, equation 2).

    Args: as for `softmax`.
    """
    return _weights(scores, allowed, _Family(alpha=2.0))[0]


def entmax(scores: Tensor, alpha: float | Tensor = 1.5, allowed: Tensor | None = None) -> Tensor:
    r"""\([(\alpha - 1) s_j - \tau]_+^{1 / (\alpha - 1)}\) (Peters, Niculae, Martins 2019, equation 10).

    Args:
        scores, allowed: as for `softmax`.
        alpha: at least 1; a tensor that broadcasts against `(..., 1)` learns.
    """
    learned = alpha.to(dtype=scores.dtype, device=scores.device) if isinstance(alpha, Tensor) else float(alpha)
    return _weights(scores, allowed, _Family(alpha=learned))[0]


def _weights(
    scores: Tensor, allowed: Tensor | None, family: _Family, *, overwrite: bool = False, top: int = 0
) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor] | None]:
    alpha = family.learned
    if torch.is_grad_enabled() and (scores.requires_grad or (alpha is not None and alpha.requires_grad)):
        return (*_Weights.apply(scores, alpha, allowed, family), None)
    shape, largest = (*scores.shape[:-1], min(top, scores.shape[-1])), None
    if top:
        largest = scores.new_empty(shape), scores.new_empty(shape, dtype=torch.int64)
    return (*_forward(scores, allowed, family, overwrite=overwrite, largest=largest)[:3], largest)


def _forward(
    scores: Tensor,
    allowed: Tensor | None,
    family: _Family,
    *,
    overwrite: bool = False,
    largest: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Weights, lse, entropy, and 1 / temperature with α - 1 of all rows, or of each; and what is `largest`."""
    scores, (numbers, soft) = scores.contiguous(), _numbers(family, scores)
    weights, each = scores if overwrite else torch.empty_like(scores), int(numbers.numel() > _ALIKE)
    lse = scores.new_full(scores.shape[:-1], -torch.inf) if soft else scores.new_empty(0)
    entropy = torch.zeros_like(lse)
    wanted = (0, 0, 0) if largest is None else (*largest, largest[0].shape[-1])
    by_rows(_weigh, scores, mask_rows(allowed, tuple(scores.shape)), weights, lse, entropy, numbers, each, *wanted)
    return weights, lse, entropy, numbers


MANY = 32
"""How many of the largest are found by inserting one into the others; with more, sorting is faster."""

_ALIKE = 2
"""How many numbers there are where α is the same for all rows."""


def _numbers(family: _Family, scores: Tensor) -> tuple[Tensor, bool]:
    """1 / temperature and α - 1, of α as this type has it; whether some row may be a softmax, which has an lse."""
    alpha = family.alpha
    if isinstance(alpha, Tensor):
        if alpha.numel() != 1:
            each = (alpha.detach() - 1).expand(*scores.shape[:-1], 1).reshape(-1)
            return torch.cat([each.new_ones(1), each]), True
        alpha = float(alpha.detach())
    kind: Any = np.float64 if scores.dtype == torch.float64 else np.float32
    excess = kind(alpha) - kind(1)
    return torch.from_numpy(np.array([1.0 / family.temperature, excess], kind)), bool(excess == 0)


class _Weights(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, alpha: Tensor | None, allowed: Tensor | None, family: _Family
    ) -> tuple[Tensor, Tensor, Tensor]:
        weights, lse, entropy, numbers = _forward(scores, allowed, family)
        ctx.set_materialize_grads(False)
        ctx.family = family
        ctx.save_for_backward(scores, alpha, allowed, weights, numbers)
        ctx.mark_non_differentiable(entropy)
        return weights, lse, entropy

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, grad_lse: Tensor | None, _: Tensor | None) -> tuple[Tensor | None, ...]:
        scores, alpha, allowed, weights, numbers = ctx.saved_tensors
        given = [part for part in (grad, grad_lse) if part is not None]
        if not given:
            return None, None, None, None
        if torch.is_grad_enabled() or not serves(*given, dtypes=TYPES):
            return (*_again(ctx, scores, alpha, allowed, grad, grad_lse), None, None)
        weights, numbers = weights.contiguous(), numbers.contiguous()  # hooks on saved tensors may change strides
        grad = torch.zeros_like(weights) if grad is None else grad.contiguous()
        lse = 0 if grad_lse is None else grad_lse.contiguous()
        found, each = torch.empty_like(weights), int(numbers.numel() > _ALIKE)
        parts = grad, found, numbers, each, lse, int(grad_lse is not None)
        by_rows(_differentiate, weights, mask_rows(None, weights.shape), *parts)
        grad_alpha = None
        if ctx.needs_input_grad[1]:
            grad_alpha = simplex.gradient_of_alpha(grad, weights, alpha)
        return found, grad_alpha, None, None


def _again(
    ctx: Any,
    scores: Tensor,
    alpha: Tensor | None,
    allowed: Tensor | None,
    grad: Tensor | None,
    grad_lse: Tensor | None,
) -> list[Tensor | None]:
    """The gradients by the formula, whose operations can be differentiated again."""
    mask, family = None if allowed is None else allowed.expand(scores.shape), ctx.family

    def formula(scores: Tensor, *alphas: Tensor) -> list[Tensor]:
        found = [] if grad is None else [family.formula(scores, alphas[0] if alphas else None, mask)]
        return found if grad_lse is None else [*found, simplex.log_partition(family.scaled(scores), mask)]

    inputs = (scores,) if alpha is None else (scores, alpha)
    upstream = [part for part in (grad, grad_lse) if part is not None]
    found = by_definition(formula, inputs, ctx.needs_input_grad[: len(inputs)], upstream)
    return [*found, *[None] * (2 - len(found))]
