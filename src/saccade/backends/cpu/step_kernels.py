"""Kernels of a step as functions of tensors with one batch dimension, and the formulas that they compute."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade._definitions.structure import aligned
from saccade.kernels.threads import Kernel
from saccade.normalizers import Softmax
from saccade.scores import Additive

__all__ = ["Folded", "defined", "folded", "forward", "gradients", "weigh"]

_forward, _backward = Kernel("additive:forward"), Kernel("additive:backward")


class Folded(NamedTuple):
    """Tensors of a call with one batch dimension.

    Args:
        query: `(N, Lq, D)`; rows that share their keys (groups of queries) are rows of one entry.
        key: `(N, Lk, D)`.
        value: `(N, Lk, Dv)`.
        v: `(D,)`, or `(N, D)`.
        powers: `saccade.scores.exponentials` of the key; no gradient passes through them.
        mask: boolean `(N or 1, Lq or 1, Lk)`, or None.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    v: Tensor
    powers: Tensor
    mask: Tensor | None


def folded(
    batch: tuple[int, ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    v: Tensor,
    powers: Tensor,
    mask: Tensor | None,
) -> Folded:
    """Fold batch dimensions that broadcast to `batch` into one, without a copy if only the query has them."""
    rank, matrix = len(batch), ("rows", "columns")
    key, value, powers = (aligned(part, matrix, rank) for part in (key, value, powers))
    v = aligned(v, ("d",), rank)
    if mask is not None:
        mask = aligned(mask, matrix, rank)
        mask = mask.expand(*mask.shape[:-1], key.shape[-2])
    query = query.expand(*batch, *query.shape[-2:])
    while batch and all(part.shape[len(batch) - 1] == 1 for part in (key, value, v, powers)):
        if mask is not None and (mask.shape[len(batch) - 1] != 1 or mask.shape[-2] != 1):
            break
        query = query.flatten(-3, -2)
        key, value, powers = (part.squeeze(-3) for part in (key, value, powers))
        v, mask, batch = v.squeeze(-2), mask if mask is None else mask.squeeze(-3), batch[:-1]
    count = math.prod(batch)
    key, value, powers = (
        part.expand(*batch, *part.shape[-2:]).reshape(count, *part.shape[-2:]) for part in (key, value, powers)
    )
    single = math.prod(v.shape[:-1]) == 1
    v = v.reshape(v.shape[-1]) if single else v.expand(*batch, v.shape[-1]).reshape(count, v.shape[-1])
    if mask is not None:
        alike = math.prod(mask.shape[:-2]) == 1
        mask = mask if alike else mask.expand(*batch, *mask.shape[-2:])
        mask = mask.reshape(1 if alike else count, *mask.shape[-2:])
    return Folded(query.reshape(count, *query.shape[-2:]), key, value, v, powers, mask)


def _table(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, powers: Tensor, mask: Tensor | None
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """First entries of the kernels' table, and the sizes."""
    length, features = query.shape[1:]
    width, out = value.shape[-2:]
    query, key, value, v, powers = (part.contiguous() for part in (query, key, value, v, powers))
    mask = _all_allowed(width) if mask is None else mask.contiguous()
    steps = 0 if len(mask) == 1 else mask.stride(0), 0 if mask.shape[1] == 1 else mask.stride(1)
    parts = query, key, powers, value, v, 0 if v.ndim == 1 else features, mask, *steps
    return parts, (length, width, features, out)


def gradients(
    inputs: Folded, grad: Tensor, weights: Tensor | None, kinds: Tensor, temperature: float, key_sum: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and v.

    Args:
        inputs: tensors of the forward.
        grad: contiguous gradient of the output `(N, Lq, Dv)`; without weights that of the scores `(N, Lq, Lk)`, whose
            rows sum to zero.
        weights, kinds: results of the forward; weights are contiguous.
        temperature: T.
        key_sum: the tensor to which the key's gradient is added in place; None: zeros.
    """
    parts, sizes = _table(*inputs)
    query, key, v = inputs.query, inputs.key, inputs.v
    features, width = query.shape[-1], key.shape[-2]
    query_grad, key_grad = query.new_empty(query.shape), key.new_zeros(key.shape) if key_sum is None else key_sum
    v_grad, room = query.new_zeros(len(query), features), query.new_empty(len(query), 2 * features + width)
    results = grad, 0 if weights is None else weights, kinds.contiguous(), room
    _backward(len(query), *parts, *results, *sizes, _number(temperature), query_grad, key_grad, v_grad)
    return query_grad, key_grad, v_grad.sum(0) if v.ndim == 1 else v_grad


def weigh(inputs: Folded, temperature: float) -> tuple[Tensor, Tensor]:
    """Weights and the formula of each row's scores."""
    return forward(inputs._replace(value=inputs.value[..., :0]), temperature)[1:]  # no values to sum


def forward(inputs: Folded, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """Output `(N, Lq, Dv)`, weights `(N, Lq, Lk)`, and the formula of each row's scores."""
    parts, sizes = _table(*inputs)
    length, width, features, out = sizes
    query, batch = inputs.query, len(inputs.query)
    output, weights = query.new_empty(batch, length, out), query.new_empty(batch, length, width)
    kinds, room = query.new_empty(batch, length, dtype=torch.uint8), query.new_empty(batch, features)
    _forward(batch, *parts, output, weights, kinds, room, *sizes, _number(temperature))
    return output, weights, kinds


@lru_cache(maxsize=64)
def _all_allowed(width: int) -> Tensor:
    """A mask that allows all keys, `(1, 1, width)`; not to be written to."""
    return torch.ones(1, 1, width, dtype=torch.bool, device="cpu")


@lru_cache(maxsize=64)
def _number(value: float) -> Tensor:
    """A number as kernels read it; not to be written to."""
    return torch.tensor([value], dtype=torch.float32, device="cpu")


def defined(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, mask: Tensor | None, temperature: float
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Weights by the formula, values and allowed pairs; queries and keys without an allowed pair are zeros."""
    if mask is None:
        return Softmax(temperature)(Additive(v)(query, key), None), value, None
    allowed = mask.expand(*query.shape[:2], key.shape[1])
    hidden = ~allowed.any(1)[..., None]
    query = query.masked_fill(~allowed.any(2)[..., None], 0.0)
    key, value = key.masked_fill(hidden, 0.0), value.masked_fill(hidden, 0.0)
    return Softmax(temperature)(Additive(v)(query, key), allowed), value, allowed
