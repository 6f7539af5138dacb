"""Labelled images in three splits."""

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from saccade.data import Examples, Row, Rows, dataset
from saccade.data.dataset import SPLITS, spread
from saccade.data.splits import wholes
from saccade.errors import ArgumentError
from saccade.tasks.image.images import encode_png, read_image

__all__ = [
    "HELD_OUT",
    "Dataset",
    "Example",
    "ImageRows",
    "Scaled",
    "check_scaled",
    "pixels",
    "refuse_size",
    "statistics",
]

HELD_OUT = (10, 5000)
"""Held-out images of files for a missing split: one in 10, and at most 5,000."""
_SAMPLED = 1_000  # most training images for the mean and deviation of channels


class Example(NamedTuple):
    """An image, its label, and its group for further metrics, "" if none.

    >>> Example(torch.zeros(3, 8, 8, dtype=torch.uint8), "cat", "").label
    'cat'
    """

    image: Tensor
    """`(channels, height, width)`, uint8."""
    label: str
    group: str


class Dataset(dataset.Dataset[Example], Protocol):
    """Labelled images of one size."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of all images."""

    @property
    def labels(self) -> Sequence[str]:
        """All labels, sorted."""


class ImageRows(Examples[Example]):
    """Labelled images of one size, in memory.

    Args:
        rows: of an `image`, `(channels, height, width)`, uint8, and its `label`. Grey images are RGB if others are.
        unscaled: whether some images were arrays, which keep their size.

    Raises:
        ArgumentError: if a split has no images, there are fewer than two labels, or training lacks a label.

    Example:
        >>> rows = [{"image": np.zeros((1, 8, 8), np.uint8), "label": label} for label in ("cat", "dog")]
        >>> data = ImageRows(Rows(dict.fromkeys(SPLITS, rows), ""))
        >>> data.example("test", 1).label, data.size("test"), data.shape, data.labels
        ('dog', 2, (1, 8, 8), ('cat', 'dog'))
    """

    def __init__(self, rows: Rows[Row], *, unscaled: bool = False) -> None:
        super().__init__(rows, self._example)
        self.unscaled, self.labels = unscaled, tuple(sorted({row["label"] for row in rows.splits["train"]}))
        if len(self.labels) < 2 and wholes() is None:
            raise ArgumentError(f"labels: expected two or more, got {', '.join(self.labels) or 'none'}")
        labels = set(self.labels)
        for split in SPLITS:
            if not rows.splits[split]:
                raise ArgumentError(f"{split}: expected images, got none")
            for index, row in enumerate(rows.splits[split]):
                if row["label"] not in labels:
                    wrong = (
                        f"the label {row['label']!r:.60} is in no image to train on; leave it out or add such images"
                    )
                    raise ArgumentError(f"{rows.where(split, index)}: {wrong}")
        channels = max(len(row["image"]) for split in SPLITS for row in rows.splits[split])
        _, height, width = rows.splits["train"][0]["image"].shape
        self.shape: tuple[int, int, int] = (channels, height, width)

    @property
    def fingerprint(self) -> str:
        """Number of examples, and a hash of all images and labels."""
        digest = hashlib.blake2b(repr((self.labels, self.shape)).encode(), digest_size=8)
        for split in SPLITS:
            for row in self.rows.splits[split]:
                digest.update(self._image(row).tobytes())
            codes = np.array([self.labels.index(row["label"]) for row in self.rows.splits[split]])
            digest.update(codes.astype("<i8").tobytes())
        counts = ", ".join(f"{split} {self.size(split)}" for split in SPLITS)
        return f"images {counts}, {len(self.labels)} labels, contents {digest.hexdigest()}"

    def _example(self, row: Row) -> Example:
        return Example(torch.from_numpy(self._image(row).copy()), row["label"], "")

    def _image(self, row: Row) -> Any:
        return np.broadcast_to(row["image"], self.shape)


@dataclass(frozen=True, eq=False)
class Scaled:
    """Data with images of another size or other channels than their own.

    Args:
        data: examples with an `image` each.
        shape: channels, height and width.
    """

    data: Any
    shape: tuple[int, int, int]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data, name)

    def example(self, split: str, index: int) -> Any:
        """Return one example of a split."""
        example = self.data.example(split, index)
        if tuple(example.image.shape) == self.shape:
            return example
        channels, *size = self.shape
        file = io.BytesIO(encode_png(example.image))
        return example._replace(image=read_image(file, f"{split} {index}", channels=channels, size=(size[0], size[1])))


def pixels(images: Tensor) -> Tensor:
    """Convert uint8 images to float32 in [0, 1], the input of models.

    >>> pixels(torch.tensor([[[0, 255]]], dtype=torch.uint8))
    tensor([[[0., 1.]]])
    """
    return images.float() / 255


def statistics(image: Callable[[int], Tensor], size: int | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of each channel of training images.

    Pixels are in [0, 1]. The sample is 500 to 1,000 images, evenly apart, or the first 1,000 of endless images. Results
    are rounded to six digits. A constant channel has a deviation of 1.

    Args:
        image: from an index to an image, `(channels, height, width)`, uint8.
        size: number of images, None if they are endless.

    Example:
        >>> statistics(lambda index: torch.full((1, 8, 8), 51, dtype=torch.uint8), 2)
        ((0.2,), (1.0,))
    """
    indices = spread(_SAMPLED if size is None else size, _SAMPLED)
    total = square = torch.zeros((), dtype=torch.float64)
    for index in indices:
        values = image(index).double() / 255
        total, square = total + values.mean((1, 2)), square + values.square().mean((1, 2))
    mean = total / len(indices)
    variance = (square / len(indices) - mean.square()).clamp(min=0)
    deviation = torch.where(variance > 1e-8, variance.sqrt(), 1.0)
    return tuple(round(value, 6) for value in mean.tolist()), tuple(round(value, 6) for value in deviation.tolist())


def refuse_size(data: str, size: int | None) -> None:
    """Reject a size for images of fixed size."""
    if size is not None:
        raise ArgumentError(f"--size: expected none for {data}, whose images have one size; leave {size} out")


def check_scaled(data: Dataset, size: int | None) -> None:
    """Reject a size for images without scaling."""
    if getattr(data, "unscaled", False):
        refuse_size("arrays and Pillow images", size)
