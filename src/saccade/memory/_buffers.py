"""Room behind tensors that grow along their lengths, as a memory's do."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import torch
from torch import Tensor

from saccade._definitions.numerics import tracing, transforming

_TAKING = Lock()


@dataclass
class Buffer:
    """Tensors with `used` written rows, and others behind them."""

    parts: list[Tensor]
    used: int

    def takes(self, olds: Sequence[Tensor], start: int, end: int) -> bool:
        """Take the rows from `start` to `end` if they fit and are unwritten; return whether they were."""
        shapes = [old.shape[:-2] for old in olds]
        same_mode = self.parts[0].is_inference() == torch.is_inference_mode_enabled()
        fits = same_mode and self.parts[0].shape[-2] >= end and [part.shape[:-2] for part in self.parts] == shapes
        with _TAKING:
            free = fits and self.used == start
            self.used = end if free else self.used
        return free


class Room(NamedTuple):
    """The end of a memory's rows in a buffer."""

    buffer: Buffer
    end: int


def extended(
    olds: Sequence[Tensor], news: Sequence[Tensor], room: Room | None, dropped: int = 0
) -> tuple[list[Tensor], Room | None]:
    """olds without the first rows, and news behind them in unwritten room, along dimension −2."""
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
