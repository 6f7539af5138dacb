"""What a data set of labelled images is, and the one that lies in memory."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.data import dataset
from saccade.data.dataset import SPLITS, spread
from saccade.errors import ArgumentError

__all__ = [
    "HELD_OUT",
    "Dataset",
    "Example",
    "InMemory",
    "Part",
    "check_scaled",
    "pixels",
    "refuse_size",
    "statistics",
]

HELD_OUT = (10, 5000)
"""One in so many images of files is held out for a missing split, and at most so many."""
_SEEN = 1_000  # training images that the mean and deviation of channels are computed from
Bytes = NDArray[np.uint8]


class Example(NamedTuple):
    """An image, its label, and the group that it is measured in beside its class, "" if none.

    >>> Example(torch.zeros(3, 8, 8, dtype=torch.uint8), "cat", "").label
    'cat'
    """

    image: Tensor
    """`(channels, height, width)`, uint8."""
    label: str
    group: str


class Dataset(dataset.Dataset[Example], Protocol):
    """Labelled images in three splits."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of all images."""

    @property
    def labels(self) -> Sequence[str]:
        """All labels, sorted."""


class Part(NamedTuple):
    """The images of a split, and the numbers of their labels.

    >>> Part(np.zeros((2, 3, 8, 8), np.uint8), np.array([0, 1])).images.shape
    (2, 3, 8, 8)
    """

    images: Bytes
    codes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class InMemory:
    """Labelled images of one size, in memory.

    Args:
        parts: "train", "validation" and "test".
        labels: all labels; codes are places in it.
        note: what a user should know of the data, "" if nothing.
        unscaled: whether some were handed over as pixels, which are taken in the size that they have.

    Raises:
        ArgumentError: if a split has no images, or there are fewer than two labels.

    Example:
        >>> part = Part(np.zeros((2, 1, 8, 8), np.uint8), np.array([0, 1]))
        >>> data = InMemory(dict.fromkeys(SPLITS, part), ("cat", "dog"), "")
        >>> data.example("test", 1).label, data.size("test"), data.shape
        ('dog', 2, (1, 8, 8))
    """

    parts: Mapping[str, Part]
    labels: tuple[str, ...]
    note: str
    unscaled: bool = False

    def __post_init__(self) -> None:
        """Refuse what nothing can be learned from, or measured on."""
        if len(self.labels) < 2:
            raise ArgumentError(f"labels: expected two or more, got {', '.join(self.labels) or 'none'}")
        for split in SPLITS:
            if not len(self.parts[split].codes):
                raise ArgumentError(f"{split}: expected images, got none")

    def example(self, split: str, index: int) -> Example:
        """Return one example of a split; its group is "".

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        dataset.check_index(split, index, self.size(split))
        images, codes = self.parts[split]
        return Example(torch.from_numpy(images[index].copy()), self.labels[codes[index]], "")

    def size(self, split: str) -> int:
        """Return how many examples a split has.

        Raises:
            ArgumentError: if there is no such split.
        """
        dataset.check_split(split)
        return len(self.parts[split].codes)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of all images."""
        channels, height, width = self.parts["train"].images.shape[1:]
        return channels, height, width

    @property
    def fingerprint(self) -> str:
        """How many examples there are, and a hash of all images and labels."""
        digest = hashlib.blake2b(repr((self.labels, self.shape)).encode(), digest_size=8)
        for split in SPLITS:
            images, codes = self.parts[split]
            digest.update(np.ascontiguousarray(images).data)
            digest.update(codes.astype("<i8").tobytes())
        counts = ", ".join(f"{split} {self.size(split)}" for split in SPLITS)
        return f"images {counts}, {len(self.labels)} labels, contents {digest.hexdigest()}"


def pixels(images: Tensor) -> Tensor:
    """Return uint8 images as models take them: float32 in [0, 1].

    >>> pixels(torch.tensor([[[0, 255]]], dtype=torch.uint8))
    tensor([[[0., 1.]]])
    """
    return images.float() / 255


def statistics(data: Any) -> tuple[list[float], list[float]]:
    """Return the mean and the standard deviation of each channel over training images in [0, 1].

    Of many examples 500 to 1,000 are taken, evenly apart, of endless ones the first 1,000. A channel that never changes
    has a deviation of 1.

    Args:
        data: a data set whose examples have an `image`, and which has a `shape`.

    Returns:
        Both, a number a channel, rounded to six digits.

    Example:
        >>> part = Part(np.full((2, 1, 8, 8), 51, np.uint8), np.array([0, 1]))
        >>> statistics(InMemory(dict.fromkeys(SPLITS, part), ("cat", "dog"), ""))
        ([0.2], [1.0])
    """
    size = data.size("train")
    indices = spread(_SEEN if size is None else size, _SEEN)
    total = square = torch.zeros(data.shape[0], dtype=torch.float64)
    for index in indices:
        image = data.example("train", index).image.double() / 255
        total, square = total + image.mean((1, 2)), square + image.square().mean((1, 2))
    mean = total / len(indices)
    variance = (square / len(indices) - mean.square()).clamp(min=0)
    deviation = torch.where(variance > 1e-8, variance.sqrt(), 1.0)
    return [round(value, 6) for value in mean.tolist()], [round(value, 6) for value in deviation.tolist()]


def refuse_size(data: str, size: int | None) -> None:
    """Refuse a size for images that have one.

    Raises:
        ArgumentError: if one is given.
    """
    if size is not None:
        raise ArgumentError(f"--size: expected none for {data}, whose images have one size; leave {size} out")


def check_scaled(data: Dataset, size: int | None) -> None:
    """Refuse a size for images that are not scaled, as a run begins; runs of before had one to no effect.

    Raises:
        ArgumentError: if one is given.
    """
    if isinstance(data, InMemory) and data.unscaled:
        refuse_size("arrays and Pillow images", size)
