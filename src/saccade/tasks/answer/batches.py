"""Questions about images as a batch takes them."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.batches import rectangle
from saccade.tasks.image.augment import shift
from saccade.tasks.image.dataset import pixels
from saccade.train.randomness import generator

__all__ = ["Batch", "Encoded", "stacked"]


class Encoded(NamedTuple):
    """An image, the ids of a question's words, and how probable each true answer is, by its number."""

    image: Tensor
    ids: list[int]
    wanted: dict[int, float]
    name: str = ""
    """Of the image: one name and the same pixels are one image."""
    size: int = 1
    """Each takes as much of a batch as any other."""
    order: int = 0


class Batch(NamedTuple):
    """Images, padded questions, and how probable each answer should be, `(batch, answers)`.

    An image that several questions are about is there once.
    """

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
        shifted: pixels by which each image is shifted at random, at most.
        seed, step: what that is drawn from.

    Example:
        >>> one = Encoded(torch.full((3, 8, 8), 255, dtype=torch.uint8), [7, 8], {1: 1.0})
        >>> batch = stacked([one, one._replace(ids=[9])], 3)
        >>> batch.visual.values.shape, batch.visual.index.tolist(), batch.question.lengths.tolist()
        (torch.Size([1, 3, 8, 8]), [0, 0], [2, 1])
        >>> batch.wanted[0].tolist()
        [0.0, 1.0, 0.0]
    """
    first, index = _images(found)
    images, wanted = torch.stack([found[place].image for place in first]), torch.zeros(len(found), answers)
    if shifted:
        images = shift(images, shifted, generator(seed, "shift", step))
    for row, one in enumerate(found):
        for number, share in one.wanted.items():
            wanted[row, number] = share
    lengths = torch.tensor([len(one.ids) for one in found])
    several = torch.tensor(index) if len(first) < len(found) else None
    return Batch(Visual(pixels(images), index=several), Padded(rectangle([one.ids for one in found]), lengths), wanted)


def _images(found: Sequence[Encoded]) -> tuple[list[int], list[int]]:
    """Where each image stands first, and which of these images each question is about."""
    first, index, known = list[int](), list[int](), dict[str, int]()
    for place, one in enumerate(found):
        number = known.get(one.name)
        if number is None or not torch.equal(found[first[number]].image, one.image):
            number = known[one.name] = len(first)
            first.append(place)
        index.append(number)
    return first, index
