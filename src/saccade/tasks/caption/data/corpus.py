"""What a data set of images with captions is: images and what is written of them in three splits."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from saccade.data.dataset import Dataset

__all__ = ["Captioned", "Corpus"]


class Captioned(NamedTuple):
    """An image and what is written of it.

    >>> import torch
    >>> dog = Captioned(torch.zeros(3, 8, 8, dtype=torch.uint8), "a dog runs", ("a dog runs", "a running dog"), "")
    >>> dog.references[1], dog.scene is None
    ('a running dog', True)
    """

    image: Tensor | None
    """`(channels, height, width)`, uint8; None where features of it lie in a store."""
    caption: str
    """The one that is learned: words with a space between two."""
    references: tuple[str, ...]
    """All captions of the image, `caption` among them."""
    group: str
    """What it is measured under, "" if nothing."""
    scene: Any = None
    """What the image shows, where that is known: a `saccade.tasks.image.scenes.scene.Scene`."""
    name: str = ""
    """What messages call the image, and a store of features has it by."""


class Corpus(Dataset[Captioned], Protocol):
    """Images with captions.

    In "train" an index is a caption and its image, in "validation" and "test" it is an image with all its captions, of
    which the first is `caption`.
    """

    def text(self, split: str, index: int) -> str:
        """Return the caption of an example alone; no image is made or read for it."""

    def images(self, split: str) -> int | None:
        """Return how many images a split has, None where it is endless."""

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the indices of the captions of an image of a split, one at the least."""

    def references(self, split: str, index: int) -> tuple[str, ...]:
        """Return all captions of an example's image; no image is made or read for them."""

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width of all images; None where examples have none."""
