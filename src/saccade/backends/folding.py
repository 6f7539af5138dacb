"""All batch dimensions of additive attention folded into one."""

import math
from typing import NamedTuple

from torch import Tensor

from saccade._definitions.structure import aligned


class Folded(NamedTuple):
    """Tensors of a call with one batch dimension.

    Args:
        query: `(N, Lq, D)`. Groups of queries that share keys are rows of one entry.
        key: `(N, Lk, D)`.
        value: `(N, Lk, Dv)`.
        v: `(D,)`, or `(N, D)`.
        powers: `saccade.scores.exponentials` of the key; no gradient passes through them.
        mask: boolean `(N or 1, Lq or 1, Lk)`, or None.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    v: Tensor
    powers: Tensor
    mask: Tensor | None


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
    single = math.prod(v.shape[:-1]) == 1
    v = v.reshape(v.shape[-1]) if single else v.expand(*batch, v.shape[-1]).reshape(count, v.shape[-1])
    if mask is not None:
        alike = math.prod(mask.shape[:-2]) == 1
        mask = mask if alike else mask.expand(*batch, *mask.shape[-2:])
        mask = mask.reshape(1 if alike else count, *mask.shape[-2:])
    return Folded(query.reshape(count, *query.shape[-2:]), key, value, v, powers, mask)
