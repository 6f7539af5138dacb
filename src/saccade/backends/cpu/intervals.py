"""Masks under which each query may attend to one interval of keys, as its two ends: nothing is laid out."""

import torch
from torch import Tensor

from saccade import masks
from saccade.masks import Mask
from saccade.structure import Grid

__all__ = ["intervals"]

Bounds = tuple[Tensor, Tensor]


def intervals(mask: Mask, grid: Grid) -> Bounds | None:
    """The first key that each query may attend to, and the one behind the last; None where the mask does not say.

    Args:
        mask: of an aligned call, on the CPU.
        grid: all queries and keys.

    Returns:
        int64 `(..., Lq or 1)` each, within 0 .. Lk; nothing is allowed where the first is not below the second.

    >>> mask, grid = masks.Window(1, 0) & masks.Prefix(3), Grid(4, 4, 0, 4, torch.device("cpu"))
    >>> [bound.tolist() for bound in intervals(mask, grid)]
    [[0, 0, 1, 2], [1, 2, 3, 3]]
    """
    found = _bounds(mask, grid)
    return None if found is None else (found[0].clamp(0, grid.k_len), found[1].clamp(0, grid.k_len))


def _bounds(mask: Mask, grid: Grid) -> Bounds | None:
    nothing, everything = _column(0), _column(grid.k_len)
    if type(mask) is masks.Both:
        one, other = _bounds(mask.first, grid), _bounds(mask.second, grid)
        if one is None or other is None:
            return None
        return torch.maximum(one[0], other[0]), torch.minimum(one[1], other[1])
    if type(mask) is masks.Causal:
        return nothing, _behind(_positions(mask, grid), grid)
    if type(mask) is masks.Window:
        own = _positions(mask, grid)
        first = nothing if mask.left is None else own - mask.left
        return first, everything if mask.right is None else _behind(own + mask.right, grid)
    if type(mask) is masks.Intervals:
        return _column(mask.start), _column(mask.end)
    if type(mask) is masks.Prefix:
        return nothing, mask.length.long()[..., None] if isinstance(mask.length, Tensor) else _column(mask.length)
    if type(mask) is masks.Lengths:
        return nothing, mask.key_lengths.long()[..., None]
    return _documents(mask.query_ids.long(), mask.key_ids.long()) if type(mask) is masks.Documents else None


def _positions(mask: masks.Causal | masks.Window, grid: Grid) -> Tensor:
    """Where the queries stand among the keys, `(..., Lq)`."""
    start = masks.shift(mask.align, grid)
    queries = torch.arange(grid.q_len, device="cpu")
    return queries + (start.long()[..., 0] if isinstance(start, Tensor) else start)


def _behind(last: Tensor, grid: Grid) -> Tensor:
    """The key behind the last that may be attended to; an align may be the largest number there is."""
    return last.clamp(max=grid.k_len) + 1


def _column(bound: Tensor | int) -> Tensor:
    """A bound as a tensor that broadcasts against the queries."""
    return bound.long() if isinstance(bound, Tensor) else torch.tensor([bound], device="cpu")


def _documents(queries: Tensor, keys: Tensor) -> Bounds | None:
    """The keys of each query's document, where those of each lie together."""
    batch = torch.broadcast_shapes(queries.shape[:-1], keys.shape[:-1])
    queries, keys = (ids.expand(*batch, ids.shape[-1]).contiguous() for ids in (queries, keys))
    keys, order = keys.sort(dim=-1, stable=True)
    together = (order[..., 1:] - order[..., :-1] == 1) | (keys[..., 1:] != keys[..., :-1])
    if not bool(together.all()) or not keys.shape[-1]:
        return None
    first, last = (torch.searchsorted(keys, queries, side=side) for side in ("left", "right"))
    starts = order.gather(-1, first.clamp(max=keys.shape[-1] - 1))
    return starts, starts + (last - first)
