"""Grey images of digits with their labels, in memory."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from saccade.data.dataset import no_such_data
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import Dataset, ImageRows
from saccade.tasks.image.digits import open_digits
from saccade.tasks.image.sources import open_files
from studies.frame.options import Direct

BUILTIN = {"digits": "the 1,797 handwritten digits of scikit-learn, scaled to 28 × 28 pixels"}


@dataclass(frozen=True, kw_only=True)
class OnDigits(Direct):
    """Options of a study that trains on digits."""

    builtin: ClassVar[dict[str, str]] = BUILTIN

    data: str = "digits"
    """The images: built-in digits, or a folder with the files of MNIST."""

    @property
    def name(self) -> str:
        """The data in the name of a folder."""
        return "" if self.data in BUILTIN else self.data


@dataclass(frozen=True, eq=False)
class Digits:
    """Images, a row of pixels from 0 to 1 each, and their labels."""

    train: Tensor
    classes: Tensor
    test: Tensor
    truth: Tensor
    side: int
    fingerprint: str


def open_data(data: str) -> Digits:
    """Open built-in digits, or grey squares as `saccade train classify-image` does.

    >>> open_data("digits").train.shape
    torch.Size([1439, 784])
    """
    opened: Dataset | None = open_digits() if data in BUILTIN else open_files(data, None, None, SplitNames())
    if opened is None:
        raise no_such_data(data, BUILTIN, "folder or archive")
    channels, height, width = opened.shape
    if channels != 1 or height != width or not isinstance(opened, ImageRows):
        raise ArgumentError(f"--data: expected grey squares as MNIST's, got {channels} × {height} × {width} pixels")
    splits = [opened.rows.splits[split] for split in ("train", "test")]
    images = [torch.from_numpy(np.stack([row["image"] for row in rows]).astype(np.float32) / 255) for rows in splits]
    train, test = (torch.tensor([opened.labels.index(row["label"]) for row in rows]) for rows in splits)
    return Digits(images[0].flatten(1), train, images[1].flatten(1), test, width, opened.fingerprint)
