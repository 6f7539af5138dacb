"""Interface of data sets of questions about images."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from torch import Tensor

from saccade.data.dataset import Dataset
from saccade.tasks.image.scenes.scene import Box

__all__ = ["Asked", "Corpus", "Posed"]


class Posed(NamedTuple):
    """A question and its answers, without the image.

    >>> Posed("is it raining?", ("yes",), "is").group
    'is'
    """

    question: str
    answers: tuple[str, ...]
    """One, or those of several people, for example ten of VQA."""
    group: str
    """The kind of question, or ""."""

    @property
    def best(self) -> str:
        """The answer of most people, the first of several."""
        return max(self.answers, key=self.answers.count)


class Asked(NamedTuple):
    """A question about an image.

    >>> import torch
    >>> Asked(torch.zeros(3, 8, 8, dtype=torch.uint8), Posed("is it raining?", ("yes",), "is"), "a.jpg").boxes
    ()
    """

    image: Tensor | None
    """`(3, height, width)`, uint8, or None if a store has its features."""
    posed: Posed
    name: str
    """Name of the image in messages and in a store of features."""
    boxes: tuple[Box, ...] = ()
    """Boxes of the things behind the answer."""
    others: tuple[Box, ...] = ()
    """Boxes of all other things."""


class Corpus(Dataset[Asked], Protocol):
    """Questions about images in three splits."""

    def posed(self, split: str, index: int) -> Posed:
        """Return a question and its answers, without the image."""

    def images(self, split: str) -> int | None:
        """Return the number of images of a split, None if it is endless."""

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the indices of the questions about an image, one at least."""

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width of all images, or None without images."""
