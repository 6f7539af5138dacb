"""Masks, biases and positions of sequences, for scores with dimensions of heads."""

from typing import Any

import torch
from torch import Tensor

from saccade._definitions.checks import batch_only, on_device, per_position
from saccade._definitions.numerics import broadcast_shapes
from saccade._definitions.structure import Axes, Extent
from saccade.biases import GaussianWindow, Product, Total
from saccade.errors import ArgumentError
from saccade.masks import Around, Both, Either, Not

__all__ = ["beside_heads", "checked_positions", "following", "last"]


_PAIRS = (Both, Either, Total, Product)


def beside_heads(definition: Any, rank: int, heads: int) -> Any:
    """A mask, bias or gate of examples, for scores of all their heads.

    The dimensions of heads come behind those of the batch.

    Args:
        definition: of `(..., Lq, Lk)`. Tensors with dimensions of the heads keep them. `biases.GaussianWindow` is the
            only bias or gate that changes. An `align` of each example needs a dimension of the heads.
        rank: batch dimensions of a sequence.
        heads: dimensions of its heads.

    >>> from saccade import masks
    >>> mask = masks.Lengths(torch.tensor([5, 3])) & masks.Causal()
    >>> beside_heads(mask, rank=1, heads=1).first.key_lengths.tolist()
    [[5], [3]]
    """
    if isinstance(definition, _PAIRS):
        parts = definition.first, definition.second
        return type(definition)(*(beside_heads(part, rank, heads) for part in parts))
    if isinstance(definition, Not):
        return type(definition)(beside_heads(definition.other, rank, heads))
    if not rank or not (isinstance(definition, Around | GaussianWindow) or getattr(definition, "per_example", False)):
        return definition

    def widened(tensor: Tensor, axes: Axes) -> Tensor:
        if tensor.ndim != rank + len(axes):
            return tensor
        return tensor[(slice(None),) * rank + (None,) * heads]

    return definition.map(widened)


def checked_positions(positions: Tensor, x: Tensor, rotary_base: float | None) -> Tensor:
    """Validate positions of tokens, `(..., L)` with all batch dimensions or none.

    Args:
        positions: any value.
        x: the sequence `(..., L, D)`.
        rotary_base: of the module. Only rotary modules read positions.

    Raises:
        ArgumentError: a module without rotary positions, no tensor of numbers, or another device.
        ShapeError: another length, or other leading dimensions.
    """
    if rotary_base is None:
        raise ArgumentError(
            "positions: expected None for a module without rotary positions, got some. Give the module a rotary_base, "
            "or move masks and biases by align=."
        )
    length = x.shape[-2]
    extent = Extent(tuple(x.shape[:-2]), length, length, x.shape[-1], x.shape[-1], x.dtype, x.device, values=False)
    per_position("positions", positions, length, "L", extent)
    batch_only("positions", tuple(positions.shape[:-1]), extent)
    on_device("positions", positions, extent)
    return positions.expand(*positions.shape[:-1], length)


def following(positions: Tensor | None, count: int, new: Tensor) -> Tensor:
    """Positions of `count` keys and of new keys behind them; None is 0, 1, 2, ...

    >>> following(None, 2, torch.tensor([[2], [7]])).tolist()
    [[0, 1, 2], [0, 1, 7]]
    """
    positions = torch.arange(count, device=new.device) if positions is None else positions
    batch = broadcast_shapes(positions.shape[:-1], new.shape[:-1])
    return torch.cat([part.expand(*batch, part.shape[-1]) for part in (positions, new)], -1)


def last(positions: Tensor | None, count: int, rows: int) -> int | Tensor:
    """Positions of the last `rows` of `count` keys, or the first of them for None.

    Raises:
        ArgumentError: more rows than keys with positions.

    >>> last(None, 3, 2), last(torch.tensor([0, 4, 9]), 3, 2).tolist()
    (1, [4, 9])
    """
    if positions is None:
        return count - rows
    if rows > count:
        raise ArgumentError(
            f"positions: expected those of {rows} queries, which are more than the {count} keys of the memory, got None"
        )
    return positions[..., count - rows :]
