"""Additive weights of all pairs of queries and keys, without a mask: two kernels forward, and three backward."""

from typing import NamedTuple

import torch
from torch import Tensor

from saccade.kernels.additive import COLUMNS, LANES, QUERIES, STRIP, bounds, gradients, rows_of, tiles_of
from saccade.kernels.rows import of_type
from saccade.kernels.scratch import scratch

__all__ = ["Packed", "differentiated", "pack", "weights_over"]

_pack = of_type("packing:pack_both")
_weigh, _slopes = of_type("all_pairs:weights"), of_type("all_pairs:slopes")


class Packed(NamedTuple):
    """What the kernels read.

    Args:
        queries: e^{2q} with the features in rows, then the largest |q| of each, `(N, D' + 1, Lq or more)`.
        keys: likewise, `(N, D' + 1, Lk or more)`.
    """

    queries: Tensor
    keys: Tensor


def pack(query: Tensor, key: Tensor, keys: Tensor | None = None, *, kept: bool = False) -> Packed:
    """Pack queries and keys.

    Args:
        query: `(N, Lq, D)`, float32 or float64, in one piece.
        key: `(N, Lk, D)`, likewise.
        keys: packed, where they are known.
        kept: whether the result is to last longer than to the next call.
    """
    (count, length, features), width = query.shape, key.shape[1]
    whole, rows, lanes = -(-features // 4) * 4, -(-length // QUERIES) * QUERIES, -(-width // LANES) * LANES
    new = query.new_empty if kept else None
    queries_shape, keys_shape = (count, whole + 1, rows), (count, whole + 1, lanes)
    queries = new(queries_shape) if new else scratch("additive queries", queries_shape, query.dtype)
    of_keys = 0 if keys is not None else count * -(-width // COLUMNS)
    if keys is None:
        keys = new(keys_shape) if new else scratch("additive keys", keys_shape, query.dtype)
    _pack[query.dtype](
        of_keys + count * -(-length // COLUMNS),
        *(key, keys, query, queries, of_keys, width, lanes, length, rows, features, whole),
    )
    return Packed(queries, keys)


def weights_over(
    found: Tensor,
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
        found: where the weights go, `(N, Lq, Lk)` in one piece.
        query, key: `(N, Lq, D)` and `(N, Lk, D)`, each in one piece.
        v: `(D,)` or `(N, D)`.
        packed: query and key.
        temperature: T; None for the scores, and no statistics.
        lse, entropy: where the statistics go, `(N, Lq)`.

    Returns:
        One byte, `(1,)`: 1 where some score was computed from query and key themselves, and 0 else.
    """
    (count, length, features), width, v = query.shape, key.shape[1], v.contiguous()
    raw, strip = torch.zeros(1, dtype=torch.uint8, device="cpu"), rows_of(count * length)
    _weigh[query.dtype](
        count * -(-length // strip),
        *(*packed, query, key, v, found, lse, entropy),
        *(bounds(query.dtype, 1 / temperature if temperature is not None else 1.0), raw),
        *(length, width, features, packed.queries.shape[1] - 1, packed.queries.shape[2], packed.keys.shape[2]),
        *(0 if v.ndim == 1 else features, strip, int(temperature is not None)),
    )
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
    """The gradients of query, key and v from those of the weights, `(N, Lq, Lk)` in one piece like the weights.

    Args: as for `weights_over`, which has said whether anything is `raw`.
    """
    (count, length, width), dtype = weights.shape, query.dtype
    whole, rows, lanes = packed.queries.shape[1] - 1, packed.queries.shape[2], packed.keys.shape[2]
    of_scores = scratch("of scores", (count, rows, lanes), dtype)
    tiles, strip = tiles_of(of_scores), STRIP
    _slopes[dtype](
        count * -(-rows // strip),
        *(weights, grad, *packed, of_scores, *tiles, bounds(dtype, 1 / temperature)),
        *(length, width, whole, rows, lanes, strip),
    )
    return gradients(of_scores, tiles, query, key, v, *packed, raw)
