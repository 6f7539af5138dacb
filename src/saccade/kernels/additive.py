"""Additive scores of many queries at once, as a differentiable function of query, key and v."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from saccade._definitions.numerics import broadcast_shapes
from saccade.kernels.rows import TYPES, Rows, mask_rows, of_type
from saccade.kernels.scratch import scratch
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves
from saccade.scores import EXPONENT_LIMIT, Additive

__all__ = [
    "COLUMNS",
    "LANES",
    "QUERIES",
    "STRIP",
    "bounds",
    "differentiated",
    "gradients",
    "packed",
    "rows_of",
    "scores",
    "tiles_of",
]

_pack, _unpack = of_type("packing:pack"), of_type("packing:unpack")
_score, _ways = of_type("lanes:scores"), of_type("lanes_backward:ways")
_differentiate = of_type("lanes_backward:gradients")

_MOST = {torch.float32: 2.0**31, torch.float64: 2.0**255}
"""The bound on 1 + e^{2(q + k)}, with which the product of four is in range."""

_NEAR, _TILE, COLUMNS, QUERIES = 0.5, 512, 64, 4
"""As in the kernels. Packed queries have a multiple of QUERIES columns."""

STRIP = 16
"""Queries a block, at most."""

LANES = 16
"""Packed keys have a multiple of as many columns: of a loop over them no rest is left that is no whole vector."""


def packed(projected: Tensor, powers: Tensor | None = None, room: str | None = None) -> Tensor:
    """e^{2x} with the features in rows, then the largest |x| of each column: what the kernels read.

    Args:
        projected: x, `(..., L, D)`, float32 or float64.
        powers: e^{2x}, `(..., L, D)`, where it is known; anything where x is out of the exponential's range.
        room: the name of `scratch` memory that holds the result until the next call by that name; None for fresh one.

    Returns:
        `(..., D', L)`, D' = D rounded up to a multiple of four, and one. Its rows are whole vectors apart.
    """
    length = projected.shape[-2]
    found = _packed(projected, powers, room, LANES)
    return found if found.shape[-1] == length else found[..., :length]


def _packed(projected: Tensor, powers: Tensor | None, room: str | None, lanes: int) -> Tensor:
    """The same with zeros in as many more columns as make them a multiple of `lanes`."""
    *batch, length, features = projected.shape
    whole, columns, count = -(-features // 4) * 4, -(-length // lanes) * lanes, math.prod(batch)
    shape = (*batch, whole + 1, columns)
    found = projected.new_empty(shape) if room is None else scratch(room, shape, projected.dtype)
    projected = projected.contiguous()
    known = projected if powers is None else powers.contiguous()
    strips, sizes = -(-length // COLUMNS), (length, features, whole, int(powers is not None), columns)
    _pack[projected.dtype](count * strips, projected, known, found, *sizes)
    return found


def scores(
    query: Tensor, key: Tensor, v: Tensor, keys: Tensor, allowed: Tensor | None, room: str | None = None
) -> Tensor:
    r"""\(v^\top \tanh(q_i + k_j)\) where allowed; what stands elsewhere is unspecified, but finite.

    Args:
        query: `(..., Lq, D)`, float32 or float64.
        key: `(..., Lk, D)`, likewise.
        v: `(..., D)`.
        keys: `packed` key; no gradient passes through it.
        allowed: boolean, broadcastable to `(..., Lq, Lk)`, or None.
        room: as for `packed`, of what is not recorded.

    Returns:
        `(..., Lq, Lk)`.
    """
    batch = broadcast_shapes(query.shape[:-2], key.shape[:-2], v.shape[:-1])
    shape = (*batch, query.shape[-2], key.shape[-2])
    query, key, v, keys = _folded(batch, query, key, v, keys)
    if allowed is not None and broadcast_shapes(allowed.shape, shape) != shape:
        allowed = None  # several values share these scores under masks of their own
    mask = mask_rows(allowed, shape)
    found: Tensor
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, v)):
        found = _Scores.apply(query, key, v, keys, mask)
    else:
        over = None if room is None else scratch(room, (len(query), query.shape[1], key.shape[1]), query.dtype)
        found = _forward(query, key, v, keys, mask, "additive queries", over)[0]
    return found.reshape(shape)


def _folded(batch: tuple[int, ...], query: Tensor, key: Tensor, v: Tensor, keys: Tensor) -> list[Tensor]:
    """One batch dimension, none for a v that all share; queries that share their keys (groups) become more rows of one
    entry, without a copy.
    """
    rank = len(batch)
    key, keys = (part[(None,) * (rank + 2 - part.ndim)] for part in (key, keys))
    v = v[(None,) * (rank + 1 - v.ndim)]
    query = query.expand(*batch, *query.shape[-2:])
    while batch and all(part.shape[len(batch) - 1] == 1 for part in (key, v, keys)):
        query, key, keys, v, batch = query.flatten(-3, -2), key.squeeze(-3), keys.squeeze(-3), v.squeeze(-2), batch[:-1]
    count = math.prod(batch)
    query, key, keys = (
        part.expand(*batch, *part.shape[-2:]).reshape(count, *part.shape[-2:]) for part in (query, key, keys)
    )
    shared = math.prod(v.shape[:-1]) == 1
    v = v.reshape(v.shape[-1:]) if shared else v.expand(*batch, v.shape[-1]).reshape(count, v.shape[-1])
    return [query, key, v, keys]


class _Scores(torch.autograd.Function):
    """Scores `(N, Lq, Lk)` of query `(N, Lq, D)`, key `(N, Lk, D)` and v, `(D,)` or `(N, D)`."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, v: Tensor, keys: Tensor, mask: Rows) -> Tensor:
        found, left, raw = _forward(query, key, v, keys, mask)
        ctx.raw = raw
        ctx.save_for_backward(query, key, v, left, keys)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, v, left, keys = ctx.saved_tensors
        # where a second derivative is to follow, or many gradients come at once, the definition
        if torch.is_grad_enabled() or not serves(grad, dtypes=TYPES):
            return (*by_definition(_definition, (query, key, v), ctx.needs_input_grad[:3], grad), None, None)
        left = left.contiguous()  # which it is, unless a hook on saved tensors has changed its strides
        return (*differentiated(grad, query, key, v, left, keys, ctx.raw), None, None)


