"""Masks under which each query may attend to one interval of keys, as its two ends: nothing is laid out."""

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
"""Masks that numbers alone may describe."""


def by_numbers(mask: Mask) -> bool:
    """Whether all of a mask is known without its tensors.

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
    """Whether numbers alone tell that every query may attend to some key, and that some query may to each.

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
    last = start + grid.q_len - 1  # where the last query stands
    before = left is None or (start - left <= 0 and last - left < grid.k_len)
    return before and (right is None or (start + right >= 0 and last + right >= grid.k_len - 1))


def participants(mask: Mask, grid: Grid) -> tuple[Tensor, Tensor] | None:
    """Which keys some query may attend to `(..., Lk)`, and which queries may attend to some key `(..., Lq)`, without
    laying the mask out; None where its intervals are not known.

    Args:
        mask: of an aligned call.
        grid: all queries and keys; the answer is on its device, and nothing is waited for.

    >>> from saccade import masks
    >>> mask, grid = masks.Window(1, 0, align=-1), Grid(4, 4, 0, 4, torch.device("cpu"))
    >>> [flags.tolist() for flags in participants(mask, grid)]
    [[True, True, True, False], [False, True, True, True]]
    """
    if (found := intervals(mask, grid)) is None:
        return None
    first, end = torch.broadcast_tensors(*found)
    first, end = (bound.expand(*bound.shape[:-1], grid.q_len) for bound in (first, end))
    queries = first < end
    # one more from the first key of each query on, one fewer behind its last
    steps = torch.zeros(*queries.shape[:-1], grid.k_len + 1, dtype=torch.int32, device=grid.device)
    steps.scatter_add_(-1, first, queries.int()).scatter_add_(-1, end, -queries.int())
    return steps.cumsum(-1)[..., : grid.k_len] > 0, queries


def intervals(mask: Mask, grid: Grid) -> Bounds | None:
    """The first key that each query may attend to, and the one behind the last; None where the mask does not say.

    Args:
        mask: of an aligned call, its tensors where the grid is. Whether the keys of a document lie together is looked
            at on the CPU alone; elsewhere it would have to be waited for.
        grid: all queries and keys.

    Returns:
        int64 `(..., Lq or 1)` each, within 0 .. Lk; nothing is allowed where the first is not below the second.

    >>> from saccade import masks
    >>> mask, grid = masks.Window(1, 0) & masks.Prefix(3), Grid(4, 4, 0, 4, torch.device("cpu"))
    >>> [bound.tolist() for bound in intervals(mask, grid)]
    [[0, 0, 1, 2], [1, 2, 3, 3]]
    """
    found = _bounds(mask, grid)
    return None if found is None else (found[0].clamp(0, grid.k_len), found[1].clamp(0, grid.k_len))


def _bounds(mask: Mask, grid: Grid) -> Bounds | None:
    nothing, everything = _column(0, grid), _column(grid.k_len, grid)
    if type(mask) is Both:
        one, other = _bounds(mask.first, grid), _bounds(mask.second, grid)
        if one is None or other is None:
            return None
        return torch.maximum(one[0], other[0]), torch.minimum(one[1], other[1])
    if type(mask) is Causal:
        return nothing, _behind(_positions(mask, grid), grid)
    if type(mask) is Window:
        own = _positions(mask, grid)
        first = nothing if mask.left is None else own - mask.left
        return first, everything if mask.right is None else _behind(own + mask.right, grid)
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
    """Where the queries stand among the keys, `(..., Lq)`."""
    start = shift(mask.align, grid)
    queries = torch.arange(grid.q_len, device=grid.device)
    return queries + (start.long()[..., 0] if isinstance(start, Tensor) else start)


def _behind(last: Tensor, grid: Grid) -> Tensor:
    """The key behind the last that may be attended to; an align may be the largest number there is."""
    return last.clamp(max=grid.k_len) + 1


def _column(bound: Tensor | int, grid: Grid) -> Tensor:
    """A bound as a tensor that broadcasts against the queries."""
    return bound.long() if isinstance(bound, Tensor) else torch.full((1,), bound, device=grid.device)


def _documents(queries: Tensor, keys: Tensor) -> Bounds | None:
    """The keys of each query's document, where those of each lie together."""
    batch = broadcast_shapes(queries.shape[:-1], keys.shape[:-1])
    queries, keys = (ids.expand(*batch, ids.shape[-1]).contiguous() for ids in (queries, keys))
    keys, order = keys.sort(dim=-1, stable=True)
    together = (order[..., 1:] - order[..., :-1] == 1) | (keys[..., 1:] != keys[..., :-1])
    if not bool(together.all()) or not keys.shape[-1]:
        return None
    first, last = (torch.searchsorted(keys, queries, side=side) for side in ("left", "right"))
    starts = order.gather(-1, first.clamp(max=keys.shape[-1] - 1))
    return starts, starts + (last - first)
