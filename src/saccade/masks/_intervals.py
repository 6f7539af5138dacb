"""Bounds of masks that allow each query one interval of keys."""

from typing import Any

import torch
from torch import Tensor

from saccade._definitions.numerics import broadcast_shapes
from saccade._definitions.structure import Grid
from saccade.masks.base import Both, Contiguous, Either, Mask, Not
from saccade.masks.contents import Documents


def by_numbers(mask: Mask) -> bool:
    """Whether numbers alone determine a mask, without any tensor."""
    kinds = Both, Either, Not, Contiguous
    return not mask.leaves() and all(part.is_registered and isinstance(part, kinds) for part in mask.walk())


def everybody(mask: Mask, grid: Grid) -> bool:
    """Whether numbers prove that every query and every key has an allowed pair."""
    if not (grid.q_len and grid.k_len and isinstance(mask, Contiguous) and by_numbers(mask)):
        return False
    numbers: list[Any] = [*mask.interval(grid, 0), *mask.interval(grid, grid.q_len - 1)]
    start, end, last_start, last_end = numbers
    before = start is None or (start <= 0 and last_start < grid.k_len)
    return before and (end is None or (end >= 1 and last_end >= grid.k_len))


def participants(mask: Mask, grid: Grid) -> tuple[Tensor, Tensor] | None:
    """Keys that some query may attend to, and queries that may attend to some key.

    Booleans `(..., Lk)` and `(..., Lq)`, without a dense mask. None if the intervals of the mask are unclear.
    """
    bounds = intervals(mask, grid)
    if bounds is None:
        return None
    first, end = torch.broadcast_tensors(*bounds)
    first, end = (bound.expand(*bound.shape[:-1], grid.q_len) for bound in (first, end))
    queries = first < end
    # +1 at the first key of each query, −1 behind its last
    steps = torch.zeros(*queries.shape[:-1], grid.k_len + 1, dtype=torch.int32, device=grid.device)
    steps.scatter_add_(-1, first, queries.int()).scatter_add_(-1, end, -queries.int())
    return steps.cumsum(-1)[..., : grid.k_len] > 0, queries


def intervals(mask: Mask, grid: Grid) -> tuple[Tensor, Tensor] | None:
    """The first allowed key of each query, and the key behind its last allowed one.

    int64 `(..., Lq or 1)`, within 0 .. Lk. Nothing is allowed if the first is not below the second. None if the mask
    allows more than one interval a query, or does not show that it allows one. Documents are searched on the CPU alone,
    since a GPU would have to synchronize. The mask is of an aligned call, the grid of all queries and keys.
    """
    if type(mask) is Both:
        first, second = intervals(mask.first, grid), intervals(mask.second, grid)
        if first is None or second is None:
            return None
        return torch.maximum(first[0], second[0]), torch.minimum(first[1], second[1])
    if isinstance(mask, Contiguous) and mask.is_registered:
        lower, upper = mask.interval(grid)
        limits = 0 if lower is None else lower, grid.k_len if upper is None else upper
        start, end = (b if isinstance(b, Tensor) else torch.full((1, 1), b, device=grid.device) for b in limits)
        return start[..., 0].clamp(0, grid.k_len), end[..., 0].clamp(0, grid.k_len)
    if type(mask) is Documents and grid.device.type == "cpu":
        return _documents(mask.query_ids.long(), mask.key_ids.long())
    return None


def _documents(queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor] | None:
    """The keys of each query's document, if each document is contiguous."""
    batch = broadcast_shapes(queries.shape[:-1], keys.shape[:-1])
    queries, keys = (ids.expand(*batch, ids.shape[-1]).contiguous() for ids in (queries, keys))
    keys, order = keys.sort(dim=-1, stable=True)
    together = (order[..., 1:] - order[..., :-1] == 1) | (keys[..., 1:] != keys[..., :-1])
    if not bool(together.all()) or not keys.shape[-1]:
        return None
    first, last = (torch.searchsorted(keys, queries, side=side) for side in ("left", "right"))
    starts = order.gather(-1, first.clamp(max=keys.shape[-1] - 1))
    return starts, starts + (last - first)
