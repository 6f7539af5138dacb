"""Questions about images as a batch takes them."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.batches import rectangle
from saccade.tasks.image.augment import shift
from saccade.tasks.image.features.store import Features
from saccade.tasks.image.sight import visual
from saccade.train.randomness import generator

__all__ = ["Batch", "Encoded", "stacked"]


class Encoded(NamedTuple):
    """An image `(3, height, width)`, uint8, or its features, the ids of a question's words, and how probable each true
    answer is, by its number.
    """

    seen: Tensor | Features
    ids: list[int]
    wanted: dict[int, float]
    size: int = 1
    """Each takes as much of a batch as any other."""
    order: int = 0


class Batch(NamedTuple):
    """Images, padded questions, and how probable each answer should be, `(batch, answers)`."""

    visual: Visual
    question: Padded
    wanted: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.visual.to(device), self.question.to(device), self.wanted.to(device))


def stacked(found: Sequence[Encoded], answers: int, *, shifted: int = 0, seed: int = 0, step: int = 0) -> Batch:
    """Make a batch.

    Args:
        found: the questions.
        answers: how many there are.
        shifted: pixels by which each image is shifted at random, at most; features are taken as they are.
        seed, step: what that is drawn from.

    Example:
        >>> one = Encoded(torch.full((3, 8, 8), 255, dtype=torch.uint8), [7, 8], {1: 1.0})
        >>> batch = stacked([one, one._replace(ids=[9])], 3)
        >>> batch.visual.values.shape, batch.question.lengths.tolist(), batch.wanted[0].tolist()
        (torch.Size([2, 3, 8, 8]), [2, 1], [0.0, 1.0, 0.0])
    """
    seen: Sequence[Tensor | Features] = [one.seen for one in found]
    wanted = torch.zeros(len(found), answers)
    if shifted and (images := [one for one in seen if isinstance(one, Tensor)]):
        seen = shift(torch.stack(images), shifted, generator(seed, "shift", step)).unbind(0)
    for row, one in enumerate(found):
        for number, share in one.wanted.items():
            wanted[row, number] = share
    lengths = torch.tensor([len(one.ids) for one in found])
    return Batch(visual(seen), Padded(rectangle([one.ids for one in found]), lengths), wanted)
