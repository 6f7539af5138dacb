"""Softmax, sparsemax and entmax of rows, as differentiable functions."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from saccade._definitions import simplex
from saccade._definitions.numerics import HALF
from saccade.kernels import gpu_rows
from saccade.kernels.rows import TYPES, RowBlocks, of_type, row_blocks
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves


class Weigh(NamedTuple):
    """Table of the weights of rows. `lse` to `indices` are of a softmax alone."""

    rows: RowBlocks
    scores: Tensor
    weights: Tensor
    lse: Tensor
    entropy: Tensor
    parameters: Tensor  # 1 / temperature, then α - 1 of all rows, or of each
    a_stride: int  # from one row's α - 1 to the next: 0 or 1
    values: Tensor | None
    indices: Tensor | None
    many: int  # how many of the largest weights of a row are written


class Differentiate(NamedTuple):
    """Table of the gradients of scores, from those of the weights and of lse."""

    rows: RowBlocks
    weights: Tensor
    grads: Tensor
    slopes: Tensor  # the results
    parameters: Tensor
    a_stride: int
    lse_grad: Tensor | None


_weigh, _differentiate = of_type("rows.weigh", Weigh), of_type("rows_backward.differentiate", Differentiate)


class _Family(NamedTuple):
    """A member of the family: softmax at α = 1, sparsemax at α = 2.

    α is a float or one number of all rows, or `(..., 1)` of each row.
    """

    temperature: float = 1.0
    alpha: float | Tensor = 1.0

    def formula(self, scores: Tensor, alpha: Tensor | None, mask: Tensor | None) -> Tensor:
        if alpha is not None:
            return simplex.entmax(scores, alpha, mask)
        if self.alpha in (1, 2):
            return simplex.sparsemax(scores, mask) if self.alpha == 2 else simplex.softmax(self.scaled(scores), mask)
        return simplex.entmax(scores, self.alpha, mask)

    def scaled(self, scores: Tensor) -> Tensor:
        return scores if self.temperature == 1 else scores / self.temperature


def serves_rows(scores: Tensor, mask: Tensor | None, alpha: float | Tensor = 2.0) -> bool:
    """Whether `sparsemax` and `entmax` serve these tensors, half types as float32."""
    tensors = [part for part in (scores, mask, alpha) if isinstance(part, Tensor)]
    on_gpu = scores.device.type == gpu_rows.DEVICE
    served = gpu_rows.serves_rows(alpha, *tensors) if on_gpu else serves(*tensors, dtypes=_DTYPES)
    if not served or not scores.is_floating_point() or not (scores.ndim and scores.shape[-1]):
        return False
    if mask is not None and not (isinstance(mask, Tensor) and mask.dtype == torch.bool and _fits(mask, scores.shape)):
        return False
    return not isinstance(alpha, Tensor) or (alpha.is_floating_point() and _fits(alpha, (*scores.shape[:-1], 1)))


def _fits(tensor: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether a tensor broadcasts to this shape as it is."""
    missing = len(shape) - tensor.ndim
    return missing >= 0 and all(length in (1, size) for length, size in zip(tensor.shape, shape[missing:], strict=True))


_DTYPES = {*TYPES, *HALF, torch.bool}


def softmax(
    scores: Tensor, allowed: Tensor | None = None, temperature: float = 1.0, *, overwrite: bool = False, top: int = 0
) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor] | None]:
    r"""\(w_j = e^{s_j / T} / \sum e^{s / T}\) over allowed keys, lse, entropy, `top`.

    If `overwrite`, the weights may take the place of contiguous scores that autograd does not record. The largest
    weights (at most `MANY`) and their indices are None if autograd records or none are requested. No gradient passes
    through the entropy.
    """
    return _weights(scores, allowed, _Family(temperature), overwrite=overwrite, top=top)


class Statistics(NamedTuple):
    """Room for the statistics of a softmax.

    `lse` and `entropy` are `(..., rows)`, the largest weights and their indices `(..., rows, many)`, many at most
    `MANY`.
    """

    lse: Tensor
    entropy: Tensor
    values: Tensor
    indices: Tensor

    @classmethod
    def of(cls, rows: Tensor, many: int) -> "Statistics":
        indices = rows.new_empty(*rows.shape, many, dtype=torch.int64)
        return cls(rows, torch.empty_like(rows), rows.new_empty(*rows.shape, many), indices)

    def part(self, *rows: slice) -> "Statistics":
        return Statistics(*(part[rows] for part in self))


def softmax_over(scores: Tensor, temperature: float, statistics: Statistics) -> None:
    """Write weights over contiguous scores `(..., rows, Lk)`, all of them allowed."""
    parameters, _ = _parameters(_Family(temperature), scores)
    rows, (lse, entropy, values, indices) = row_blocks(scores), statistics
    table = Weigh(rows, scores, scores, lse, entropy, parameters, 0, values, indices, values.shape[-1])
    _weigh[scores.dtype](rows.blocks, table)


def sparsemax(scores: Tensor, allowed: Tensor | None = None) -> Tensor:
    r"""\([s_j - \tau]_+\), nearest on the simplex (Martins, Astudillo 2016, eq. 2)."""
    return entmax(scores, 2.0, allowed)


