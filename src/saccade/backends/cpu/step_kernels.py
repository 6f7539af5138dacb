"""Kernels of a step as functions of tensors with one batch dimension, and the formulas that they compute."""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from saccade.backends.folding import Folded
from saccade.kernels.threads import Kernel
from saccade.normalizers import Softmax
from saccade.scores import Additive

__all__ = ["defined", "forward", "gradients", "weigh"]

_forward, _backward = Kernel("additive:forward"), Kernel("additive:backward")


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
