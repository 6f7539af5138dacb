"""Batches of inputs with their target texts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.tasks.batches import rectangle
from saccade.tasks.text.special import BEGIN, END

__all__ = ["Batch", "target_ids"]


class Batch(NamedTuple):
    """Inputs and targets of a training step.

    Args:
        source: inputs of the model, such as a `saccade.models.padded.Padded`.
        target: token ids `(batch, target_length)`, each row with its begin and its end.
    """

    source: Any
    target: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.source.to(device), self.target.to(device))


def target_ids(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return padded rows of token ids, each with its begin and its end.

    >>> target_ids([[7, 8], [9]])
    tensor([[1, 7, 8, 2],
            [1, 9, 2, 0]])
    """
    return rectangle([[BEGIN, *ids, END] for ids in rows])
