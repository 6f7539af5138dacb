"""What all digits on a canvas have in common: its size, what they are called, and how one comes to lie on it."""

from dataclasses import dataclass

import numpy as np

from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import Bytes, InMemory

__all__ = ["Canvas", "put"]

_MOST = 4096  # pixels of a canvas's side


@dataclass(frozen=True, eq=False)
class Canvas:
    """Images that are made of digits: endless to train on, as many as there are digits to validate and test on.

    Args:
        digits: what lies on the canvas.
        canvas: pixels of its height and width.

    Example:
        >>> from saccade.tasks.image.digits import open_digits
        >>> Canvas(open_digits(), 60).shape
        (1, 60, 60)
    """

    digits: InMemory
    canvas: int = 60

    def check_room(self, least: int, what: str) -> None:
        """Refuse a canvas on which something has no room.

        Args:
            least: pixels of its side that are needed.
            what: needs them.

        Raises:
            ArgumentError: if it has fewer, or more than are in memory easily.
        """
        if not least <= self.canvas <= _MOST:
            raise ArgumentError(f"--canvas: expected from {least}, {what}, to {_MOST} pixels, got {self.canvas}")

    def size(self, split: str) -> int | None:
        """Return the number of images in a split, None where it is endless.

        Raises:
            ArgumentError: if there is no such split.
        """
        found = self.digits.size(split)
        return None if split == "train" else found

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of all images."""
        return self.digits.shape[0], self.canvas, self.canvas

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels."""
        return self.digits.labels

    @property
    def note(self) -> str:
        """What a user should know of the digits."""
        return self.digits.note


def put(canvas: Bytes, patch: Bytes, top: int, left: int) -> None:
    """Lay a patch on a canvas, where the brighter pixel is seen.

    Args:
        canvas: `(channels, height, width)`, which is changed.
        patch: `(channels, rows, columns)`.
        top, left: where its upper left corner lies.
    """
    place = canvas[:, top : top + patch.shape[1], left : left + patch.shape[2]]
    np.maximum(place, patch, out=place)
