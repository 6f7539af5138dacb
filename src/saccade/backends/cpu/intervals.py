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
        return nothing, _positions(mask, grid) + 1
    if type(mask) is masks.Window:
        own = _positions(mask, grid)
        first = nothing if mask.left is None else own - mask.left
        return first, everything if mask.right is None else own + mask.right + 1
    if type(mask) is masks.Intervals:
        return _column(mask.start), _column(mask.end)
    if type(mask) is masks.Prefix:
        return nothing, mask.length.long()[..., None] if isinstance(mask.length, Tensor) else _column(mask.length)
    return (nothing, mask.key_lengths.long()[..., None]) if type(mask) is masks.Lengths else None


def _positions(mask: masks.Causal | masks.Window, grid: Grid) -> Tensor:
    """Where the queries stand among the keys, `(..., Lq)`."""
    start = masks.shift(mask.align, grid)
    queries = torch.arange(grid.q_len, device="cpu")
    return queries + (start.long()[..., 0] if isinstance(start, Tensor) else start)


def _column(bound: Tensor | int) -> Tensor:
    """A bound as a tensor that broadcasts against the queries."""
    return bound.long() if isinstance(bound, Tensor) else torch.tensor([bound], device="cpu")
