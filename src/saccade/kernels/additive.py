"""Additive scores of many queries at once, differentiable."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade._definitions.numerics import broadcast_shapes
from saccade.kernels.packing import LANES, QUERIES, packed_lanes, unpack
from saccade.kernels.rows import TYPES, Rows, mask_rows, of_type
from saccade.kernels.scratch import scratch
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves
from saccade.scores import EXPONENT_LIMIT, Additive

TILE = 512
"""Keys of a tile: their scores stay in the nearest cache."""

STRIP = 16
"""Queries of a block, at most."""

NEAR = 0.5
"""If the largest |q| and |k| of a tile add up to less, 1 - 2 r would cancel."""

_CAP = {torch.float32: 2.0**31, torch.float64: 2.0**255}
"""Bound on 1 + e^{2(q + k)}: the product of four stays in range."""


class Scores(NamedTuple):
    """Table of `scores`. It has query and key, features in rows, if a tile needs them."""

    left: Tensor  # packed queries
    right: Tensor  # packed keys
    query: Tensor | None
    key: Tensor | None
    v: Tensor
    v_stride: int
    mask: Tensor
    offsets: Tensor  # where each query's row of the mask begins
    masked: int  # length of `offsets`: 0 without a mask
    scores: Tensor
    bounds: Tensor
    length: int
    width: int
    whole: int
    strip: int  # queries of a block
    right_stride: int  # from one entry of `right` to the next
    right_row: int  # from one row of `right` to the next
    lanes: int  # columns of `right` that may be read: whole vectors
    left_columns: int


class Gradients(NamedTuple):
    """Table of tiles, an entry a block, and of gradients, two features a block."""

    grads: Tensor  # of scores, with zeros up to `rows` and `lanes`
    left: Tensor
    right: Tensor
    query: Tensor | None
    key: Tensor | None
    ways: Tensor  # how each tile is computed
    sums: Tensor  # of each tile's gradients
    bounds: Tensor
    query_grad: Tensor
    key_grad: Tensor
    v_parts: Tensor  # [sum g r, sum g tanh] of each feature
    rows: int
    lanes: int
    whole: int


_score, _ways = of_type("lanes.scores", Scores), of_type("lanes_backward.ways", Gradients)
_differentiate = of_type("lanes_backward.gradients", Gradients)


def scores(
    query: Tensor, key: Tensor, v: Tensor, keys: Tensor, allowed: Tensor | None, room: str | None = None
) -> Tensor:
    r"""\(v^\top \tanh(q_i + k_j)\) of allowed pairs, anything finite for others.

    The result is `(..., Lq, Lk)`. No gradient passes through `keys`, the `packed` key. Nothing may be recorded if there
    is a `room` as for `packed`.
    """
    batch = broadcast_shapes(query.shape[:-2], key.shape[:-2], v.shape[:-1])
    shape = (*batch, query.shape[-2], key.shape[-2])
    query, key, v, keys = _folded(batch, query, key, v, keys)
    if allowed is not None and broadcast_shapes(allowed.shape, shape) != shape:
        allowed = None  # several values share these scores under masks of their own
    mask = mask_rows(allowed, shape)
    result: Tensor
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, v)):
        result = _Scores.apply(query, key, v, keys, mask)
    else:
        over = None if room is None else scratch(room, (len(query), query.shape[1], key.shape[1]), query.dtype)
        result = _forward(query, key, v, keys, mask, "additive queries", over)[0]
    return result.reshape(shape)


def _folded(batch: tuple[int, ...], query: Tensor, key: Tensor, v: Tensor, keys: Tensor) -> list[Tensor]:
    """One batch dimension, none for a shared v. Groups of queries become more rows."""
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
    """Scores `(N, Lq, Lk)` of queries `(N, Lq, D)`, keys, and v, `(D,)` or `(N, D)`."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, v: Tensor, keys: Tensor, mask: Rows) -> Tensor:
        scores, left, ctx.raw = _forward(query, key, v, keys, mask)
        ctx.save_for_backward(query, key, v, left, keys)
        return scores

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, v, left, keys = ctx.saved_tensors
        # the definition, if a second derivative is to follow, or many gradients come at once
        if torch.is_grad_enabled() or not serves(grad, dtypes=TYPES):
            inputs, needed = (query, key, v), ctx.needs_input_grad[:3]
            return *by_definition(lambda q, k, v: Additive(v)(q, k), inputs, needed, grad), None, None
        left = left.contiguous()  # which it is, unless a hook on saved tensors has changed its strides
        return (*differentiated(grad, query, key, v, left, keys, ctx.raw), None, None)


