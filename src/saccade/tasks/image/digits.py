"""Handwritten digits, alone, among clutter, or in a row on a larger canvas.

The digits are scikit-learn's: 1,797 of 8 × 8 pixels, scaled to MNIST's 28 × 28. No file is needed.

Image number i of a split on a canvas follows from one generator. All choices are equally likely, in this order:

    generator(seed, "clutter", split, i)    the digit (in validation and test number i) and its place on the canvas,
                                            then each piece: its digit, a square of it, and its place
    generator(seed, "row", split, i)        the number of digits, the row of pixels where they begin, each digit from
                                            left to right (in validation and test number i first), and the columns on
                                            their left in order

Where patches overlap, the brighter pixel counts. Digits of a row do not overlap.

Source:
    Alpaydin, Kaynak 1998, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, the test part,
    as `sklearn.datasets.load_digits` has it. Mnih et al. 2014, "Recurrent Models of Visual Attention", section 4.1
    (https://arxiv.org/abs/1406.6247) put MNIST's digits on 60 × 60 pixels with 4 pieces of 8 × 8, or on 100 × 100 with
    8 pieces. Rows differ from the images of Ba, Mnih, Kavukcuoglu 2015, "Multiple Object Recognition with Visual
    Attention", section 4 (https://arxiv.org/abs/1412.7755): pairs of digits on 100 × 100 pixels, and house numbers.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.data import Row
from saccade.data.generated import Generated
from saccade.data.rows import bytes_hash, rows_of
from saccade.errors import ArgumentError, SaccadeError, pip_install
from saccade.tasks.image.dataset import HELD_OUT, Example, ImageRows
from saccade.train.randomness import generator

__all__ = ["SIDE", "Clutter", "DigitRow", "open_digits"]

SIDE, _MARGIN = 28, 2  # pixels of an image's side, and of the black margin around a digit, which is 4 in MNIST
_GREYS = 16  # the brightest
_MOST_PIXELS, _MOST_PIECES, _MOST_DIGITS = 4096, 1000, 100  # pixels of a canvas's side, pieces, and digits of a row


@cache
def open_digits() -> ImageRows:
    """Return the digits: a tenth each, by their hashes, for validation and test.

    Example:
        >>> data = open_digits()
        >>> data.shape, len(data.labels), data.size("train")
        ((1, 28, 28), 10, 1439)
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        way_out = pip_install("train")
        raise SaccadeError(f"the digits come with scikit-learn, which is not installed: {way_out}") from error
    digits = load_digits()
    small = torch.from_numpy(digits.images).float()[:, None] / _GREYS
    side = SIDE - 2 * _MARGIN
    scaled = F.interpolate(small, (side, side), mode="bilinear", antialias=False)
    images = (F.pad(scaled, (_MARGIN,) * 4) * 255).round().to(torch.uint8).numpy()
    rows = [
        {"image": image, "label": str(label), "key": bytes_hash(original.tobytes())}
        for image, label, original in zip(images, digits.target, digits.images, strict=True)
    ]

    def key(row: Row) -> Any:
        return row["key"]

    divided = rows_of(rows, lambda row, _: row, key, place="digits", what="images", held=HELD_OUT)
    return ImageRows(replace(divided, note=""))


@dataclass(frozen=True, eq=False)
class _Canvas(Generated[Example]):
    """Digits on a canvas: endless in training, one image per digit elsewhere."""

    digits: ImageRows
    canvas: int = 60
    seed: int = 0

    @property
    def held_out(self) -> int:
        return self.digits.size("test")

    def size(self, split: str) -> int | None:
        """Return the number of images in a split, None if they are endless."""
        count = self.digits.size(split)
        return None if split == "train" else count

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of all images."""
        return self.digits.shape[0], self.canvas, self.canvas

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels."""
        return self.digits.labels

    @property
    def note(self) -> str:  # type: ignore[override]
        """Facts on the digits for the user."""
        return self.digits.note

    def draws(self, name: str, split: str, index: int, count: int) -> Callable[[int], int]:
        """Return a function that draws a number below another, `count` times."""
        drawn = generator(self.seed, name, split, index)
        numbers = iter(torch.rand(count, generator=drawn, dtype=torch.float64).tolist())
        return lambda below: int(next(numbers) * below)

    def laid(self, placed: Iterable[tuple[Any, int, int]]) -> Tensor:
        """Paint patches at upper left corners on a canvas. The brighter pixel counts."""
        canvas = np.zeros(self.shape, np.uint8)
        for patch, top, left in placed:
            area = canvas[:, top : top + patch.shape[1], left : left + patch.shape[2]]
            np.maximum(area, patch, out=area)
        return torch.from_numpy(canvas)

    def check_room(self, least: int, what: str) -> None:
        """Reject a canvas below a least side, or above the largest."""
        if not least <= self.canvas <= _MOST_PIXELS:
            raise ArgumentError(f"--canvas: expected from {least}, {what}, to {_MOST_PIXELS} pixels, got {self.canvas}")


