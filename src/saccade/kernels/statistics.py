"""Statistics of rows of weights, and draws from them."""

from typing import Any

import torch
from torch import Tensor

from saccade.auxiliary import entropy as definition
from saccade.kernels.rows import TYPES, by_rows, mask_rows, of_type
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves
from saccade.kernels.weights import MANY
from saccade.reads import largest as definition_of_largest

__all__ = ["draw", "entropy", "largest"]

_entropy, _top, _draw = of_type("statistics:entropy"), of_type("statistics:top"), of_type("statistics:draw")


def entropy(weights: Tensor) -> Tensor:
    r"""\(-\sum_j w_j \log w_j\) of each row, in nats, 0 log 0 being 0.

    Args:
        weights: `(..., Lk)`, float32 or float64, at least two dimensions.
    """
    found: Tensor
    if torch.is_grad_enabled() and weights.requires_grad:
        found = _Entropy.apply(weights)
    else:
        found = _entropies(weights.contiguous())
    return found


def largest(weights: Tensor, k: int, allowed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The k largest weights of a row among allowed keys, falling, the lower index first of equals, and their indices.

    Args:
        weights: `(..., Lk)`, 0 where it is forbidden.
        k: how many, at least one; more than Lk is Lk.
        allowed: boolean, broadcastable to weights, or None.

    Returns:
        Two of shape `(..., min(k, Lk))`; beyond the allowed keys the weight is 0 and the index -1.
    """
    if min(k, weights.shape[-1]) > MANY:
        return definition_of_largest(weights, k, allowed)
    k, shape, mask = min(k, weights.shape[-1]), weights.shape[:-1], mask_rows(allowed, tuple(weights.shape))
    values, indices = weights.new_empty(*shape, k), weights.new_empty(*shape, k, dtype=torch.int64)
    if k:
        by_rows(_top, weights.detach().contiguous(), mask, values, indices, k)
    beyond = indices < 0
    return weights.gather(-1, indices.clamp(min=0)).masked_fill(beyond, 0.0), indices


def draw(weights: Tensor, uniform: Tensor) -> Tensor:
    """The first key of each row whose cumulative weight exceeds u times the row's sum; -1 where that is not above 0.

    Args:
        weights: `(..., Lk)`.
        uniform: u in [0, 1), broadcastable to `(...)`.
    """
    index = weights.new_full(weights.shape[:-1], -1, dtype=torch.int64)
    uniform = uniform.to(weights.dtype).expand(weights.shape[:-1]).contiguous()
    by_rows(_draw, weights.detach().contiguous(), mask_rows(None, tuple(weights.shape)), uniform, index)
    return index


def _entropies(weights: Tensor) -> Tensor:
    found = weights.new_zeros(weights.shape[:-1])
    by_rows(_entropy, weights, mask_rows(None, tuple(weights.shape)), found, 0, 0, 0)
    return found


class _Entropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor) -> Tensor:
        ctx.save_for_backward(weights)
        return _entropies(weights.contiguous())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor | None:
        (weights,) = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad, dtypes=TYPES):
            return by_definition(definition, (weights,), (True,), grad)[0]
        found: Tensor = torch.empty_like(weights, memory_format=torch.contiguous_format)
        weights = weights.contiguous()
        by_rows(_entropy, weights, mask_rows(None, tuple(weights.shape)), 0, grad.contiguous(), found, 1)
        return found
