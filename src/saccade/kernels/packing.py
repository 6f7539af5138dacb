"""Packed queries and keys of additive scores, with features in rows."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.kernels.rows import of_type
from saccade.kernels.scratch import scratch

LANES = 16
"""Divisor of packed keys' columns: loops are whole vectors."""

QUERIES = 4
"""Queries with one division in the backward. Packed queries are a multiple."""

COLUMNS = 64
"""Rows of a block of packing."""


class Side(NamedTuple):
    """Part of a table: queries or keys, or gradients of them."""

    rows: Tensor  # (N, length, features)
    columns: Tensor  # (N, features, width)
    length: int
    width: int


class Pack(NamedTuple):
    """Table of columns: blocks of keys, then of queries. Zeros fill up the length."""

    keys: Side
    queries: Side
    powers: Tensor | None  # of keys
    key_blocks: int
    features: int
    whole: int  # features, rounded up to a multiple of four


class Unpack(NamedTuple):
    """Table of gradients from columns to rows: blocks of keys, queries, then v."""

    keys: Side
    queries: Side
    v: Tensor
    sums: Tensor
    v_parts: Tensor
    v_grad: Tensor
    key_blocks: int
    query_blocks: int
    features: int
    whole: int
    v_stride: int
    entries: int
    tiles: int  # of an entry


_pack, _unpack = of_type("packing.pack", Pack), of_type("packing.unpack", Unpack)


def packed(projected: Tensor, powers: Tensor | None = None, room: str | None = None) -> Tensor:
    """e^{2x} with features in rows, then the largest |x| of each column.

    `powers` are e^{2x} if there are any, and anything for an x out of the exponential's range. `room` names the
    `scratch` memory for the result, which the next call by that name overwrites. The result is `(..., D' + 1, L)`,
    where D' is D rounded up to a multiple of four. Its rows are whole vectors apart.
    """
    length = projected.shape[-2]
    columns = packed_lanes(projected, powers, room, LANES)
    return columns if columns.shape[-1] == length else columns[..., :length]


def packed_lanes(projected: Tensor, powers: Tensor | None, room: str | None, lanes: int) -> Tensor:
    """`packed`, with zeros in as many more columns as make them a multiple of `lanes`."""
    *batch, length, features = projected.shape
    whole, columns, count = -(-features // 4) * 4, -(-length // lanes) * lanes, math.prod(batch)
    shape, dtype = (*batch, whole + 1, columns), projected.dtype
    result = projected.new_empty(shape) if room is None else scratch(room, shape, dtype)
    powers = None if powers is None else powers.contiguous()
    keys, blocks = Side(projected.contiguous(), result, length, columns), count * -(-length // COLUMNS)
    _pack[dtype](blocks, Pack(keys, keys, powers, blocks, features, whole))
    return result


class Packed(NamedTuple):
    """Queries and keys, `packed` `(N, D' + 1, L or more)`."""

    queries: Tensor
    keys: Tensor


def pack(query: Tensor, key: Tensor, keys: Tensor | None = None, *, kept: bool = False) -> Packed:
    """Pack contiguous queries, and keys unless they are. `kept`: for later calls too."""
    (count, length, features), width, dtype = query.shape, key.shape[1], query.dtype
    whole, rows, lanes = -(-features // 4) * 4, -(-length // QUERIES) * QUERIES, -(-width // LANES) * LANES

    def room(name: str, columns: int) -> Tensor:
        shape = count, whole + 1, columns
        return query.new_empty(shape) if kept else scratch(name, shape, dtype)

    queries, key_blocks = room("additive queries", rows), 0
    if keys is None:
        keys, key_blocks = room("additive keys", lanes), count * -(-width // COLUMNS)
    sides = Side(key, keys, width, lanes), Side(query, queries, length, rows)
    _pack[dtype](key_blocks + count * -(-length // COLUMNS), Pack(*sides, None, key_blocks, features, whole))
    return Packed(queries, keys)


def unpack(
    query_columns: Tensor, key_columns: Tensor, v_parts: Tensor, sums: Tensor, query: Tensor, key: Tensor, v: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and v, from their columns, parts of v and sums of tiles."""
    (count, length, features), width, v = query.shape, key.shape[1], v.contiguous()
    query_grad, key_grad, v_grad = query.new_empty(query.shape), key.new_empty(key.shape), torch.empty_like(v)
    key_blocks, query_blocks = (count * -(-size // COLUMNS) for size in (width, length))
    keys = Side(key_grad, key_columns, width, key_columns.shape[2])
    queries = Side(query_grad, query_columns, length, query_columns.shape[2])
    v_stride, whole, tiles = 0 if v.ndim == 1 else features, key_columns.shape[1], sums.shape[1] * sums.shape[2]
    sizes = key_blocks, query_blocks, features, whole, v_stride, count, tiles
    _unpack[query.dtype](key_blocks + query_blocks + 1, Unpack(keys, queries, v, sums, v_parts, v_grad, *sizes))
    return query_grad, key_grad, v_grad
