"""A sequence as a model reads it, and what it shall say at which of its steps."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.models.padded import Padded

__all__ = ["Batch", "Episode", "pad"]


class Episode(NamedTuple):
    """One sequence.

    Args:
        inputs: vectors `(length, features)` float32, or symbols `(length,)` int64; nothing where something is said.
        targets: what is to be said at each step, bits `(length, bits)` float32 or symbols `(length,)` int64.
        asked: at which steps something is said, `(length,)`.
    """

    inputs: NDArray[Any]
    targets: NDArray[Any]
    asked: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """How much of a batch it takes: batches are counted in sequences."""
        return 1

    @property
    def order(self) -> int:
        """What sequences are sorted by: their length."""
        return len(self.asked)

    @property
    def wanted(self) -> Tensor:
        """What is to be said at the steps that are asked, `(asked,)` or `(asked, bits)`."""
        return torch.from_numpy(self.targets[self.asked])


class Batch(NamedTuple):
    """Sequences side by side.

    Args:
        source: what is read.
        targets: what is to be said, `(batch, length)` or `(batch, length, bits)`.
        asked: at which steps, `(batch, length)`.
    """

    source: Padded
    targets: Tensor
    asked: Tensor

    def to(self, device: torch.device | str) -> "Batch":
        """Return the same on a device."""
        return Batch(self.source.to(device), self.targets.to(device), self.asked.to(device))


def pad(episodes: Sequence[Episode]) -> Batch:
    """Return sequences as one batch, zeros behind the shorter ones.

    >>> one = Episode(np.array([4, 1]), np.array([0, 2]), np.array([False, True]))
    >>> pad([one, Episode(*(part[:1] for part in one))]).source.values.tolist()
    [[4, 1], [4, 0]]
    """
    lengths = torch.tensor([episode.order for episode in episodes])
    longest = int(lengths.max())
    inputs, targets, asked = (_stacked([one[place] for one in episodes], longest) for place in range(3))
    return Batch(Padded(inputs, lengths), targets, asked)


def _stacked(parts: Sequence[NDArray[Any]], longest: int) -> Tensor:
    found = np.zeros((len(parts), longest, *parts[0].shape[1:]), parts[0].dtype)
    for row, part in zip(found, parts, strict=True):
        row[: len(part)] = part
    return torch.from_numpy(found)
