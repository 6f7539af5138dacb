"""Labelled images as a batch takes them: examples with the numbers of their labels, changed at random in training."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.tasks.image import augment
from saccade.tasks.image.dataset import Dataset, pixels
from saccade.tasks.labels.ranking import label_numbers

__all__ = ["Batch", "Encoded", "augmented", "encode", "stacked"]


class Encoded(NamedTuple):
    """An image, `(channels, height, width)`, uint8, and the number of its label, or the numbers of its symbols."""

    image: Tensor
    label: int | tuple[int, ...]
    size: int = 1
    """Each takes as much of a batch as any other."""
    order: int = 0


class Batch(NamedTuple):
    """Images `(batch, channels, height, width)`, float32 in [0, 1], and the numbers of their labels `(batch,)`."""

    images: Tensor
    labels: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.images.to(device), self.labels.to(device))


def encode(data: Dataset, split: str, labels: Sequence[str], indices: Sequence[int]) -> list[Encoded]:
    """Return examples of a split with the numbers of their labels.

    Raises:
        ArgumentError: if one has a label that is none of the run's.
    """
    examples = [data.example(split, index) for index in indices]
    numbers = label_numbers(labels, [example.label for example in examples], split)
    return [Encoded(example.image, number) for example, number in zip(examples, numbers, strict=True)]


def stacked(found: Sequence[Encoded]) -> Batch:
    """Make a batch of images as they are.

    >>> stacked([Encoded(torch.full((1, 2, 2), 255, dtype=torch.uint8), 3)]).images.amax(), stacked([]).labels
    (tensor(1.), tensor([], dtype=torch.int64))
    """
    images = [one.image for one in found]
    whole = torch.stack(images) if images else torch.empty(0, 1, 1, 1, dtype=torch.uint8)
    return Batch(pixels(whole), torch.tensor([one.label for one in found], dtype=torch.int64))


def augmented(found: Sequence[Encoded], seed: int, step: int, *, mirrored: bool, shifted: int) -> Batch:
    """Make a batch of images that are mirrored and shifted at random, by draws of a seed and a step.

    Args:
        found: the images.
        seed: of the run.
        step: the batch is of.
        mirrored: whether every other image is mirrored from left to right.
        shifted: pixels by which they are shifted, at most.
    """
    images = augment.flipped_and_shifted(
        torch.stack([one.image for one in found]), seed, step, mirrored=mirrored, shifted=shifted
    )
    return Batch(pixels(images), torch.tensor([one.label for one in found]))
