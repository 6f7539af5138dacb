"""Additive scores by kernels, differentiable by query, key and v.

No tensor of queries by keys by features exists, forward or backward: the terms are computed again. Nothing is added
atomically, so the same call gives the same bits: queries own their gradients, then keys theirs, and v's is summed from
parts.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade._definitions.numerics import broadcast_shapes
from saccade.backends.triton.launch import flags, launch, launch_rows, stacked
from saccade.scores import EXPONENT_LIMIT

__all__ = ["additive_scores"]

SMALL = 0.25
"""Bound of |q| and |k| of a tile for a quotient of polynomials against cancelling."""

CAP = {torch.float32: 2.0**31, torch.float64: 2.0**255}
"""The largest 1 + e^{2(q + k)}. Four of them can be multiplied."""

FREE = {torch.float32: 10.7, torch.float64: 88.0}
"""The largest |q| + |k| with 1 + e^{2(q + k)} ≤ CAP by itself."""

# Sizes of tiles, measured on an H100 (`results/benchmarks/triton-tiles.json`): queries and keys of scores, for many
# consecutive keys without a mask, elsewhere, and for one query, as in a decoder. Then those of gradients, with chunks
# within a tile of scores. Chunks of 32 would be a sixteenth faster, scores of 32 queries a sixth slower.
WIDE_ROWS, WIDE_KEYS = 16, 256
ROWS, KEYS = 32, 32
ONE_ROW, ITS_KEYS = 1, 128
GRADIENT_ROWS, FEATURES, CHUNK = 16, 128, 16
FEW_ROWS, FEW_FEATURES = 8, 64
"""A gradient's tile for few features. A wider one would be half empty."""


def additive_scores(query: Tensor, key: Tensor, v: Tensor, powers: Tensor | None, allowed: Tensor | None) -> Tensor:
    r"""Scores \(v^\top \tanh(q_i + k_j)\), `(..., L, S)`, 0 in empty tiles.

    Args:
        query: `(..., L, D)`, float32 or float64; leading dimensions broadcast.
        key: `(..., S, D)`.
        v: `(..., D)`.
        powers: `saccade.scores.exponentials` of the key, laid out `by_key`, or None; no gradient passes through them.
        allowed: boolean, broadcastable to the scores, or None.
    """
    batch = broadcast_shapes(query.shape[:-2], key.shape[:-2], v.shape[:-1])
    shape = torch.Size((*batch, query.shape[-2], key.shape[-2]))
    rank = len(batch)
    query, key = (part[(None,) * (rank + 2 - part.ndim)] for part in (query, key))
    powers = None if powers is None else powers[(None,) * (rank + 2 - powers.ndim)]
    v = v[(None,) * (rank + 1 - v.ndim)] if v.ndim > 1 else v
    query, lead = query.expand(*batch, *query.shape[-2:]), batch
    mask = None if allowed is None else allowed.expand(shape)
    while lead and key.shape[len(lead) - 1] == 1 and (v.ndim == 1 or v.shape[len(lead) - 1] == 1):
        # queries that share their keys (groups of heads) are more rows, not copies of the keys
        query, key = query.flatten(-3, -2), key.squeeze(-3)
        powers = None if powers is None else powers.squeeze(-3)
        v, lead = v if v.ndim == 1 else v.squeeze(-2), lead[:-1]
        mask = None if mask is None else mask.flatten(-3, -2)
    query, key = stacked(query, lead), stacked(key, lead)
    powers, mask = (None if part is None else stacked(part, lead) for part in (powers, mask))
    if v.ndim > 1:
        v = v.expand(*lead, v.shape[-1]).reshape(len(query), v.shape[-1])
    scores: Tensor = _Scores.apply(query, key, v, powers, mask)
    return scores.reshape(shape)


def sizes(tensor: Tensor) -> Tensor:
    """max |x| of each row `(N, L)`, infinite for NaN, for the tanh itself in its tile."""
    if not tensor.shape[-1]:
        return tensor.new_zeros(tensor.shape[:-1])
    norms: Tensor = torch.linalg.vector_norm(tensor, torch.inf, -1)  # in one pass
    return norms.nan_to_num(nan=torch.inf, posinf=torch.inf)