def _definition(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    return Additive(v)(query, key)


def _forward(
    query: Tensor,
    key: Tensor,
    v: Tensor,
    keys: Tensor,
    mask: Rows,
    queries_room: str | None = None,
    found: Tensor | None = None,
) -> tuple[Tensor, Tensor, bool]:
    """Scores (in memory that is given, or fresh), the packed queries, and whether any tile needs the numbers."""
    (count, length, _), width = query.shape, key.shape[1]
    left, keys = _packed(query, None, queries_room, QUERIES), _by_rows(keys)
    raw = _leaves_range(left[:, -1], keys[:, -1])
    v = _padded(v, left.shape[1] - 1)
    found = query.new_empty(count, length, width) if found is None else found
    strip = rows_of(count * length)
    _score[query.dtype](
        count * -(-length // strip),
        *(left, keys, *(_columns(query, key, v.shape[-1]) if raw else (query, key))),
        *(v, 0 if v.ndim == 1 else v.stride(0), mask.flags, mask.offsets, found, bounds(query.dtype)),
        *(length, width, v.shape[-1], strip, int(raw), mask.offsets.numel(), *keys.stride()[:2]),
        *(min(-(-width // LANES) * LANES, keys.stride(1)), left.shape[2]),
    )
    return found, left, raw


def rows_of(count: int) -> int:
    """Of so many queries those of a block: few enough that no thread waits for long."""
    return max(1, min(STRIP, -(-count // (4 * torch.get_num_threads()))))


def differentiated(
    grad: Tensor, query: Tensor, key: Tensor, v: Tensor, left: Tensor, keys: Tensor, raw: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and v.

    Args:
        grad: of the scores, `(N, Lq, Lk)`.
        query: `(N, Lq, D)`.
        key: `(N, Lk, D)`.
        v: `(D,)` or `(N, D)`.
        left, raw: from the forward.
        keys: `packed` key.
    """
    width, dtype = key.shape[1], query.dtype
    whole, rows, lanes = left.shape[1] - 1, left.shape[2], -(-width // LANES) * LANES
    grad, keys = _filled("filled gradients", grad, rows, lanes), _filled("filled keys", keys, whole + 1, lanes)
    tiles = tiles_of(grad)
    _ways[dtype](len(query), grad, left, keys, *tiles, bounds(dtype), rows, lanes, whole)
    return gradients(grad, tiles, query, key, v, left, keys, raw)


def tiles_of(grad: Tensor) -> tuple[Tensor, Tensor]:
    """Room for how each tile of a few queries, of `(N, rows, lanes)`, is computed, and for the sum of its gradients."""
    count, rows, lanes = grad.shape
    shape = count, rows // QUERIES, -(-lanes // _TILE)
    return grad.new_empty(shape, dtype=torch.uint8), grad.new_empty(shape)


def gradients(
    grad: Tensor,
    tiles: tuple[Tensor, Tensor],
    query: Tensor,
    key: Tensor,
    v: Tensor,
    left: Tensor,
    keys: Tensor,
    raw: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The same of a gradient `(N, rows, lanes)` that is filled up to the columns of `left` and `keys`, whose tiles are
    known.
    """
    (count, length, features), width, dtype = query.shape, key.shape[1], query.dtype
    whole, rows, lanes = left.shape[1] - 1, left.shape[2], keys.shape[2]
    columns: Sequence[Tensor] = (query, key)
    if raw:
        filled = _filled("filled raw queries", query, rows, features), _filled("filled raw keys", key, lanes, features)
        columns = _columns(*filled, whole)
    query_columns, key_columns, parts = (
        scratch(name, (count, whole, size), dtype)
        for name, size in (("query_grad", rows), ("key_grad", lanes), ("v_grad", 2))
    )
    _differentiate[dtype](
        count * whole // 2,
        *(grad, left, keys, *columns, tiles[0], bounds(dtype)),
        *(query_columns, key_columns, parts, rows, lanes, whole, int(raw)),
    )
    v = v.contiguous()
    query_grad, key_grad, v_grad = query.new_empty(query.shape), key.new_empty(key.shape), torch.empty_like(v)
    of_keys, of_queries = (count * -(-size // COLUMNS) for size in (width, length))
    _unpack[dtype](
        of_keys + of_queries + 1,
        *(key_columns, key_grad, query_columns, query_grad, v, tiles[1], parts, v_grad, of_keys, width, lanes),
        *(length, rows, features, whole, 0 if v.ndim == 1 else features, count, tiles[1].shape[1] * tiles[1].shape[2]),
    )
    return query_grad, key_grad, v_grad


def _filled(name: str, tensor: Tensor, rows: int, columns: int) -> Tensor:
    """A tensor in one piece, filled up with zeros to these sizes, in scratch memory of that name."""
    *_, length, width = tensor.shape
    if (length, width) == (rows, columns):
        return tensor.contiguous()
    found = scratch(name, (len(tensor), rows, columns), tensor.dtype)
    found[:, :length, :width] = tensor
    found[:, length:], found[:, :, width:] = 0, 0
    return found


def _by_rows(keys: Tensor) -> Tensor:
    """Packed keys whose rows are each in one piece: entries may overlap, as those of a sliding window do."""
    return keys if keys.stride(-1) == 1 and keys.stride(-2) >= keys.shape[-1] else keys.contiguous()


def _leaves_range(query: Tensor, key: Tensor) -> bool:
    """Whether any tile may be computed by the tangent, from the largest |q| and |k| of each row."""
    if not query.numel() or not key.numel():
        return False
    ends = [torch.aminmax(reach) for reach in (query, key)]
    inside = all(float(end.max) <= EXPONENT_LIMIT[query.dtype] for end in ends)
    return not (inside and sum(float(end.min) for end in ends) >= _NEAR)


def _columns(query: Tensor, key: Tensor, size: int) -> Sequence[Tensor]:
    """query and key with their features in rows, filled up with zeros to as many."""
    found = [tensor.new_zeros(len(tensor), size, tensor.shape[1]) for tensor in (query, key)]
    for rows, columns in zip((query, key), found, strict=True):
        columns[:, : rows.shape[-1]] = rows.mT
    return found


def _padded(v: Tensor, size: int) -> Tensor:
    """v with zeros for the features that fill up the last four."""
    return v.contiguous() if v.shape[-1] == size else torch.nn.functional.pad(v, (0, size - v.shape[-1]))


@lru_cache(maxsize=256)
def bounds(dtype: torch.dtype, factor: float = 1.0) -> Tensor:
    """[The exponential's range, the most that x may be, a factor], as kernels read them."""
    return torch.tensor([EXPONENT_LIMIT[dtype], _MOST[dtype], factor], dtype=dtype, device="cpu")
