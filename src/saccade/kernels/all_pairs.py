"""Additive weights of all pairs of queries and keys, without a mask."""

from typing import NamedTuple

import torch
from torch import Tensor

from saccade.kernels.additive import STRIP, Gradients, Scores, bounds, gradients, gradients_table, rows_of
from saccade.kernels.packing import Packed
from saccade.kernels.rows import mask_rows, of_type
from saccade.kernels.scratch import scratch


class Weights(NamedTuple):
    """Table of `weights_over`, with query and key in rows, and no mask."""

    scores: Scores
    lse: Tensor
    entropy: Tensor
    raw: Tensor  # A byte that becomes 1 if some tile was not computed by the identity
    features: int
    weighs: bool  # whether scores become weights


class Slopes(NamedTuple):
    """Table of gradients of scores, and of their tiles. A block is `STRIP` queries."""

    results: Gradients
    weights: Tensor
    grads: Tensor
    length: int
    width: int


_weigh, _slopes = of_type("all_pairs.weights", Weights), of_type("all_pairs.slopes", Slopes)


def weights_over(
    over: Tensor,
    query: Tensor,
    key: Tensor,
    v: Tensor,
    packed: Packed,
    temperature: float | None,
    lse: Tensor,
    entropy: Tensor,
) -> Tensor:
    r"""Write the softmax of \(v^\top \tanh(q_i + k_j) / T\), or without T the scores.

    All tensors are in one piece. `over` is memory of the weights `(N, Lq, Lk)`, and `lse` and `entropy` of the
    statistics `(N, Lq)`. The result is a byte: 1 if some score was computed from query and key themselves, and 0 else.
    """
    (count, length, features), width, v = query.shape, key.shape[1], v.contiguous()
    raw, strip = torch.zeros(1, dtype=torch.uint8, device="cpu"), rows_of(count * length)
    factor, v_stride = 1.0 if temperature is None else 1 / temperature, 0 if v.ndim == 1 else features
    tensors = *packed, query, key, v, v_stride, *mask_rows(None, ()), 0, over, bounds(query.dtype, factor)
    (whole, rows), lanes = packed.queries.shape[1:], packed.keys.shape[2]
    scores = Scores(*tensors, length, width, whole - 1, strip, whole * lanes, lanes, lanes, rows)
    table = Weights(scores, lse, entropy, raw, features, weighs=temperature is not None)
    _weigh[query.dtype](count * -(-length // strip), table)
    return raw


def differentiated(
    grad: Tensor, weights: Tensor, query: Tensor, key: Tensor, v: Tensor, packed: Packed, temperature: float, raw: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and v from contiguous ones of weights, `(N, Lq, Lk)`.

    `raw` is whether the byte of `weights_over` is 1.
    """
    (count, length, width), dtype, rows = weights.shape, query.dtype, packed.queries.shape[2]
    slopes = scratch("of scores", (count, rows, packed.keys.shape[2]), dtype)
    table = gradients_table(slopes, query, key, *packed, raw, bounds(dtype, 1 / temperature))
    _slopes[dtype](count * -(-rows // STRIP), Slopes(table, weights, grad, length, width))
    return gradients(table, query, key, v)
