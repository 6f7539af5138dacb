"""Questions with their answers, as text and as sequences of steps."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.models.padded import Padded

__all__ = ["Batch", "Episode", "Item", "pad"]


class Item(NamedTuple):
    """A question and its answer, each in one line.

    Args:
        text: the question.
        answer: the answer, or the answers to the questions of a story in order.
        group: kind of the question, "" for none.
    """

    text: str
    answer: str
    group: str = ""


class Episode(NamedTuple):
    """A sequence.

    Args:
        inputs: vectors `(length, features)` float32, or symbols `(length,)` int64.
        targets: bits `(length, bits)` float32, or symbols `(length,)` int64.
        asked: whether a step answers, `(length,)`.
    """

    inputs: NDArray[Any]
    targets: NDArray[Any]
    asked: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Size in a batch: one sequence."""
        return 1

    @property
    def order(self) -> int:
        """Number of steps."""
        return len(self.asked)

    @property
    def wanted(self) -> Tensor:
        """Targets of the answering steps, `(asked,)` or `(asked, bits)`."""
        return torch.from_numpy(self.targets[self.asked])


class Batch(NamedTuple):
    """Padded sequences.

    Args:
        source: inputs.
        targets: `(batch, length)` or `(batch, length, bits)`.
        asked: whether a step answers, `(batch, length)`.
    """

    source: Padded
    targets: Tensor
    asked: Tensor

    def to(self, device: torch.device | str) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.source.to(device), self.targets.to(device), self.asked.to(device))


def pad(episodes: Sequence[Episode]) -> Batch:
    """Return sequences as one batch, padded by zeros.

    >>> episode = Episode(np.array([4, 1]), np.array([0, 2]), np.array([False, True]))
    >>> pad([episode, Episode(*(part[:1] for part in episode))]).source.values.tolist()
    [[4, 1], [4, 0]]
    """
    lengths = torch.tensor([episode.order for episode in episodes])
    parts = []
    for rows in zip(*episodes, strict=True):
        padded = np.zeros((len(rows), int(lengths.max()), *rows[0].shape[1:]), rows[0].dtype)
        for row, part in zip(padded, rows, strict=True):
            row[: len(part)] = part
        parts.append(torch.from_numpy(padded))
    inputs, targets, answering = parts
    return Batch(Padded(inputs, lengths), targets, answering)
