"""Images with captions in three splits."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from saccade.data.dataset import Dataset

__all__ = ["Captioned", "Corpus"]


class Captioned(NamedTuple):
    """An image and its captions.

    >>> import torch
    >>> dog = Captioned(torch.zeros(3, 8, 8, dtype=torch.uint8), "a dog runs", ("a dog runs", "a running dog"), "")
    >>> dog.references[1], dog.scene is None
    ('a running dog', True)
    """

    image: Tensor | None
    """`(channels, height, width)`, uint8; None if a store has features of it."""
    caption: str
    """The caption to learn."""
    references: tuple[str, ...]
    """All captions of the image."""
    group: str
    """Group of its metrics, "" if none."""
    scene: Any = None
    """The `saccade.tasks.image.scenes.scene.Scene` of the image, or None."""
    name: str = ""
    """Name of the image in messages and in a store of features."""


class Corpus(Dataset[Captioned], Protocol):
    """Images with captions.

    An index is a caption and its image in "train", and an image with all its captions in "validation" and "test".
    """

    def text(self, split: str, index: int) -> str:
        """Return the caption of an example, without reading its image."""

    def references(self, split: str, index: int) -> tuple[str, ...]:
        """Return all captions of an example's image, without reading the image."""

    def images(self, split: str) -> int | None:
        """Return the number of images of a split, None if they are endless."""

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the indices of the captions of an image."""

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width of all images; None if examples have none."""
