"""Keys in a fixed number of slots, each at a position of its own: streams of any length in constant memory and time.

    written   new keys behind the others, the oldest forgotten: a window that slides along a buffer of twice its size
    placed    masks, biases and gates of a read, laid out by the positions that the slots hold

Slots are in the order of positions, those without a key (−1) first, so that a draw, the lower of two equal keys and the
order of sums are what they are among all keys of a sequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade import biases, masks
from saccade._call.validation import batch_of, tensors
from saccade._definitions.checks import batch_only, ensure, integers, on_device, whole_dtype
from saccade._definitions.functions import OfPositions
from saccade._definitions.numerics import autocasting, broadcast_shapes, tracing, transforming, valueless, wide
from saccade._definitions.structure import Definition, Extent, Grid
from saccade._definitions.user_callables import bind_positions as bind_callable
from saccade._dispatch.passes import autocast
from saccade.biases import Factor, as_bias, as_gate
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.masks import Lengths, Mask, as_mask
from saccade.memory._buffers import Buffer, with_room
from saccade.scores import Location

__all__ = ["Room", "checked", "kept", "placed", "served", "written"]


@dataclass(frozen=True)
class Room:
    """Where a memory's slots end in a buffer: what others have written behind them is not theirs."""

    buffer: Buffer
    end: int


def checked(positions: Any, key: Tensor, value: Tensor) -> Tensor:
    """Positions of keys, as int64.

    Raises:
        ArgumentError: what is no tensor of integers of at least −1, or elsewhere.
        ShapeError: another length, or other leading dimensions.
    """
    if not isinstance(positions, Tensor):
        raise ArgumentTypeError(f"positions: expected an integer tensor (..., n), got {type(positions).__name__}")
    whole_dtype("positions", positions)
    if positions.ndim < 1 or positions.shape[-1] != key.shape[-2]:
        raise ShapeError(f"positions: expected (..., n) with n = {key.shape[-2]}, got shape {tuple(positions.shape)}")
    look = not (tracing() or transforming())
    batch = tuple(broadcast_shapes(key.shape[:-2], value.shape[:-2]))
    extent = Extent(batch, 1, key.shape[-2], 1, 1, key.dtype, key.device, look)
    batch_only("positions", tuple(positions.shape[:-1]), extent)
    on_device("positions", positions, extent)
    found: Tensor = positions.long()  # first: -1 is 255 to a byte
    ensure(found >= -1, "positions: expected at least 0, or -1 for none, got less", values=look)
    return found


def served(score: Any) -> None:
    """Raises unless a score compares what queries and keys hold, and not where keys lie."""
    told = isinstance(score, Location) or bind_callable(score, Grid(1, 1, 0, 1, torch.device("cpu"))) is not score
    if told:
        name = "scores.Location" if isinstance(score, Location) else "a callable that is told positions"
        raise ArgumentError(
            f"score: expected one of contents alone for a memory of slots, which hold any position, got {name}"
        )


def kept(parts: Sequence[Tensor], capacity: int) -> list[Tensor]:
    """Of each entry the `capacity` keys of the highest positions, in their order, behind slots without a key.

    Args:
        parts: `(..., n, C)` of keys, the last of them their positions `(..., n, 1)`; of equal ones the last counts.
        capacity: how many.

    >>> kept([torch.tensor([[5.0], [6.0], [7.0]]), torch.tensor([[8], [2], [8]])], 2)
    [tensor([[6.],
            [7.]]), tensor([[2],
            [8]])]
    """
    missing = capacity - parts[0].shape[-2]
    if missing > 0:
        fills = [0] * (len(parts) - 1) + [-1]
        parts = [_before(part, missing, fill) for part, fill in zip(parts, fills, strict=True)]
    places, order = parts[-1][..., 0].sort(dim=-1, stable=True)
    outdated = torch.nn.functional.pad(places[..., 1:] == places[..., :-1], (0, 1))
    places, again = places.masked_fill(outdated, -1).sort(dim=-1, stable=True)
    first = places.shape[-1] - capacity
    index = order.gather(-1, again)[..., first:]
    return [*(_at(part, index) for part in parts[:-1]), places[..., first:, None]]


def _before(part: Tensor, missing: int, fill: int) -> Tensor:
    return torch.cat((part.new_full((*part.shape[:-2], missing, part.shape[-1]), fill), part), -2)


def _at(part: Tensor, index: Tensor) -> Tensor:
    """Rows `(..., n, C)` of a part, one choice for all entries or one for each."""
    if index.ndim == 1:
        return part.index_select(-2, index)
    batch = broadcast_shapes(part.shape[:-2], index.shape[:-1])
    part = part.expand(*batch, *part.shape[-2:])
    return part.gather(-2, index.expand(*batch, -1)[..., None].expand(*batch, index.shape[-1], part.shape[-1]))


def written(
    olds: Sequence[Tensor], news: Sequence[Tensor], capacity: int, room: Room | None
) -> tuple[list[Tensor], Room | None]:
    """What is `kept` of a memory and what is written to it.

    Args:
        olds: parts of `capacity` slots.
        news: likewise of n keys.
        capacity: how many are kept.
        room: where the slots lie, if anywhere.
    """
    batch = broadcast_shapes(olds[-1].shape[:-2], news[-1].shape[:-2])
    olds, news = ([*parts[:-1], parts[-1].expand(*batch, *parts[-1].shape[-2:])] for parts in (olds, news))
    count = news[-1].shape[-2]
    if not _follows(olds[-1], news[-1]):
        return kept([torch.cat(pair, -2) for pair in zip(olds, news, strict=True)], capacity), None
    if count > capacity:
        news, count = [new[..., count - capacity :, :] for new in news], capacity
    if torch.is_grad_enabled():
        return [torch.cat((old[..., count:, :], new), -2) for old, new in zip(olds, news, strict=True)], None
    return _slid(olds, news, room)


