"""Digits that lie anywhere on a larger canvas, alone or among pieces of other digits.

Image number i of a split is made of one draw of numbers, those of `generator(seed, "clutter", split, i)`:

    1. the digit: in training one at random; in validation and test number i, so that each is shown once
    2. its place: any at which it lies wholly on the canvas, whole pixels, each as likely
    3. each piece: a square cut at random out of a random digit of the split, at a random place wholly on the canvas

Where things overlap, the brighter pixel is seen. Mnih et al. 2014 do so with MNIST: 60 × 60 and 4 pieces of 8 × 8, or
100 × 100 and 8 of them ("Recurrent Models of Visual Attention", section 4.1, https://arxiv.org/abs/1406.6247).
"""

from dataclasses import dataclass

import numpy as np
import torch

from saccade.data.dataset import check_index
from saccade.errors import ArgumentError
from saccade.tasks.image.canvas import Canvas, put
from saccade.tasks.image.dataset import Example
from saccade.train.randomness import generator

__all__ = ["Clutter"]

_MOST_PIECES = 1000


@dataclass(frozen=True, eq=False)
class Clutter(Canvas):
    """Digits on a larger canvas: endless to train on, as many as there are digits to validate and test on.

    Args:
        digits: what lies on the canvas.
        canvas: pixels of its height and width.
        pieces: how many pieces of other digits lie there too.
        piece: pixels of their side.
        seed: of all draws.

    Raises:
        ArgumentError: if the digit or a piece has no room, or a piece is larger than a digit.

    Example:
        >>> from saccade.tasks.image.digits import open_digits
        >>> data = Clutter(open_digits(), canvas=60, pieces=4)
        >>> image, label, _ = data.example("test", 3)
        >>> image.shape, label == open_digits().example("test", 3).label, data.size("train")
        (torch.Size([1, 60, 60]), True, None)
    """

    pieces: int = 0
    piece: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what has no room."""
        self.check_room(max(self.digits.shape[1:]), "the digits' side")
        if not 0 <= self.pieces <= _MOST_PIECES:
            raise ArgumentError(f"--distractors: expected a number from 0 to {_MOST_PIECES}, got {self.pieces}")
        if self.pieces and not 1 <= self.piece <= min(self.digits.shape[1:]):
            expected = f"from 1 to {min(self.digits.shape[1:])} pixels, the digits' side"
            raise ArgumentError(f"--distractor-size: expected {expected}, got {self.piece}")

    def example(self, split: str, index: int) -> Example:
        """Return image number `index` of a split: always the same one; its group is "".

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        check_index(split, index, self.size(split))
        images, codes = self.digits.parts[split]
        drawn = generator(self.seed, "clutter", split, index)
        numbers = iter(torch.rand(3 + 5 * self.pieces, generator=drawn, dtype=torch.float64).tolist())

        def below(count: int) -> int:
            return int(next(numbers) * count)

        first = below(len(codes))
        digit = first if split == "train" else index
        canvas = np.zeros((self.digits.shape[0], self.canvas, self.canvas), np.uint8)
        height, width = images.shape[2:]
        put(canvas, images[digit], below(self.canvas - height + 1), below(self.canvas - width + 1))
        for _ in range(self.pieces):
            other, top, left = below(len(codes)), below(height - self.piece + 1), below(width - self.piece + 1)
            cut = images[other, :, top : top + self.piece, left : left + self.piece]
            put(canvas, cut, below(self.canvas - self.piece + 1), below(self.canvas - self.piece + 1))
        return Example(torch.from_numpy(canvas), self.digits.labels[codes[digit]], "")

    @property
    def fingerprint(self) -> str:
        """What the images are made of, in one string."""
        sizes = f"canvas {self.canvas}, {self.pieces} pieces of {self.piece}, seed {self.seed}"
        return f"{self.digits.fingerprint}, {sizes}"