@dataclass(frozen=True, eq=False)
class Clutter(_Canvas):
    """A digit on a larger canvas, alone or among pieces of other digits.

    Args:
        digits: the digits.
        canvas: pixels of its height and width.
        seed: of all draws.
        pieces: number of pieces of other digits.
        piece: pixels of their side.

    Example:
        >>> data = Clutter(open_digits(), canvas=60, pieces=4)
        >>> image, label, _ = data.example("test", 3)
        >>> image.shape, label == open_digits().example("test", 3).label, data.size("train")
        (torch.Size([1, 60, 60]), True, None)
    """

    pieces: int = 0
    piece: int = 8

    def __post_init__(self) -> None:
        self.check_room(max(self.digits.shape[1:]), "the digits' side")
        if not 0 <= self.pieces <= _MOST_PIECES:
            raise ArgumentError(f"--distractors: expected a number from 0 to {_MOST_PIECES}, got {self.pieces}")
        if self.pieces and not 1 <= self.piece <= min(self.digits.shape[1:]):
            expected = f"from 1 to {min(self.digits.shape[1:])} pixels, the digits' side"
            raise ArgumentError(f"--distractor-size: expected {expected}, got {self.piece}")

    @property
    def fingerprint(self) -> str:
        """The digits, and how they lie on the canvas."""
        sizes = f"canvas {self.canvas}, {self.pieces} pieces of {self.piece}, seed {self.seed}"
        return f"{self.digits.fingerprint}, {sizes}"

    def make(self, split: str, index: int) -> Example:
        below = self.draws("clutter", split, index, 3 + 5 * self.pieces)
        rows, side = self.digits.rows.splits[split], self.piece
        drawn, (_, height, width) = below(len(rows)), self.digits.shape
        digit = rows[drawn if split == "train" else index]
        placed = [(digit["image"], below(self.canvas - height + 1), below(self.canvas - width + 1))]
        for _ in range(self.pieces):
            other, top, left = below(len(rows)), below(height - side + 1), below(width - side + 1)
            cut = rows[other]["image"][:, top : top + side, left : left + side]
            placed.append((cut, below(self.canvas - side + 1), below(self.canvas - side + 1)))
        return Example(self.laid(placed), digit["label"], "")


@dataclass(frozen=True, eq=False)
class DigitRow(_Canvas):
    """Several digits side by side on a larger canvas. Their string is the label.

    Args:
        digits: the digits.
        canvas: pixels of its height and width.
        seed: of all draws.
        shortest, longest: numbers of digits.

    Example:
        >>> data = DigitRow(open_digits(), canvas=100)
        >>> image, label, _ = data.example("test", 5)
        >>> image.shape, label, data.size("train")
        (torch.Size([1, 100, 100]), '708', None)
    """

    shortest: int = 1
    longest: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.longest <= _MOST_DIGITS:
            raise ArgumentError(f"--longest: expected a number from 1 to {_MOST_DIGITS}, got {self.longest}")
        if not 1 <= self.shortest <= self.longest:
            expected = f"a number from 1 to {self.longest}, which is --longest"
            raise ArgumentError(f"--shortest: expected {expected}, got {self.shortest}")
        height, width = self.digits.shape[1:]
        self.check_room(max(height, self.longest * width), f"{self.longest} digits side by side")
        if wrong := [label for label in self.digits.labels if len(label) != 1]:
            raise ArgumentError(f"--digits: expected labels of one character each to make rows of, got {wrong[0]}")

    @property
    def fingerprint(self) -> str:
        """The digits, and how they lie on the canvas."""
        sizes = f"canvas {self.canvas}, rows of {self.shortest} to {self.longest}, seed {self.seed}"
        return f"{self.digits.fingerprint}, {sizes}"

    def make(self, split: str, index: int) -> Example:
        rows, below = self.digits.rows.splits[split], self.draws("row", split, index, 2 + 2 * self.longest)
        count, (_, height, width) = self.shortest + below(self.longest - self.shortest + 1), self.digits.shape
        top = below(self.canvas - height + 1)
        digits = [rows[below(len(rows))] for _ in range(count)]
        if split != "train":
            digits[0] = rows[index]
        columns = sorted(below(self.canvas - count * width + 1) for _ in range(count))
        pairs = enumerate(zip(digits, columns, strict=True))
        placed = [(digit["image"], top, left + position * width) for position, (digit, left) in pairs]
        return Example(self.laid(placed), "".join(digit["label"] for digit in digits), "")
