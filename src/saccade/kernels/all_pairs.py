"""Additive weights of all pairs of queries and keys, without a mask."""

from typing import NamedTuple

import torch
from torch import Tensor

from saccade.kernels.additive import STRIP, bounds, gradients, rows_of, tiles_of
from saccade.kernels.packing import Packed
from saccade.kernels.rows import of_type
from saccade.kernels.scratch import scratch

__all__ = ["differentiated", "weights_over"]


class Weights(NamedTuple):
    """Table of `weights_over`."""

    left: Tensor  # packed queries
    right: Tensor  # packed keys
    query: Tensor
    key: Tensor
    v: Tensor
    v_stride: int
    weights: Tensor
    lse: Tensor
    entropy: Tensor
    bounds: Tensor  # [The exponential's range, the bound on 1 + e^{2(q + k)}, 1 / temperature]
    raw: Tensor  # A byte that becomes 1 if some tile was not computed by the identity
    length: int
    width: int
    features: int
    whole: int
    rows: int  # columns of `left`
    lanes: int  # columns of `right`
    strip: int  # queries of a block
    weighs: bool  # whether scores become weights


class Slopes(NamedTuple):
    """Table of gradients of scores, `slopes`, with zeros up to `rows` and `lanes`.

    A block is `STRIP` queries. `ways` and `sums` are results too, as those of `additive.Ways`.
    """

    weights: Tensor
    grads: Tensor
    left: Tensor
    right: Tensor
    slopes: Tensor
    ways: Tensor
    sums: Tensor
    bounds: Tensor
    length: int
    width: int
    whole: int
    rows: int
    lanes: int


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
    r"""Write the softmax of \(v^\top \tanh(q_i + k_j) / T\), or the scores.

    Args:
        over: memory of the weights, `(N, Lq, Lk)` in one piece.
        query, key: `(N, Lq, D)` and `(N, Lk, D)`, each in one piece.
        v: `(D,)` or `(N, D)`.
        packed: query and key.
        temperature: T; None for the scores, and no statistics.
        lse, entropy: memory of the statistics, `(N, Lq)`.

    Returns:
        One byte, `(1,)`: 1 if some score was computed from query and key themselves, and 0 else.
    """
    (count, length, features), width, v = query.shape, key.shape[1], v.contiguous()
    raw, strip = torch.zeros(1, dtype=torch.uint8, device="cpu"), rows_of(count * length)
    factor, v_stride = 1.0 if temperature is None else 1 / temperature, 0 if v.ndim == 1 else features
    tensors = *packed, query, key, v, v_stride, over, lse, entropy, bounds(query.dtype, factor), raw
    whole, rows, lanes = packed.queries.shape[1] - 1, packed.queries.shape[2], packed.keys.shape[2]
    table = Weights(*tensors, length, width, features, whole, rows, lanes, strip, weighs=temperature is not None)
    _weigh[query.dtype](count * -(-length // strip), table)
    return raw


def differentiated(
    grad: Tensor,
    weights: Tensor,
    query: Tensor,
    key: Tensor,
    v: Tensor,
    packed: Packed,
    temperature: float,
    raw: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and v from contiguous ones of weights, `(N, Lq, Lk)`.

    Args: as for `weights_over`, which returns `raw`.
    """
    (count, length, width), dtype = weights.shape, query.dtype
    whole, rows, lanes = packed.queries.shape[1] - 1, packed.queries.shape[2], packed.keys.shape[2]
    slopes = scratch("of scores", (count, rows, lanes), dtype)
    tiles = tiles_of(slopes)
    tensors = weights, grad, *packed, slopes, *tiles, bounds(dtype, 1 / temperature)
    _slopes[dtype](count * -(-rows // STRIP), Slopes(*tensors, length, width, whole, rows, lanes))
    return gradients(slopes, tiles, query, key, v, *packed, raw)
