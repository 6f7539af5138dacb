"""Room for more keys, and a fixed number of slots for streams of any length.

    extended  new keys behind the others, in a buffer with room for later ones
    written   new keys behind the others, the oldest dropped: a window that slides along a buffer of twice its size
    placed    masks, biases and gates of a read, laid out by the positions of the slots

Slots are in the order of positions, those without a key (−1) first. So draws, ties and the order of sums are those of
all keys of a sequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

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
from saccade.scores import Location

_TAKING = Lock()


@dataclass
class Buffer:
    """Tensors with `used` written rows, and others behind them."""

    parts: list[Tensor]
    used: int

    def takes(self, olds: Sequence[Tensor], start: int, end: int) -> bool:
        """Take the rows from `start` to `end` if they are free. Return whether they were."""
        same_mode, last = self.parts[0].is_inference() == torch.is_inference_mode_enabled(), self.parts[-1]
        alike = len(self.parts) == len(olds) and last.shape[:-2] == olds[-1].shape[:-2]  # positions may get a batch
        with _TAKING:
            free = same_mode and alike and self.used == start and last.shape[-2] >= end
            self.used = end if free else self.used
        return free


class Room(NamedTuple):
    """The end of a memory's rows in a buffer."""

    buffer: Buffer
    end: int


def extended(
    olds: Sequence[Tensor], news: Sequence[Tensor], room: Room | None, dropped: int = 0
) -> tuple[list[Tensor], Room | None]:
    """Rows (dimension −2) without the first, and new ones behind, in unwritten room."""
    if torch.is_grad_enabled() or tracing() or transforming():
        return [torch.cat((old[..., dropped:, :], new), -2) for old, new in zip(olds, news, strict=True)], None
    length, count = olds[0].shape[-2], news[0].shape[-2]
    if room is None or not room.buffer.takes(olds, room.end, room.end + count):
        room = with_room(olds, 2 * (length + count) - dropped)
        room.buffer.used = length + count
    end = room.end + count
    for part, new in zip(room.buffer.parts, news, strict=True):
        part.data[..., room.end : end, :] = new  # .data: writing unread rows does not outdate saved tensors
    return [part[..., room.end - length + dropped : end, :] for part in room.buffer.parts], Room(room.buffer, end)


def with_room(tensors: Sequence[Tensor], capacity: int) -> Room:
    """Copies of the tensors at the beginning of a buffer of so many rows."""
    length = tensors[0].shape[-2]
    parts = [tensor.new_empty(*tensor.shape[:-2], capacity, tensor.shape[-1]) for tensor in tensors]
    for part, tensor in zip(parts, tensors, strict=True):
        part[..., :length, :] = tensor
    return Room(Buffer(parts, length), length)


def checked(positions: Any, key: Tensor, value: Tensor) -> Tensor:
    """Positions of keys, as int64, or an error."""
    if not isinstance(positions, Tensor):
        raise ArgumentTypeError(f"positions: expected an integer tensor (..., n), got {type(positions).__name__}")
    whole_dtype("positions", positions)
    if positions.ndim < 1 or positions.shape[-1] != key.shape[-2]:
        raise ShapeError(f"positions: expected (..., n) with n = {key.shape[-2]}, got shape {tuple(positions.shape)}")
    extent = Extent.of(tuple(broadcast_shapes(key.shape[:-2], value.shape[:-2])), key, key)
    batch_only("positions", tuple(positions.shape[:-1]), extent)
    on_device("positions", positions, extent)
    checked: Tensor = positions.long()  # first: -1 is 255 to a byte
    ensure(checked >= -1, "positions: expected at least 0, or -1 for none, got less")
    return checked


def served(score: Any) -> None:
    """Raise if a score depends on the positions of keys."""
    if isinstance(score, Location) or bind_callable(score, Grid(1, 1, 0, 1, torch.device("cpu"))) is not score:
        name = "scores.Location" if isinstance(score, Location) else "a callable that takes positions"
        expected = "one of contents alone for a memory of slots, which hold any position"
        raise ArgumentError(f"score: expected {expected}, got {name}")


def kept(parts: Sequence[Tensor], capacity: int) -> list[Tensor]:
    """The `capacity` keys of the highest positions of each entry, in their order.

    Parts are `(..., n, C)`, the last part the positions `(..., n, 1)`. Of equal positions the last counts.
    """
    missing = capacity - parts[0].shape[-2]
    if missing > 0:
        fills = [0] * (len(parts) - 1) + [-1]
        parts = [pad(part, (0, 0, missing, 0), value=fill) for part, fill in zip(parts, fills, strict=True)]
    positions, order = parts[-1][..., 0].sort(dim=-1, stable=True)
    outdated = pad(positions[..., 1:] == positions[..., :-1], (0, 1))
    positions, again = positions.masked_fill(outdated, -1).sort(dim=-1, stable=True)
    first = positions.shape[-1] - capacity
    index = order.gather(-1, again)[..., first:]
    rows = []
    for part in parts[:-1]:
        if index.ndim == 1:  # one for all entries
            rows.append(part.index_select(-2, index))
            continue
        batch, features = broadcast_shapes(part.shape[:-2], index.shape[:-1]), part.shape[-1]
        of_part = index.expand(*batch, -1)[..., None].expand(*batch, capacity, features)
        rows.append(part.expand(*batch, -1, features).gather(-2, of_part))
    return [*rows, positions[..., first:, None]]


