"""Statistics of rows of weights, and draws from them."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.auxiliary import entropy as definition
from saccade.kernels.rows import TYPES, RowBlocks, of_type, row_blocks
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves
from saccade.kernels.weights import MANY
from saccade.reads import largest as definition_of_largest


class Table(NamedTuple):
    """Table of rows of weights, and of inputs and results of a kernel."""

    rows: RowBlocks
    weights: Tensor
    numbers: Tensor | None = None  # entropies, or the `many` largest weights
    indices: Tensor | None = None  # of the largest weights, or draws
    many: int = 0
    uniform: Tensor | None = None  # of draws
    grads: Tensor | None = None  # of entropies, which become those of weights
    weights_grad: Tensor | None = None


_entropy = of_type("statistics.entropy", Table)
_top, _draw = of_type("statistics.top", Table), of_type("statistics.draw", Table)


def entropy(weights: Tensor) -> Tensor:
    r"""\(-\sum_j w_j \log w_j\) of each row `(..., Lk)`, in nats, 0 log 0 being 0."""
    if torch.is_grad_enabled() and weights.requires_grad:
        entropies: Tensor = _Entropy.apply(weights)
        return entropies
    return _entropies(weights.contiguous())


def largest(weights: Tensor, k: int, allowed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The k largest allowed weights of a row, falling, lower index first, and indices.

    More than Lk is Lk. Beyond the allowed keys the weight is 0 and the index -1.
    """
    if min(k, weights.shape[-1]) > MANY:
        return definition_of_largest(weights, k, allowed)
    k, shape = min(k, weights.shape[-1]), weights.shape[:-1]
    values, indices = weights.new_empty(*shape, k), weights.new_empty(*shape, k, dtype=torch.int64)
    if k:
        rows = row_blocks(weights, allowed)
        _top[weights.dtype](rows.blocks, Table(rows, weights.detach().contiguous(), values, indices, k))
    beyond = indices < 0
    return weights.gather(-1, indices.clamp(min=0)).masked_fill(beyond, 0.0), indices


def draw(weights: Tensor, uniform: Tensor) -> Tensor:
    """First key with a running sum above u · sum, u in [0, 1), -1 unless sum > 0."""
    indices = weights.new_full(weights.shape[:-1], -1, dtype=torch.int64)
    uniform = uniform.to(weights.dtype).expand(weights.shape[:-1]).contiguous()
    rows = row_blocks(weights)
    _draw[weights.dtype](rows.blocks, Table(rows, weights.detach().contiguous(), indices=indices, uniform=uniform))
    return indices


def _entropies(weights: Tensor) -> Tensor:
    entropies, rows = weights.new_zeros(weights.shape[:-1]), row_blocks(weights)
    _entropy[weights.dtype](rows.blocks, Table(rows, weights, entropies))
    return entropies


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
        weights_grad = torch.empty_like(weights, memory_format=torch.contiguous_format)
        rows = row_blocks(weights)
        table = Table(rows, weights.contiguous(), grads=grad.contiguous(), weights_grad=weights_grad)
        _entropy[weights.dtype](rows.blocks, table)
        return weights_grad
