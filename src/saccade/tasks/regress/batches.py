"""Numbers as a batch takes them: rows or sets side by side, their answers, and which of the known points they are."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.models.padded import Padded

__all__ = ["Batch", "Encoded", "padded", "stacked"]


class Encoded(NamedTuple):
    """The numbers of an example, its answers, and which of the points that a model keeps it is, -1 if none."""

    numbers: tuple[float, ...]
    answers: tuple[float, ...]
    place: int = -1
    size: int = 1
    """Each takes as much of a batch as any other."""
    order: int = 0


class Batch(NamedTuple):
    """Numbers and their answers `(batch, outputs)`, float64, and the place of each among known points `(batch,)`."""

    points: Padded
    answers: Tensor
    places: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.points.to(device), self.answers.to(device), self.places.to(device))


def padded(rows: Sequence[Sequence[float]]) -> Padded:
    """Return rows of numbers side by side, 0 behind those that are shorter.

    >>> padded([(1.0, 2.0), (3.0,)]).values
    tensor([[1., 2.],
            [3., 0.]], dtype=torch.float64)
    """
    longest = max(map(len, rows), default=1)
    values = [[*row, *[0.0] * (longest - len(row))] for row in rows]
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
    return Padded(torch.tensor(values, dtype=torch.float64).reshape(len(rows), longest), lengths)


def stacked(found: Sequence[Encoded]) -> Batch:
    """Make a batch.

    >>> stacked([Encoded((1.0, 2.0), (3.0,)), Encoded((4.0,), (4.0,), 7)]).places
    tensor([-1,  7])
    """
    answers = torch.tensor([one.answers for one in found], dtype=torch.float64)
    return Batch(padded([one.numbers for one in found]), answers, torch.tensor([one.place for one in found]))
