"""Utterances as frames and token ids, and a batch of them in rectangles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from saccade.tasks.text.tokenizer import BEGIN, END, PADDING

__all__ = ["Batch", "Heard", "Kept", "pad", "stretched"]


@dataclass(frozen=True, eq=False)
class Heard:
    """An utterance as a model takes it.

    Args:
        name: what messages call it.
        frames: `(length, dim)`.
        ids: tokens of its text, without begin and end.
    """

    name: str
    frames: Tensor
    ids: list[int]

    @property
    def size(self) -> int:
        """The frames it takes of a batch."""
        return len(self.frames)

    @property
    def order(self) -> tuple[int, int]:
        """What utterances are sorted by: their frames, then their tokens."""
        return self.size, len(self.ids)


@dataclass(frozen=True)
class Batch:
    """Padded utterances.

    Args:
        frames: `(batch, length, dim)`.
        lengths: `(batch,)`, in frames.
        target: token ids `(batch, target_length)`, each with its begin and its end.
    """

    frames: Tensor
    lengths: Tensor
    target: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.frames.to(device), self.lengths.to(device), self.target.to(device))


class Kept:
    """Utterances that are kept in memory until they take so many bytes; others are made again each time.

    Args:
        most: bytes.

    Example:
        >>> kept = Kept(100)
        >>> first = kept.get(0, lambda index: Heard("a", torch.zeros(20, 1), []))
        >>> kept.get(0, lambda index: Heard("b", torch.zeros(20, 1), [])) is first  # 80 bytes
        True
    """

    def __init__(self, most: int) -> None:
        self._left, self._found = most, dict[int, Heard | None]()

    def get(self, index: int, make: Callable[[int], Heard | None]) -> Heard | None:
        """Return the utterance of an index, made if it is not here; None is one that is not wanted."""
        if index in self._found:
            return self._found[index]
        heard = make(index)
        if (size := 0 if heard is None else heard.frames.nbytes) <= self._left:
            self._left -= size
            self._found[index] = heard
        return heard


def pad(utterances: Sequence[Heard]) -> Batch:
    """Make a batch of utterances.

    >>> pad([Heard("a", torch.ones(3, 2), [7, 8]), Heard("b", torch.ones(1, 2), [9])]).target
    tensor([[1, 7, 8, 2],
            [1, 9, 2, 0]])
    """
    targets = [torch.tensor([BEGIN, *utterance.ids, END]) for utterance in utterances]
    lengths = torch.tensor([utterance.size for utterance in utterances])
    frames = pad_sequence([utterance.frames for utterance in utterances], batch_first=True)
    return Batch(frames, lengths, pad_sequence(targets, batch_first=True, padding_value=PADDING))


def stretched(utterances: Sequence[Heard], most: float, draws: torch.Generator) -> list[Heard]:
    """Return utterances that are said more slowly or faster: frames between frames by linear interpolation.

    Args:
        utterances: some.
        most: the largest share by which one grows or shrinks; drawn evenly.
        draws: what draws.

    Example:
        >>> [slow] = stretched([Heard("a", torch.rand(100, 2), [7])], 0.2, torch.Generator().manual_seed(1))
        >>> 80 <= slow.size <= 120, slow.ids
        (True, [7])
    """
    factors = 1 + most * (2 * torch.rand(len(utterances), generator=draws) - 1)
    pairs = zip(utterances, factors.tolist(), strict=True)
    return [_resized(heard, max(1, round(heard.size * factor))) for heard, factor in pairs]


def _resized(heard: Heard, size: int) -> Heard:
    frames = F.interpolate(heard.frames.T[None], size=size, mode="linear", align_corners=False)[0].T
    return replace(heard, frames=frames)
