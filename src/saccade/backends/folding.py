"""Batch dimensions folded into fewer."""

import math
from itertools import pairwise
from typing import NamedTuple

from torch import Tensor

from saccade._definitions.structure import aligned


def merged(tensor: Tensor, batch: tuple[int, ...], axes: int, *splits: int) -> Tensor:
    """A tensor with the batch dimensions between `splits` folded into one each.

    It has size 1 if all entries are the same. The last `axes` dimensions stay.
    """
    rank, sizes = len(batch), []
    tensor = aligned(tensor, ("",) * axes, rank)
    for start, end in pairwise((0, *splits, rank)):
        shape: tuple[int, ...] = tensor.shape[start:end]
        if shape != batch[start:end] and math.prod(shape) != 1:
            tensor = tensor.expand(*tensor.shape[:start], *batch[start:end], *tensor.shape[end:])
            shape = batch[start:end]
        sizes.append(math.prod(shape))
    return tensor.reshape(*sizes, *tensor.shape[rank:])


class Folded(NamedTuple):
    """Tensors of an additive call with one batch dimension."""

    query: Tensor  # (N, Lq, D). Groups of queries that share keys are rows of one entry
    key: Tensor  # (N, Lk, D)
    value: Tensor  # (N, Lk, Dv)
    v: Tensor  # (D,), or (N, D)
    powers: Tensor  # `saccade.scores.exponentials` of the key, without a gradient
    mask: Tensor | None  # boolean (N or 1, Lq or 1, Lk)


def folded(
    batch: tuple[int, ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    v: Tensor,
    powers: Tensor,
    mask: Tensor | None,
) -> Folded:
    """Fold batch dimensions that broadcast to `batch`, those of queries as rows."""
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
    v = v.reshape(v.shape[-1]) if math.prod(v.shape[:-1]) == 1 else merged(v, batch, 1)
    mask = None if mask is None else merged(mask, batch, 2)
    return Folded(query.reshape(count, *query.shape[-2:]), key, value, v, powers, mask)