def _follows(olds: Tensor, news: Tensor) -> bool:
    """Whether new positions rise, from behind the old ones, where they may be looked at without waiting."""
    if tracing() or transforming() or valueless(news) or news.device.type != "cpu" or not olds.shape[-2]:
        return False
    rising = torch.cat((olds[..., -1:, 0].clamp(min=-1), news[..., 0]), -1)
    return bool((rising[..., 1:] > rising[..., :-1]).all())


def _slid(olds: Sequence[Tensor], news: Sequence[Tensor], room: Room | None) -> tuple[list[Tensor], Room]:
    """The slots moved on by the new keys, in a buffer where nobody else has written behind them."""
    capacity, count = olds[-1].shape[-2], news[-1].shape[-2]
    alike = room is not None and all(
        part.shape[:-2] == old.shape[:-2] for part, old in zip(room.buffer.parts, olds, strict=False)
    )
    if room is None or not alike or not room.buffer.takes(room.end, room.end + count, len(olds)):
        room = Room(with_room(olds, 2 * capacity + count), capacity)
        room.buffer.used = capacity + count
    end = room.end + count
    for part, new in zip(room.buffer.parts, news, strict=True):
        part.data[..., room.end : end, :] = new  # .data: rows that nobody has read do not outdate what others saved
    return [part[..., end - capacity : end, :] for part in room.buffer.parts], Room(room.buffer, end)


Placed = tuple[Mask, biases.Bias | None, Factor | None]


def placed(
    query: Any, key: Tensor, value: Tensor, positions: Tensor, own: Tensor | None, mask: Any, bias: Any, gate: Any
) -> Placed:
    """Mask, bias and gate of a read, laid out over the slots by the positions that these hold.

    Args:
        query: whatever was given.
        key, value: the memory's.
        positions: of its slots, `(C,)` or `(..., C)`.
        own: the memory's mask, or None.
        mask, bias, gate: whatever was given.

    Raises:
        ArgumentError: a mask or bias by alignment that does not say which, what `attend` refuses.
    """
    if autocasting(query):
        query, key, value = autocast(query, key, value)
    tensors(query, key, value)
    batch, (rows, width) = batch_of(query, key, value), (query.shape[-2], key.shape[-2])
    look = not (tracing() or transforming())
    extent = Extent(batch, rows, width, query.shape[-1], key.shape[-1], query.dtype, query.device, look)
    places = positions if positions.ndim == 1 else positions[(None,) * (len(batch) + 1 - positions.ndim)]
    places = places[..., None, :]
    last = places.amax(-1, keepdim=True) if width else places.new_full((1, 1), -1)
    grid = Grid(rows, width, 0, rows, query.device, places, rank=len(batch), behind=last + 1)
    allowed, dtype = places >= 0, wide(query).dtype
    if own is not None:
        allowed = allowed & own
    if mask is not None:
        mask = as_mask(mask)
        for part in _checkable(mask):
            _asked(part, places)
            _length(part, extent) if isinstance(part, Lengths) else part.check(_reached(part, extent, places))
        allowed = allowed & mask.dense(grid)
    bias, gate = (None if bias is None else as_bias(bias)), (None if gate is None else as_gate(gate))
    for name, factor in (("bias", bias), ("gate", gate)):
        for part in () if factor is None else _checkable(factor):
            _asked(part, places)
            part.check(_reached(part, extent, places), name)
    return (
        masks.Dense(allowed[(None,) * (len(batch) + 2 - allowed.ndim)]),  # nobody may take it for another shape
        None if bias is None else biases.Dense(bias.values(grid, dtype)),
        None if gate is None else biases.Weights(gate.factor(grid, dtype, allowed)),
    )


def _checkable(tree: Any) -> list[Any]:
    """The parts of a mask or bias that are made of no others.

    Raises:
        ArgumentError: one by alignment that does not say which: how many slots there are says nothing of positions.
    """
    values = [getattr(tree, name, None) for name in tree.__match_args__]
    inner = [value for value in values if isinstance(value, Mask | Factor)]
    if "align" in tree.__match_args__ and tree.align is None:
        raise ArgumentError(
            f"align of {type(tree).__name__}: expected 'start', 'end', an int or a tensor, since keys of a memory of "
            "slots stand anywhere; got None (a step of a stream is align='end', or the step's position)"
        )
    return [part for value in inner for part in _checkable(value)] if inner else [tree]


def _asked(part: Definition, places: Tensor) -> None:
    """Raises where a function is to be asked of positions that differ by entry: its batch dimensions are its own."""
    if isinstance(part, OfPositions) and places.ndim > 2:
        raise ArgumentError(
            f"function of {part.owner}: expected a memory whose entries share their positions, got positions of each; "
            "write to it by positions (n,), or give a dense tensor over the slots"
        )


def _reached(part: Definition, extent: Extent, places: Tensor) -> Extent:
    """The sizes of the call as a part sees them: a function of positions is asked of those up to the last one held,
    where it may be looked at without waiting.
    """
    looked_at = extent.values and places.device.type == "cpu" and not valueless(places)
    if not (isinstance(part, OfPositions) and looked_at and extent.k_len):
        return extent
    return extent._replace(k_len=max(int(places.max()) + 1, 1))


def _length(mask: Lengths, extent: Extent) -> None:
    """Lengths may be of any number of positions, however few slots there are."""
    name = "key_lengths of masks.Lengths"
    integers(name, mask.key_lengths, extent)
    ensure(mask.key_lengths >= 0, f"{name}: expected lengths of at least 0, got less", values=extent.values)