def _forward(
    query: Tensor, key: Tensor, v: Tensor, keys: Tensor, mask: Rows, room: str | None = None, over: Tensor | None = None
) -> tuple[Tensor, Tensor, bool]:
    """Scores (over `over` if given), packed queries, and whether a tile needs inputs."""
    (count, length, _), width, dtype = query.shape, key.shape[1], query.dtype
    left = packed_lanes(query, None, room, QUERIES)
    if keys.stride(-1) != 1 or keys.stride(-2) < keys.shape[-1]:  # entries may overlap, as in a sliding window
        keys = keys.contiguous()
    raw, whole = _leaves_range(left[:, -1], keys[:, -1]), left.shape[1] - 1
    v = v.contiguous() if v.shape[-1] == whole else torch.nn.functional.pad(v, (0, whole - v.shape[-1]))
    result = query.new_empty(count, length, width) if over is None else over
    strip = rows_of(count * length)
    raw_columns: tuple[Tensor | None, Tensor | None] = _columns(query, key, whole) if raw else (None, None)
    v_stride, masked = 0 if v.ndim == 1 else v.stride(0), mask.offsets.numel()
    right_stride, right_row = keys.stride(0), keys.stride(1)
    lanes = min(-(-width // LANES) * LANES, right_row)
    tensors = left, keys, *raw_columns, v, v_stride, *mask, masked, result, bounds(dtype)
    table = Scores(*tensors, length, width, whole, strip, right_stride, right_row, lanes, left.shape[2])
    _score[dtype](count * -(-length // strip), table)
    return result, left, raw


def rows_of(count: int) -> int:
    """Queries of a block, of so many in all: few enough that no thread waits for long."""
    return max(1, min(STRIP, -(-count // (4 * torch.get_num_threads()))))


def differentiated(
    grad: Tensor, query: Tensor, key: Tensor, v: Tensor, left: Tensor, keys: Tensor, raw: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and v from those of the scores, `(N, Lq, Lk)`.

    `left` (packed queries) and `raw` are from the forward, and `keys` are the `packed` key.
    """
    dtype, whole, rows, lanes = query.dtype, left.shape[1] - 1, left.shape[2], -(-key.shape[1] // LANES) * LANES
    grad, keys = _filled("filled gradients", grad, rows, lanes), _filled("filled keys", keys, whole + 1, lanes)
    table = gradients_table(grad, query, key, left, keys, raw, bounds(dtype))
    _ways[dtype](len(query), table)
    return gradients(table, query, key, v)


def gradients_table(
    grad: Tensor, query: Tensor, key: Tensor, left: Tensor, keys: Tensor, raw: bool, bounds: Tensor
) -> Gradients:
    """Room for gradients, from a gradient with all columns of the packed tensors."""
    (count, rows, lanes), whole, features = grad.shape, left.shape[1] - 1, query.shape[2]
    shape = count, rows // QUERIES, -(-lanes // TILE)
    tiles = grad.new_empty(shape, dtype=torch.uint8), grad.new_empty(shape)
    raw_columns: tuple[Tensor | None, Tensor | None] = None, None
    if raw:
        filled = _filled("filled raw queries", query, rows, features), _filled("filled raw keys", key, lanes, features)
        raw_columns = _columns(*filled, whole)
    query_grad, key_grad, v_parts = (
        scratch(name, (count, whole, size), grad.dtype)
        for name, size in (("query_grad", rows), ("key_grad", lanes), ("v_grad", 2))
    )
    return Gradients(grad, left, keys, *raw_columns, *tiles, bounds, query_grad, key_grad, v_parts, rows, lanes, whole)


def gradients(table: Gradients, query: Tensor, key: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and v, once the table has its tiles."""
    _differentiate[query.dtype](len(query) * table.whole // 2, table)
    return unpack(table.query_grad, table.key_grad, table.v_parts, table.sums, query, key, v)


def _filled(name: str, tensor: Tensor, rows: int, columns: int) -> Tensor:
    """A contiguous copy in the `scratch` memory of a name, with zeros up to this size."""
    *_, length, width = tensor.shape
    if (length, width) == (rows, columns):
        return tensor.contiguous()
    filled = scratch(name, (len(tensor), rows, columns), tensor.dtype)
    filled[:, :length, :width] = tensor
    filled[:, length:], filled[:, :, width:] = 0, 0
    return filled


def _leaves_range(query: Tensor, key: Tensor) -> bool:
    """Whether any tile may need the tangent, from the largest |q| and |k| of each row."""
    if not query.numel() or not key.numel():
        return False
    ends = [torch.aminmax(reach) for reach in (query, key)]
    inside = all(float(end.max) <= EXPONENT_LIMIT[query.dtype] for end in ends)
    return not (inside and sum(float(end.min) for end in ends) >= NEAR)


def _columns(query: Tensor, key: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """query and key with their features in rows, filled up with zeros to as many."""

    def columns(rows: Tensor) -> Tensor:
        return torch.nn.functional.pad(rows.mT, (0, 0, 0, size - rows.shape[-1])).contiguous()

    return columns(query), columns(key)


@lru_cache(maxsize=256)
def bounds(dtype: torch.dtype, factor: float = 1.0) -> Tensor:
    """[Range of the exponential, bound on 1 + e^{2(q + k)}, a factor], for kernels."""
    return torch.tensor([EXPONENT_LIMIT[dtype], _CAP[dtype], factor], dtype=dtype, device="cpu")
