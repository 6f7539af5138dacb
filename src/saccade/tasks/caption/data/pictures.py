"""Images that are decoded as they are asked for, with their captions in memory."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import numpy as np
from torch import Tensor

from saccade.data.dataset import SPLITS, check_index, check_split
from saccade.errors import ArgumentError
from saccade.tasks.batches import Cache
from saccade.tasks.caption.data.corpus import Captioned
from saccade.tasks.image import decoded
from saccade.tasks.image.decoded import read_source, told

__all__ = ["SIZE", "Item", "Pictures", "Source", "check_size"]

#: Pixels of the height and width that images are scaled to, where no other size is asked for.
SIZE = 96

_SIZES = range(8, 1025)  # pixels
_CACHED = 256 << 20  # bytes of decoded images that are kept

Source: TypeAlias = decoded.Source | None
"""Where an image is, the bytes of its file, or itself `(channels, height, width)`, uint8; None: only features are."""


class Item(NamedTuple):
    """An image and all that is written of it.

    >>> Item("a.jpg", ("a dog",), None).captions
    ('a dog',)
    """

    name: str
    captions: tuple[str, ...]
    source: Source


class Pictures:
    """Images with captions, decoded as they are asked for and scaled to one size.

    Decoded images are kept until they take 256 MiB; those beyond are decoded each time.

    Args:
        splits: the images of "train", "validation" and "test".
        size: pixels of height and width, which an image is scaled to cover, and cut to; None: there are no images, but
            features of them elsewhere.
        note: what a user should know of the data, "" if nothing.

    Raises:
        ArgumentError: if a split has no images, or the size is none.

    Example:
        >>> import torch
        >>> items = [Item("a", ("a dog", "an animal"), torch.zeros(3, 9, 12, dtype=torch.uint8))]
        >>> data = Pictures(dict.fromkeys(SPLITS, items), 8, "")
        >>> data.size("train"), data.size("test"), data.example("train", 1).caption, data.example("test", 0).image.shape
        (2, 1, 'an animal', torch.Size([3, 8, 8]))
    """

    def __init__(self, splits: Mapping[str, Sequence[Item]], size: int | None, note: str) -> None:
        if size is not None:
            check_size(size)
        for split in SPLITS:
            if not splits[split]:
                raise ArgumentError(f"{split}: expected images with captions, got none")
        self.splits, self.note, self._size = splits, note, size
        self._ends = np.cumsum([len(item.captions) for item in splits["train"]])
        first = accumulate((len(splits[split]) for split in SPLITS), initial=0)
        self._first = dict(zip(SPLITS, first, strict=False))
        self._cache = Cache(self._decoded, _CACHED, lambda image: image.nbytes)

    def example(self, split: str, index: int) -> Captioned:
        """Return one example of a split; its group is "".

        Raises:
            ArgumentError: if there is no such split, or no such index in it, or the image cannot be read.
        """
        number, caption = self._place(split, index)
        item = self.splits[split][number]
        image = None if self._size is None else self._cache.get(self._first[split] + number).clone()
        return Captioned(image, item.captions[caption], item.captions, "", name=item.name)

    def text(self, split: str, index: int) -> str:
        """Return the caption of an example alone.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        number, caption = self._place(split, index)
        return self.splits[split][number].captions[caption]

    def references(self, split: str, index: int) -> tuple[str, ...]:
        """Return all captions of an example's image.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        number, _ = self._place(split, index)
        return self.splits[split][number].captions

    def size(self, split: str) -> int:
        """Return how many examples a split has: captions to train on, images elsewhere.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        return int(self._ends[-1]) if split == "train" else len(self.splits[split])

    def images(self, split: str) -> int:
        """Return how many images a split has.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        return len(self.splits[split])

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the indices of an image's captions in training, and of the image elsewhere.

        Raises:
            ArgumentError: if there is no such split, or no such image in it.
        """
        check_index(split, image, self.images(split))
        if split != "train":
            return range(image, image + 1)
        end = int(self._ends[image])
        return range(end - len(self.splits[split][image].captions), end)

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width of all images; None if there are none."""
        return None if self._size is None else (3, self._size, self._size)

    @cached_property
    def fingerprint(self) -> str:
        """How many images there are, and a hash of their names, sizes in bytes and captions."""
        digest = hashlib.blake2b(digest_size=8)
        for split in SPLITS:
            for item in self.splits[split]:
                digest.update(json.dumps([split, item.name, _told(item.source), *item.captions]).encode())
        counts = ", ".join(f"{split} {len(self.splits[split])}" for split in SPLITS)
        scaled = "features" if self._size is None else f"{self._size} × {self._size}"
        return f"captions of images {counts}, {scaled}, contents {digest.hexdigest()}"

    def _place(self, split: str, index: int) -> tuple[int, int]:
        """The number of an example's image in its split, and that of its caption in the image's."""
        check_index(split, index, self.size(split))
        if split != "train":
            return index, 0
        number = int(np.searchsorted(self._ends, index, side="right"))
        return number, index - int(self._ends[number]) + len(self.splits[split][number].captions)

    def _decoded(self, number: int) -> Tensor:
        split = next(split for split in reversed(SPLITS) if self._first[split] <= number)
        item = self.splits[split][number - self._first[split]]
        assert self._size is not None, "what has no size is not asked for images"
        return _read(item, (self._size, self._size))


def check_size(size: int) -> None:
    """Refuse what is no size of images.

    Raises:
        ArgumentError: if it is none.
    """
    if size not in _SIZES:
        raise ArgumentError(f"--size: expected pixels from {_SIZES[0]} to {_SIZES[-1]}, got {size}")


def _read(item: Item, size: tuple[int, int]) -> Tensor:
    """An item's image, RGB, of a size."""
    assert item.source is not None, "an image of a corpus with a size is somewhere"
    return read_source(item.source, item.name, size)


def _told(source: Source) -> object:
    """What tells an image from others without decoding it."""
    return None if source is None else told(source)
