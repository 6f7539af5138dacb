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
    kind, none, all_of_them = type(mask), torch.tensor([0]), torch.tensor([grid.k_len])
    if isinstance(mask, masks.Both):
        one, other = _bounds(mask.first, grid), _bounds(mask.second, grid)
        if one is None or other is None:
            return None
        return torch.maximum(one[0], other[0]), torch.minimum(one[1], other[1])
    if kind is masks.Causal or kind is masks.Window:
        own = _positions(mask, grid)
        left, right = (None, 0) if isinstance(mask, masks.Causal) else (mask.left, mask.right)  # type: ignore[attr-defined]
        return none if left is None else own - left, all_of_them if right is None else own + right + 1
    if isinstance(mask, masks.Intervals):
        return _column(mask.start), _column(mask.end)
    if isinstance(mask, masks.Prefix):
        return none, _column(mask.length)[..., None] if isinstance(mask.length, Tensor) else _column(mask.length)
    return (none, mask.key_lengths.long()[..., None]) if isinstance(mask, masks.Lengths) else None


def _positions(mask: Mask, grid: Grid) -> Tensor:
    """Where the queries stand among the keys, `(..., Lq)`."""
    assert isinstance(mask, masks.Causal | masks.Window)
    start = masks.shift(mask.align, grid)
    queries = torch.arange(grid.q_len)
    return queries + (start.long()[..., 0] if isinstance(start, Tensor) else start)


def _column(bound: Tensor | int) -> Tensor:
    """A bound as a tensor that broadcasts against the queries."""
    return bound.long() if isinstance(bound, Tensor) else torch.tensor([bound])