class _Scores(torch.autograd.Function):
    """scores (N, L, S) of query (N, L, D) and key (N, S, D), with v (D) or (N, D)."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, v: Tensor, powers: Tensor | None, allowed: Tensor | None
    ) -> Tensor:
        from saccade.backends.triton.kernels import additive

        query, key, v = query.contiguous(), key.contiguous(), v.to(query.dtype).contiguous()
        (batch, length, features), width = query.shape, key.shape[-2]
        scores = query.new_empty(batch, length, width)
        mask, masked = flags(allowed, scores.shape, query)
        rows, keys = tile(length, width, masked)
        tiles = batch, -(-length // rows), -(-width // keys)
        reached = query.new_empty(tiles if masked else (0, 0, 0), dtype=torch.uint8)
        queries = side(query)
        others = side(key, by_key=True) if powers is None else Side(key, powers.mT.contiguous(), sizes(key))
        ctx.save_for_backward(*queries, key, others.sizes, v, reached)
        ctx.tile = rows, keys
        launch(
            additive.scores,
            math.prod(tiles),
            *queries,
            *others,
            *(v, _step(v)),
            *mask,
            *(scores, reached),
            *(length, width, features),
            **_constants(query),
            FREE=FREE[query.dtype],
            MASKED=masked,
            ROWS=rows,
            KEYS=keys,
        )
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        *side_of_queries, key, key_sizes, v, reached = (part.contiguous() for part in ctx.saved_tensors)
        of_query, of_key, of_v, *_ = ctx.needs_input_grad
        queries, keys, tiles = Side(*side_of_queries), Side(key, side(key).powers, key_sizes), Tiles(reached, *ctx.tile)
        query_grad, parts = _gradients(queries, keys, v, grad, tiles, of_v) if of_query or of_v else (None, grad)
        key_grad = _gradients(keys, queries, v, grad.mT, tiles.of_keys(), False)[0] if of_key else None
        v_grad = None
        if of_v:
            v_grad = parts.sum(1) if v.ndim > 1 else parts.sum((0, 1))
        return query_grad, key_grad, v_grad, None, None


class Side(NamedTuple):
    """Queries or keys as a kernel takes them, all contiguous.

    Args:
        rows: `(N, I, D)`.
        powers: their `exponentials`.
        sizes: max |x| of each, `(N, I)`.
    """

    rows: Tensor
    powers: Tensor
    sizes: Tensor


class Tiles(NamedTuple):
    """Tiles with an allowed pair, from the kernel of scores.

    Args:
        reached: bytes `(N, tiles of mine, tiles of the others)`; empty without a mask.
        mine, others: how many rows of either side a tile has.
    """

    reached: Tensor
    mine: int
    others: int

    def of_keys(self) -> "Tiles":
        """The tiles, with both sides exchanged."""
        return Tiles(self.reached.mT, self.others, self.mine)


def tile(length: int, width: int, masked: bool) -> tuple[int, int]:
    """Queries and keys of a tile of scores."""
    if length == 1:
        return ONE_ROW, ITS_KEYS
    return (WIDE_ROWS, WIDE_KEYS) if width >= WIDE_KEYS and not masked else (ROWS, KEYS)


def side(tensor: Tensor, *, by_key: bool = False) -> Side:
    """The `Side` of a contiguous `(N, I, D)`; `by_key` with powers `(N, D, I)`."""
    from saccade.backends.triton.kernels import additive

    batch, length, features = tensor.shape
    powers = tensor.new_empty((batch, features, length) if by_key else tensor.shape)
    sizes = tensor.new_empty(batch, length)
    strides = (powers.mT if by_key else powers).stride()
    arguments = tensor, powers, *strides, sizes, batch * length, length, features
    launch_rows(additive.powers, batch * length, features, *arguments, LIMIT=EXPONENT_LIMIT[tensor.dtype])
    return Side(tensor, powers, sizes)


def _step(v: Tensor) -> int:
    """From one entry's v to the next."""
    return v.stride(0) if v.ndim > 1 else 0


def _gradients(mine: Side, other: Side, v: Tensor, grad: Tensor, within: Tiles, with_v: bool) -> tuple[Tensor, Tensor]:
    """The first side's gradient, and v's in parts `(N, tiles, D)`, of any strides."""
    from saccade.backends.triton.kernels import additive

    batch, length, features = mine.rows.shape
    height, across = (FEW_ROWS, FEW_FEATURES) if features <= FEW_FEATURES else (GRADIENT_ROWS, FEATURES)
    tiles = -(-length // height)
    rows_grad = torch.empty_like(mine.rows)
    parts = rows_grad.new_empty((batch, tiles, features) if with_v else 0)
    launch(
        additive.gradients,
        batch * tiles * -(-features // across),
        *mine,
        *other,
        *(v, _step(v)),
        *(grad, *grad.stride()),
        *(within.reached, *within.reached.stride()),
        *(rows_grad, parts),
        *(length, other.rows.shape[-2], features),
        **_constants(rows_grad),
        MASKED=within.reached.numel() > 0,
        MINE=within.mine,
        OTHERS=within.others,
        WITH_V=with_v,
        ROWS=height,
        FEATURES=across,
        CHUNK=CHUNK,
    )
    return rows_grad, parts


def _constants(tensor: Tensor) -> dict[str, float]:
    return {"SMALL": SMALL, "LIMIT": EXPONENT_LIMIT[tensor.dtype], "CAP": CAP[tensor.dtype]}
