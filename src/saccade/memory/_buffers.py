"""Room behind tensors that grow along their lengths, as a memory's do."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import torch
from torch import Tensor

from saccade._definitions.numerics import tracing, transforming

_TAKING = Lock()


@dataclass
class Buffer:
    """Room behind the tensors of a memory, with `used` rows written."""

    parts: list[Tensor]
    used: int

    def takes(self, length: int, total: int, count: int) -> bool:
        """Take the rows from `length` to `total` if they fit and are unwritten; return whether they were."""
        same_mode = self.parts[0].is_inference() == torch.is_inference_mode_enabled()
        with _TAKING:
            free = same_mode and self.used == length and len(self.parts) == count and self.parts[0].shape[-2] >= total
            self.used = total if free else self.used
        return free


def extended(
    olds: Sequence[Tensor], news: Sequence[Tensor], buffer: Buffer | None
) -> tuple[list[Tensor], Buffer | None]:
    """olds and news joined along dimension −2, in unwritten room behind the olds."""
    if torch.is_grad_enabled() or tracing() or transforming():
        return [torch.cat(pair, -2) for pair in zip(olds, news, strict=True)], None
    length, total = olds[0].shape[-2], olds[0].shape[-2] + news[0].shape[-2]
    if buffer is None or not buffer.takes(length, total, len(olds)):
        buffer = with_room(olds, 2 * total)
        buffer.used = total
    for part, new in zip(buffer.parts, news, strict=True):
        part.data[..., length:total, :] = new  # .data: writing unread rows does not outdate saved tensors
    return [part[..., :total, :] for part in buffer.parts], buffer


def with_room(tensors: Sequence[Tensor], capacity: int) -> Buffer:
    """Copies of the tensors at the beginning of a buffer of so many rows."""
    parts = [tensor.new_empty(*tensor.shape[:-2], capacity, tensor.shape[-1]) for tensor in tensors]
    for part, tensor in zip(parts, tensors, strict=True):
        part[..., : tensor.shape[-2], :] = tensor
    return Buffer(parts, tensors[0].shape[-2])
