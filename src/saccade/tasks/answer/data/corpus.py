"""What a data set of questions about images is: an image, what is asked of it, and what people answered."""

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
    """One, or what several people said: ten of VQA."""
    group: str
    """The kind of question, "" if none is known."""

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
    """`(3, height, width)`, uint8; None where features of it lie in a store."""
    posed: Posed
    name: str
    """What messages call the image, and a store of features has it by."""
    boxes: tuple[Box, ...] = ()
    """Of the things that the answer depends on, where they are known."""
    others: tuple[Box, ...] = ()
    """Of all other things, where they are known."""


class Corpus(Dataset[Asked], Protocol):
    """Questions about images in three splits."""

    def posed(self, split: str, index: int) -> Posed:
        """Return a question and its answers alone; no image is made or read for them."""

    def images(self, split: str) -> int | None:
        """Return how many images a split has questions about, None where it is endless."""

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the indices of the questions about an image of a split, one at the least."""

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width of all images; None where examples have none."""