def written(
    olds: Sequence[Tensor], news: Sequence[Tensor], capacity: int, room: Room | None
) -> tuple[list[Tensor], Room | None]:
    """The `kept` keys of a memory and of new keys, and their room in a buffer."""
    batch = broadcast_shapes(olds[-1].shape[:-2], news[-1].shape[:-2])
    olds, news = ([*parts[:-1], parts[-1].expand(*batch, *parts[-1].shape[-2:])] for parts in (olds, news))
    count = news[-1].shape[-2]
    unread = tracing() or transforming() or valueless(news[-1]) or news[-1].device.type != "cpu" or not capacity
    rising = None if unread else torch.cat((olds[-1][..., -1:, 0].clamp(min=-1), news[-1][..., 0]), -1)
    if rising is None or not bool((rising[..., 1:] > rising[..., :-1]).all()):
        return kept([torch.cat(pair, -2) for pair in zip(olds, news, strict=True)], capacity), None
    if count > capacity:
        news, count = [new[..., count - capacity :, :] for new in news], capacity
    return extended(olds, news, room, dropped=count)


def placed(
    query: Any, key: Tensor, value: Tensor, positions: Tensor, allowed: Tensor | None, mask: Any, bias: Any, gate: Any
) -> tuple[Mask, biases.Bias | None, Factor | None]:
    """Mask, bias and gate, laid out by the positions of slots, `(C,)` or `(..., C)`."""
    if autocasting(query):
        query, key, value = autocast(query, key, value)
    tensors(query, key, value)
    batch, (rows, width) = batch_of(query, key, value), (query.shape[-2], key.shape[-2])
    extent = Extent.of(batch, query, key)
    positions = positions if positions.ndim == 1 else positions[(None,) * (len(batch) + 1 - positions.ndim)]
    positions = positions[..., None, :]
    last = positions.amax(-1, keepdim=True) if width else positions.new_full((1, 1), -1)
    grid = Grid(rows, width, 0, rows, query.device, positions, rank=len(batch), behind=last + 1)
    filled, dtype = positions >= 0, wide(query).dtype
    allowed = filled if allowed is None else filled & allowed
    if mask is not None:
        mask = as_mask(mask)
        for part in _checkable(mask):
            reached = _reached(part, extent, positions)
            if isinstance(part, Lengths):  # of any number of positions, however few slots there are
                name = "key_lengths of masks.Lengths"
                integers(name, part.key_lengths, extent)
                ensure(part.key_lengths >= 0, f"{name}: expected lengths of at least 0, got less")
            else:
                part.check(reached)
        allowed = allowed & mask.dense(grid)
    bias, gate = (None if bias is None else as_bias(bias)), (None if gate is None else as_gate(gate))
    for name, factor in (("bias", bias), ("gate", gate)):
        for part in () if factor is None else _checkable(factor):
            part.check(_reached(part, extent, positions), name)
    return (
        masks.Dense(allowed[(None,) * (len(batch) + 2 - allowed.ndim)]),  # all batch dimensions: no other reading fits
        None if bias is None else biases.Dense(bias.values(grid, dtype)),
        None if gate is None else biases.Weights(gate.factor(grid, dtype, allowed)),
    )


def _checkable(tree: Any) -> list[Any]:
    """Masks and biases inside a composition. They need an alignment of their own."""
    parts: list[Any] = [part for part in tree.walk() if isinstance(part, Mask | Factor)]
    for part in parts:
        if "align" in part.__match_args__ and part.align is None:
            raise ArgumentError(
                f"align of {type(part).__name__}: expected 'start', 'end', an int or a tensor, since keys of a memory "
                "of slots stand anywhere, got None (a step of a stream is align='end', or the step's position)"
            )
    return [part for part in parts if not any(isinstance(inner, Mask | Factor) for inner in part.walk()[1:])]


def _reached(part: Definition, extent: Extent, positions: Tensor) -> Extent:
    """Sizes of the call for a part, for functions up to the last position."""
    if not isinstance(part, OfPositions):
        return extent
    if positions.ndim > 2:
        raise ArgumentError(
            f"function of {part.owner}: expected a memory whose entries share their positions, got positions of each. "
            "Write to it by positions (n,), or pass a dense tensor over the slots."
        )
    if not (extent.values and positions.device.type == "cpu" and not valueless(positions) and extent.k_len):
        return extent
    return extent._replace(k_len=max(int(positions.max()) + 1, 1))
