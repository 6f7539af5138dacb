"""Texts as ids of words with the number of their label, and a batch of them in a rectangle."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.models.padded import Padded
from saccade.tasks.batches import rectangle

__all__ = ["Batch", "Encoded", "pad"]


class Encoded(NamedTuple):
    """The ids of the words of one text, one at the least, and the number of its label."""

    ids: list[int]
    label: int

    @property
    def size(self) -> int:
        """The words it takes."""
        return len(self.ids)

    @property
    def order(self) -> int:
        """What texts are sorted by."""
        return len(self.ids)


class Batch(NamedTuple):
    """Padded ids of words.

    Args:
        source: ids `(batch, length)`, and the lengths.
        labels: `(batch,)`.
    """

    source: Padded
    labels: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.source.to(device), self.labels.to(device))


def pad(texts: Sequence[Encoded]) -> Batch:
    """Make a batch of texts.

    >>> pad([Encoded([7, 8], 0), Encoded([9], 1)]).source.values
    tensor([[7, 8],
            [9, 0]])
    """
    lengths = torch.tensor([text.size for text in texts])
    source = Padded(rectangle([text.ids for text in texts]), lengths)
    return Batch(source, torch.tensor([text.label for text in texts]))
