"""Bounds of masks that allow each query one interval of keys."""

import torch
from torch import Tensor

from saccade._definitions.numerics import broadcast_shapes
from saccade._definitions.structure import Grid
from saccade.masks.base import Both, Either, Mask, Not
from saccade.masks.contents import Documents, Intervals
from saccade.masks.positions import Causal, Lengths, Prefix, Window, shift

__all__ = ["by_numbers", "everybody", "intervals", "participants"]

Bounds = tuple[Tensor, Tensor]

POSITIONED = (Causal, Window, Prefix, Intervals)
"""Masks that may consist of numbers alone."""


def by_numbers(mask: Mask) -> bool:
    """Whether numbers alone determine a mask, without any tensor.

    >>> from saccade import masks
    >>> by_numbers(~masks.Causal() | masks.Prefix(3)), by_numbers(masks.Causal() & masks.Where(lambda i, j: i == j))
    (True, False)
    """
    if isinstance(mask, Not):
        return by_numbers(mask.other)
    if isinstance(mask, Both | Either):
        return by_numbers(mask.first) and by_numbers(mask.second)
    return type(mask) in POSITIONED and not mask.leaves()


def everybody(mask: Mask, grid: Grid) -> bool:
    """Whether every query may attend to some key, and every key is attended to.

    False if numbers alone do not prove it.

    >>> from saccade import masks
    >>> grid = Grid(4, 6, 0, 4, torch.device("cpu"))
    >>> [everybody(masks.Causal(align), grid) for align in ("end", "start")], everybody(masks.Prefix(5), grid)
    ([True, False], False)
    """
    if not (grid.q_len and grid.k_len):
        return False
    if type(mask) is Prefix and not isinstance(mask.length, Tensor):
        return mask.length >= grid.k_len
    if type(mask) not in (Causal, Window):
        return False
    assert isinstance(mask, Causal | Window)
    left, right = (None, 0) if isinstance(mask, Causal) else (mask.left, mask.right)
    start = shift(mask.align, grid)
    if isinstance(start, Tensor):
        return False
    last = start + grid.q_len - 1  # position of the last query
    before = left is None or (start - left <= 0 and last - left < grid.k_len)
    return before and (right is None or (start + right >= 0 and last + right >= grid.k_len - 1))


def participants(mask: Mask, grid: Grid) -> tuple[Tensor, Tensor] | None:
    """Keys that some query may attend to, and queries that may attend to some key.

    Booleans `(..., Lk)` and `(..., Lq)`, without a dense mask. None if the intervals of the mask are unclear.

    Args:
        mask: of an aligned call.
        grid: all queries and keys; the result is on its device, without synchronization.

    >>> from saccade import masks
    >>> mask, grid = masks.Window(1, 0, align=-1), Grid(4, 4, 0, 4, torch.device("cpu"))
    >>> [flags.tolist() for flags in participants(mask, grid)]
    [[True, True, True, False], [False, True, True, True]]
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


def intervals(mask: Mask, grid: Grid) -> Bounds | None:
    """The first allowed key of each query, and the key behind its last allowed one.

    None if the mask allows more than one interval a query, or does not show that it allows one.

    Args:
        mask: of an aligned call, its tensors where the grid is. Documents are searched on the CPU alone, since a
            GPU would have to synchronize.
        grid: all queries and keys.

    Returns:
        int64 `(..., Lq or 1)` each, within 0 .. Lk. Nothing is allowed if the first is not below the second.

    >>> from saccade import masks
    >>> mask, grid = masks.Window(1, 0) & masks.Prefix(3), Grid(4, 4, 0, 4, torch.device("cpu"))
    >>> [bound.tolist() for bound in intervals(mask, grid)]
    [[0, 0, 1, 2], [1, 2, 3, 3]]
    """
    bounds = _bounds(mask, grid)
    return None if bounds is None else (bounds[0].clamp(0, grid.k_len), bounds[1].clamp(0, grid.k_len))


def _bounds(mask: Mask, grid: Grid) -> Bounds | None:
    nothing, everything = _column(0, grid), _column(grid.k_len, grid)
    if type(mask) is Both:
        first, second = _bounds(mask.first, grid), _bounds(mask.second, grid)
        if first is None or second is None:
            return None
        return torch.maximum(first[0], second[0]), torch.minimum(first[1], second[1])
    if type(mask) is Causal:
        return nothing, _behind(_positions(mask, grid), grid)
    if type(mask) is Window:
        queries = _positions(mask, grid)
        start = nothing if mask.left is None else queries - mask.left
        return start, everything if mask.right is None else _behind(queries + mask.right, grid)
    if type(mask) is Intervals:
        return _column(mask.start, grid), _column(mask.end, grid)
    if type(mask) is Prefix:
        return nothing, mask.length.long()[..., None] if isinstance(mask.length, Tensor) else _column(mask.length, grid)
    if type(mask) is Lengths:
        return nothing, mask.key_lengths.long()[..., None]
    if type(mask) is Documents and grid.device.type == "cpu":
        return _documents(mask.query_ids.long(), mask.key_ids.long())
    return None


def _positions(mask: Causal | Window, grid: Grid) -> Tensor:
    """Positions of the queries among the keys, `(..., Lq)`."""
    start = shift(mask.align, grid)
    queries = torch.arange(grid.q_len, device=grid.device)
    return queries + (start.long()[..., 0] if isinstance(start, Tensor) else start)


def _behind(last: Tensor, grid: Grid) -> Tensor:
    """The key behind the last allowed one, without overflow for a huge align."""
    return last.clamp(max=grid.k_len) + 1


def _column(bound: Tensor | int, grid: Grid) -> Tensor:
    """A bound as a tensor that broadcasts against the queries."""
    return bound.long() if isinstance(bound, Tensor) else torch.full((1,), bound, device=grid.device)


def _documents(queries: Tensor, keys: Tensor) -> Bounds | None:
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
