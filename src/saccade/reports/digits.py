"""Grey images with their labels in memory, as reports on digits take them."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.errors import ArgumentError
from saccade.tasks.dataset import no_such_data
from saccade.tasks.image.dataset import Dataset, InMemory
from saccade.tasks.image.digits import open_digits
from saccade.tasks.image.sources import open_files
from saccade.tasks.splits import SplitNames

__all__ = ["BUILTIN", "Digits", "open_data"]

BUILTIN = {"digits": "the 1,797 handwritten digits of scikit-learn, scaled to 28 × 28 pixels"}


@dataclass(frozen=True, eq=False)
class Digits:
    """Grey images as rows of pixels from 0 to 1, with their labels.

    Args:
        train, test: `(images, pixels)`.
        classes, truth: the labels of both, from 0 on.
        side: pixels of a row of an image, and of a column.
        fingerprint: what they are, in one string.
    """

    train: Tensor
    classes: NDArray[np.int64]
    test: Tensor
    truth: NDArray[np.int64]
    side: int
    fingerprint: str


def open_data(data: str) -> Digits:
    """Open the images: the built-in digits, or grey squares as `saccade train classify-image` opens them.

    Raises:
        ArgumentError: if there are none, or they have colours.
        OSError: if a file cannot be read.

    Example:
        >>> digits = open_data("digits")
        >>> digits.train.shape, len(digits.truth)
        (torch.Size([1439, 784]), 179)
    """
    found: Dataset | None = open_digits() if data in BUILTIN else open_files(data, None, None, SplitNames())
    if found is None:
        raise no_such_data(data, BUILTIN, "folder or archive")
    channels, height, width = found.shape
    if channels != 1 or height != width or not isinstance(found, InMemory):
        raise ArgumentError(f"--data: expected grey squares as MNIST's, got {channels} × {height} × {width} pixels")
    train, test = found.parts["train"], found.parts["test"]
    rows, asked = (torch.from_numpy(part.images.astype(np.float32) / 255).flatten(1) for part in (train, test))
    return Digits(rows, train.codes, asked, test.codes, width, found.fingerprint)
