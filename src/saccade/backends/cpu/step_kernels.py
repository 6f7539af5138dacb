"""Kernels of a step as functions of folded tensors, and their formulas."""

from functools import lru_cache

import torch
from torch import Tensor

from saccade.backends.folding import Folded
from saccade.kernels import steps
from saccade.normalizers import Softmax
from saccade.scores import Additive


def _inputs(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, powers: Tensor, mask: Tensor | None, temperature: float
) -> steps.Inputs:
    length, features = query.shape[1:]
    width, out = value.shape[-2:]
    query, key, value, v, powers = (part.contiguous() for part in (query, key, value, v, powers))
    mask = _all_allowed(width) if mask is None else mask.contiguous()
    strides = 0 if len(mask) == 1 else mask.stride(0), 0 if mask.shape[1] == 1 else mask.stride(1)
    tensors = query, key, powers, value, v, 0 if v.ndim == 1 else features, mask, *strides
    return steps.Inputs(*tensors, length, width, features, out, _number(temperature))


def gradients(
    inputs: Folded, grad: Tensor, weights: Tensor | None, ways: Tensor, temperature: float, key_grad: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and v; the key's is added to `key_grad`, in its place.

    `grad` is of the output `(N, Lq, Dv)`, in one piece, as are the weights. Without weights, it is of the scores
    `(N, Lq, Lk)`, with the sum zero in each row.
    """
    query, key, v = inputs.query, inputs.key, inputs.v
    features, width = query.shape[-1], key.shape[-2]
    query_grad, key_grad = query.new_empty(query.shape), key.new_zeros(key.shape) if key_grad is None else key_grad
    v_grad, room = query.new_zeros(len(query), features), query.new_empty(len(query), 2 * features + width)
    tensors = grad, weights, ways.contiguous(), room, query_grad, key_grad, v_grad
    steps.backward(len(query), steps.Backward(_inputs(*inputs, temperature), *tensors))
    return query_grad, key_grad, v_grad.sum(0) if v.ndim == 1 else v_grad


def weigh(inputs: Folded, temperature: float) -> tuple[Tensor, Tensor]:
    """The weights alone, `(N, Lq, Lk)`, and how each row's scores were computed."""
    return forward(inputs._replace(value=inputs.value[..., :0]), temperature)[1:]  # no values to sum


def forward(inputs: Folded, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """Output `(N, Lq, Dv)`, weights `(N, Lq, Lk)`, and each row's way of scoring."""
    table = _inputs(*inputs, temperature)
    rows, new = table.query.shape[:2], inputs.query.new_empty
    output, weights = new(*rows, table.out), new(*rows, table.width)
    ways, room = new(rows, dtype=torch.uint8), new(rows[0], table.features)
    steps.forward(rows[0], steps.Forward(table, output, weights, ways, room))
    return output, weights, ways


@lru_cache(maxsize=64)
def _all_allowed(width: int) -> Tensor:
    """A mask that forbids nothing, `(1, 1, width)`; to be read alone."""
    return torch.ones(1, 1, width, dtype=torch.bool, device="cpu")


@lru_cache(maxsize=64)
def _number(value: float) -> Tensor:
    """A number as kernels read it; to be read alone."""
    return torch.tensor([value], dtype=torch.float32, device="cpu")


def defined(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, mask: Tensor | None, temperature: float
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Weights, values and mask, with zeros for queries and keys without a pair."""
    if mask is None:
        return Softmax(temperature)(Additive(v)(query, key), None), value, None
    allowed = mask.expand(*query.shape[:2], key.shape[1])
    hidden = ~allowed.any(1)[..., None]
    query = query.masked_fill(~allowed.any(2)[..., None], 0.0)
    key, value = key.masked_fill(hidden, 0.0), value.masked_fill(hidden, 0.0)
    return Softmax(temperature)(Additive(v)(query, key), allowed), value, allowed
