"""Several digits side by side on a larger canvas, whose label is the string of them.

Image number i of a split is made of one draw of numbers, those of `generator(seed, "row", split, i)`:

    1. how many digits there are, from the fewest to the most, each number as likely
    2. how many of the rows of pixels that are left lie above them, each as likely
    3. each digit, from left to right: one of the split at random; in validation and test the first is number i, so that
       each is shown at least once
    4. as many places, each any of the columns that are left, as likely: in order, what lies to the left of each digit

so that digits lie wholly on the canvas, none over another. They are not the images of Ba, Mnih, Kavukcuoglu 2015
("Multiple Object Recognition with Visual Attention", section 4, https://arxiv.org/abs/1412.7755), who tell pairs of
MNIST's digits on 100 × 100 pixels apart, and read house numbers.
"""

from dataclasses import dataclass

import numpy as np
import torch

from saccade.data.dataset import check_index
from saccade.errors import ArgumentError
from saccade.tasks.image.canvas import Canvas, put
from saccade.tasks.image.dataset import Example
from saccade.train.randomness import generator

__all__ = ["Row"]

_MOST = 100  # digits of a row


@dataclass(frozen=True, eq=False)
class Row(Canvas):
    """Rows of digits on a larger canvas: endless to train on, as many as there are digits to validate and test on.

    Args:
        digits: what lies on the canvas.
        canvas: pixels of its height and width.
        shortest, longest: how many digits there are.
        seed: of all draws.

    Raises:
        ArgumentError: if so many digits have no room, or labels of theirs have several characters.

    Example:
        >>> from saccade.tasks.image.digits import open_digits
        >>> data = Row(open_digits(), canvas=100)
        >>> image, label, _ = data.example("test", 5)
        >>> image.shape, label, data.size("train")
        (torch.Size([1, 100, 100]), '708', None)
    """

    shortest: int = 1
    longest: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what has no room."""
        if not 1 <= self.longest <= _MOST:
            raise ArgumentError(f"--longest: expected a number from 1 to {_MOST}, got {self.longest}")
        if not 1 <= self.shortest <= self.longest:
            expected = f"a number from 1 to {self.longest}, which is --longest"
            raise ArgumentError(f"--shortest: expected {expected}, got {self.shortest}")
        height, width = self.digits.shape[1:]
        self.check_room(max(height, self.longest * width), f"{self.longest} digits side by side")
        if wrong := [label for label in self.digits.labels if len(label) != 1]:
            raise ArgumentError(f"--digits: expected labels of one character each to make rows of, got {wrong[0]}")

    def example(self, split: str, index: int) -> Example:
        """Return image number `index` of a split: always the same one; its group is "".

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        check_index(split, index, self.size(split))
        images, codes = self.digits.parts[split]
        drawn = generator(self.seed, "row", split, index)
        numbers = iter(torch.rand(2 + 2 * self.longest, generator=drawn, dtype=torch.float64).tolist())

        def below(count: int) -> int:
            return int(next(numbers) * count)

        count, (height, width) = self.shortest + below(self.longest - self.shortest + 1), images.shape[2:]
        top = below(self.canvas - height + 1)
        digits = [below(len(codes)) for _ in range(count)]
        if split != "train":
            digits[0] = index
        columns = sorted(below(self.canvas - count * width + 1) for _ in range(count))
        canvas = np.zeros((self.digits.shape[0], self.canvas, self.canvas), np.uint8)
        for place, (digit, left) in enumerate(zip(digits, columns, strict=True)):
            put(canvas, images[digit], top, left + place * width)
        label = "".join(self.digits.labels[codes[digit]] for digit in digits)
        return Example(torch.from_numpy(canvas), label, "")

    @property
    def fingerprint(self) -> str:
        """What the images are made of, in one string."""
        sizes = f"canvas {self.canvas}, rows of {self.shortest} to {self.longest}, seed {self.seed}"
        return f"{self.digits.fingerprint}, {sizes}"
