"""Utterances as frames and token ids, and a batch of them in rectangles."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from saccade.models.padded import Padded
from saccade.tasks.text.special import BEGIN, END, PADDING

__all__ = ["Batch", "Utterance", "pad", "stretched"]


@dataclass(frozen=True, eq=False)
class Utterance:
    """An utterance as a model takes it.

    Args:
        name: what messages call it.
        frames: `(length, dim)`.
        ids: tokens of its text, without begin and end; none where the text is asked for.
        number: of the line that asks, from 1 on: of two files that are alike, each is sampled for itself.
        loudness: of each frame beside the others, `(length,)`; None where it is not known.
    """

    name: str
    frames: Tensor
    ids: list[int]
    number: int = 1
    loudness: Tensor | None = None

    @property
    def size(self) -> int:
        """The frames it takes of a batch."""
        return len(self.frames)

    @property
    def order(self) -> tuple[int, int]:
        """What utterances are sorted by: their frames, then their tokens."""
        return self.size, len(self.ids)


class Batch(NamedTuple):
    """Padded utterances.

    Args:
        source: frames `(batch, length, dim)`, and the lengths.
        target: token ids `(batch, target_length)`, each with its begin and its end.
    """

    source: Padded
    target: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.source.to(device), self.target.to(device))


def pad(utterances: Sequence[Utterance]) -> Batch:
    """Make a batch of utterances.

    >>> pad([Utterance("a", torch.ones(3, 2), [7, 8]), Utterance("b", torch.ones(1, 2), [9])]).target
    tensor([[1, 7, 8, 2],
            [1, 9, 2, 0]])
    """
    targets = [torch.tensor([BEGIN, *utterance.ids, END]) for utterance in utterances]
    lengths = torch.tensor([utterance.size for utterance in utterances])
    frames = pad_sequence([utterance.frames for utterance in utterances], batch_first=True)
    return Batch(Padded(frames, lengths), pad_sequence(targets, batch_first=True, padding_value=PADDING))


def stretched(utterances: Sequence[Utterance], most: float, generator: torch.Generator) -> list[Utterance]:
    """Return utterances that are said more slowly or faster: frames between frames by linear interpolation.

    Args:
        utterances: some.
        most: the largest share by which one grows or shrinks; drawn evenly.
        generator: what draws.

    Example:
        >>> [slow] = stretched([Utterance("a", torch.rand(100, 2), [7])], 0.2, torch.Generator().manual_seed(1))
        >>> 80 <= slow.size <= 120, slow.ids
        (True, [7])
    """
    factors = 1 + most * (2 * torch.rand(len(utterances), generator=generator) - 1)
    pairs = zip(utterances, factors.tolist(), strict=True)
    return [_resized(utterance, max(1, round(utterance.size * factor))) for utterance, factor in pairs]


def _resized(utterance: Utterance, size: int) -> Utterance:
    frames = F.interpolate(utterance.frames.T[None], size=size, mode="linear", align_corners=False)[0].T
    return replace(utterance, frames=frames, loudness=None)
