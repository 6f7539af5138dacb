"""Room behind tensors that grow along their lengths, as those of a memory do at each step of a decoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import torch
from torch import Tensor

from saccade._definitions.numerics import tracing, transforming

__all__ = ["Buffer", "extended", "with_room"]


_TAKING = Lock()


@dataclass
class Buffer:
    """Room behind the tensors of a memory, along their lengths; `used` says how much of it anybody has written."""

    parts: list[Tensor]
    used: int

    def takes(self, length: int, total: int, count: int) -> bool:
        """Takes the rows from `length` to `total`, no other thread between, if nobody has written behind `length`,
        `total` keys fit, and this mode may write here at all; whether it did.
        """
        ours = self.parts[0].is_inference() == torch.is_inference_mode_enabled()
        with _TAKING:
            free = ours and self.used == length and len(self.parts) == count and self.parts[0].shape[-2] >= total
            self.used = total if free else self.used
        return free


def extended(
    olds: Sequence[Tensor], news: Sequence[Tensor], buffer: Buffer | None
) -> tuple[list[Tensor], Buffer | None]:
    """olds and news joined along dimension −2, in the room behind the olds where nobody else has written into it.

    >>> with torch.no_grad():
    ...     (joined,), buffer = extended([torch.zeros(2, 1)], [torch.ones(1, 1)], None)
    >>> joined[:, 0].tolist(), buffer.used, len(buffer.parts[0])
    ([0.0, 0.0, 1.0], 3, 6)
    """
    if torch.is_grad_enabled() or tracing() or transforming():
        return [torch.cat(pair, -2) for pair in zip(olds, news, strict=True)], None
    length, total = olds[0].shape[-2], olds[0].shape[-2] + news[0].shape[-2]
    if buffer is None or not buffer.takes(length, total, len(olds)):
        buffer = with_room(olds, 2 * total)
        buffer.used = total
    for part, new in zip(buffer.parts, news, strict=True):
        part.data[..., length:total, :] = new  # .data: rows that nobody has read do not outdate what others saved
    return [part[..., :total, :] for part in buffer.parts], buffer


def with_room(tensors: Sequence[Tensor], capacity: int) -> Buffer:
    """Copies of the tensors at the beginning of a buffer for so many."""
    return Buffer([_room(tensor, capacity) for tensor in tensors], tensors[0].shape[-2])


def _room(tensor: Tensor, capacity: int) -> Tensor:
    room = tensor.new_empty(*tensor.shape[:-2], capacity, tensor.shape[-1])
    room[..., : tensor.shape[-2], :] = tensor
    return room