def entmax(scores: Tensor, alpha: float | Tensor = 1.5, allowed: Tensor | None = None) -> Tensor:
    r"""\([(\alpha - 1) s_j - \tau]_+^{1 / (\alpha - 1)}\) (Peters et al. 2019, eq. 10).

    α is at least 1; a tensor that broadcasts against `(..., 1)` learns.
    """
    if scores.device.type == gpu_rows.DEVICE:
        return gpu_rows.entmax(scores, float(alpha), allowed)
    learned = alpha.to(dtype=scores.dtype, device=scores.device) if isinstance(alpha, Tensor) else float(alpha)
    return _weights(scores, allowed, _Family(alpha=learned))[0]


_Results: TypeAlias = tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor] | None]


def _weights(
    scores: Tensor, allowed: Tensor | None, family: _Family, *, overwrite: bool = False, top: int = 0
) -> _Results:
    alpha = family.alpha if isinstance(family.alpha, Tensor) else None
    if torch.is_grad_enabled() and (scores.requires_grad or (alpha is not None and alpha.requires_grad)):
        return (*_Weights.apply(scores, alpha, allowed, family), None)
    return _forward(scores, allowed, family, overwrite=overwrite, top=top)[0]


def _forward(
    scores: Tensor, allowed: Tensor | None, family: _Family, *, overwrite: bool = False, top: int = 0
) -> tuple[_Results, Tensor]:
    """Weights, lse, entropy and the largest weights, and a table's parameters."""
    scores, (parameters, soft) = scores.contiguous(), _parameters(family, scores)
    rows, many, shape = row_blocks(scores, allowed), min(top, scores.shape[-1]), scores.shape[:-1]
    weights = scores if overwrite else torch.empty_like(scores)
    lse = scores.new_full(shape, -torch.inf) if soft else scores.new_empty(0)
    entropy, largest = torch.zeros_like(lse), None
    if top:
        largest = scores.new_empty(*shape, many), scores.new_empty(*shape, many, dtype=torch.int64)
    stride = int(parameters.numel() > 2)  # 0 where all rows share α
    values, indices = largest or (None, None)
    table = Weigh(rows, scores, weights, lse, entropy, parameters, stride, values, indices, many)
    _weigh[scores.dtype](rows.blocks, table)
    return (weights, lse, entropy, largest), parameters


MANY = 32
"""Largest weights collected by insertion. For more, sorting is faster."""


def _parameters(family: _Family, scores: Tensor) -> tuple[Tensor, bool]:
    """1 / temperature and α - 1, and whether some row may be a softmax, with an lse."""
    alpha = family.alpha
    if isinstance(alpha, Tensor):
        if alpha.numel() != 1:
            excesses = (alpha.detach() - 1).expand(*scores.shape[:-1], 1).reshape(-1)
            return torch.cat([excesses.new_ones(1), excesses]), True
        alpha = float(alpha.detach())
    kind: Any = np.float64 if scores.dtype == torch.float64 else np.float32
    excess = kind(alpha) - kind(1)
    return torch.from_numpy(np.array([1.0 / family.temperature, excess], kind)), bool(excess == 0)


class _Weights(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, alpha: Tensor | None, allowed: Tensor | None, family: _Family
    ) -> tuple[Tensor, Tensor, Tensor]:
        (weights, lse, entropy, _), parameters = _forward(scores, allowed, family)
        ctx.set_materialize_grads(False)
        ctx.family = family
        ctx.save_for_backward(scores, alpha, allowed, weights, parameters)
        ctx.mark_non_differentiable(entropy)
        return weights, lse, entropy

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, grad_lse: Tensor | None, _: Tensor | None) -> tuple[Tensor | None, ...]:
        scores, alpha, allowed, weights, parameters = ctx.saved_tensors
        upstream = [part for part in (grad, grad_lse) if part is not None]
        if not upstream:
            return None, None, None, None
        if torch.is_grad_enabled() or not serves(*upstream, dtypes=TYPES):
            mask, family = None if allowed is None else allowed.expand(scores.shape), ctx.family

            def formula(scores: Tensor, alpha: Tensor | None = None) -> list[Tensor]:
                gradients = [] if grad is None else [family.formula(scores, alpha, mask)]
                return (
                    gradients if grad_lse is None else [*gradients, simplex.log_partition(family.scaled(scores), mask)]
                )

            inputs = (scores,) if alpha is None else (scores, alpha)
            gradients = by_definition(formula, inputs, ctx.needs_input_grad[: len(inputs)], upstream)
            return *gradients, *[None] * (4 - len(gradients))
        weights, parameters = weights.contiguous(), parameters.contiguous()  # hooks on saved tensors may change strides
        grad = torch.zeros_like(weights) if grad is None else grad.contiguous()
        grad_lse = None if grad_lse is None else grad_lse.contiguous()
        rows, scores_grad = row_blocks(weights), torch.empty_like(weights)
        table = Differentiate(rows, weights, grad, scores_grad, parameters, int(parameters.numel() > 2), grad_lse)
        _differentiate[weights.dtype](rows.blocks, table)
        alpha_grad = simplex.gradient_of_alpha(grad, weights, alpha) if ctx.needs_input_grad[1] else None
        return scores_grad, alpha_grad, None, None
