"""What is said of sequences, where their scores have dimensions of heads behind those of the batch."""

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


def beside_heads(given: Any, rank: int, heads: int) -> Any:
    """The same mask, bias or gate for scores that have dimensions of heads behind the batch's: what is said of each
    example holds for all its heads.

    Args:
        given: of `(..., Lq, Lk)`; what has dimensions of the heads already keeps them. Of biases and gates
            `biases.GaussianWindow` alone is widened; an `align` of each example is to have a dimension of the heads.
        rank: batch dimensions of a sequence.
        heads: dimensions of its heads.

    >>> from saccade import masks
    >>> mask = masks.Lengths(torch.tensor([5, 3])) & masks.Causal()
    >>> beside_heads(mask, rank=1, heads=1).first.key_lengths.tolist()
    [[5], [3]]
    """
    if isinstance(given, _PAIRS):
        return type(given)(*(beside_heads(part, rank, heads) for part in (given.first, given.second)))
    if isinstance(given, Not):
        return type(given)(beside_heads(given.other, rank, heads))
    if not rank or not (isinstance(given, Around | GaussianWindow) or getattr(given, "per_example", False)):
        return given

    def widened(tensor: Tensor, axes: Axes) -> Tensor:
        if tensor.ndim != rank + len(axes):
            return tensor
        return tensor[(slice(None),) * rank + (None,) * heads]

    return given.map(widened)


def checked_positions(positions: Tensor, x: Tensor, rotary_base: float | None) -> Tensor:
    """Positions of a sequence's tokens, `(..., L)` with the batch dimensions of the sequence or none.

    Args:
        positions: whatever was given.
        x: the sequence `(..., L, D)`.
        rotary_base: of the module, the only one who looks at positions.

    Raises:
        ArgumentError: a module without rotary positions; what is no tensor of numbers, or elsewhere.
        ShapeError: another length, or other leading dimensions.
    """
    if rotary_base is None:
        raise ArgumentError(
            "positions: expected None, since nothing but rotary positions reads them, got some; give the module a "
            "rotary_base, or place masks and biases by their align="
        )
    length = x.shape[-2]
    extent = Extent(tuple(x.shape[:-2]), length, length, x.shape[-1], x.shape[-1], x.dtype, x.device, values=False)
    per_position("positions", positions, length, "L", extent)
    batch_only("positions", tuple(positions.shape[:-1]), extent)
    on_device("positions", positions, extent)
    return positions.expand(*positions.shape[:-1], length)


def following(known: Tensor | None, count: int, new: Tensor) -> Tensor:
    """The positions of keys with those of more behind: where none are known of the first `count`, these are 0, 1, 2 and
    so on.

    >>> following(None, 2, torch.tensor([[2], [7]])).tolist()
    [[0, 1, 2], [0, 1, 7]]
    """
    known = torch.arange(count, device=new.device) if known is None else known
    batch = broadcast_shapes(known.shape[:-1], new.shape[:-1])
    return torch.cat([part.expand(*batch, part.shape[-1]) for part in (known, new)], -1)


def last(known: Tensor | None, count: int, rows: int) -> int | Tensor:
    """Where the last `rows` of `count` keys stand: from which position on, or at which of those that are known.

    Raises:
        ArgumentError: more than are known.

    >>> last(None, 3, 2), last(torch.tensor([0, 4, 9]), 3, 2).tolist()
    (1, [4, 9])
    """
    if known is None:
        return count - rows
    if rows > count:
        raise ArgumentError(
            f"positions: expected those of the {rows} queries, which are more than the memory's {count} keys, whose "
            "positions are known, got None"
        )
    return known[..., count - rows :]
