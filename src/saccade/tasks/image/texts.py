"""The training texts about images, questions or captions, in the order in which they are learned: those about one image
side by side, so that it is decoded once, and seen once in a batch.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, islice
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from saccade.data.dataset import spread
from saccade.errors import ArgumentError
from saccade.models.image_encoder import Visual
from saccade.tasks.batches import POOL, Sampler, Sized
from saccade.tasks.image.features.store import Features, FeatureStore
from saccade.tasks.image.sight import visual

__all__ = ["Illustrated", "Text", "TextsByImage", "seen_together", "training_texts"]

E = TypeVar("E", bound=Sized)

_WORKERS = min(8, os.cpu_count() or 1)  # threads that decode images, which sets Python's lock free
_TRIED = 100  # images without end, of whose texts one at the least can be learned


class Illustrated(Protocol):
    """A data set of texts about images, as far as their order goes."""

    def size(self, split: str) -> int | None:
        """Return how many texts a split has, None where it is endless."""

    def images(self, split: str) -> int | None:
        """Return how many images a split has texts about, None where it is endless."""

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the indices of the texts about an image of a split, one at the least."""


@dataclass(frozen=True)
class TextsByImage(Generic[E]):
    """The training texts that can be learned, and batches of them.

    An epoch is a random order of units: a unit is all texts about an image, or as many of them as a batch has, and then
    an image has several. The row of their texts is cut into batches, so that these have as many texts as they shall,
    however many there are about an image; where a cut goes through a unit, its image is in two batches. Where there is
    no end of images, they come in their own order.

    Args:
        data: the texts.
        fits: whether the text of an index can be learned.
        encode: the texts of some indices, all about one image, as a batch takes them.
        batch_size: texts a batch.

    Example:
        >>> from saccade.tasks.caption.codec import Encoded
        >>> from saccade.tasks.caption.data import open_corpus
        >>> data, image = open_corpus("scenes"), torch.zeros(3, 8, 8)
        >>> known = TextsByImage(data, lambda index: True, lambda own: [Encoded(image, [index]) for index in own], 6)
        >>> [len(known.sampler(seed=1).batch(step)) for step in range(3)]
        [6, 6, 6]
    """

    data: Illustrated
    fits: Callable[[int], bool]
    encode: Callable[[Sequence[int]], list[E]]
    batch_size: int

    def sampler(self, seed: int) -> Sampler[E]:
        """Return what maps steps to batches.

        Raises:
            ArgumentError: if there is nothing to learn.
        """
        if self.data.images("train") is None:
            if not self._count(range(_TRIED)):
                raise ArgumentError(f"expected training texts that can be learned, got none in {_TRIED} images", "data")
            return Sampler(self._following, None, self.batch_size, seed, count=self._count)
        if not (size := sum(map(len, self._units))):
            raise ArgumentError("expected training texts that can be learned, got none", "data")
        return Sampler(self._encoded, size, self.batch_size, seed, count=len, order=self._order)

    def _order(self, drawn: torch.Generator) -> Tensor:
        """The numbers of an epoch's texts."""
        units = self._units
        order = torch.randperm(len(units), generator=drawn).tolist()
        return torch.tensor([index for place in order for index in units[place]])

    @cached_property
    def _units(self) -> list[list[int]]:
        units, most = list[list[int]](), self.batch_size
        for image in range(self.data.images("train") or 0):
            known = self._about(image)
            units += [known[first : first + most] for first in range(0, len(known), most)]
        return units

    @cached_property
    def _image(self) -> list[int]:
        """The number of the image that each text of a finite corpus is about."""
        found = [0] * (self.data.size("train") or 0)
        for image in range(self.data.images("train") or 0):
            for index in self.data.about("train", image):
                found[index] = image
        return found

    def _about(self, image: int) -> list[int]:
        """The numbers of the texts about an image that can be learned."""
        return list(filter(self.fits, self.data.about("train", image)))

    def _count(self, images: Sequence[int]) -> int:
        return sum(len(self._about(image)) for image in images)

    def _following(self, images: Sequence[int]) -> list[E]:
        """As many texts as 16 batches have, of some images and, where these have too few, of those that follow."""
        known = filter(None, map(self._about, count(images[0])))
        return list(islice(chain.from_iterable(map(self.encode, known)), POOL * self.batch_size))

    def _encoded(self, indices: Sequence[int]) -> list[E]:
        """The texts of some numbers."""
        together: dict[int, list[int]] = {}
        for index in indices:
            together.setdefault(self._image[index], []).append(index)
        with ThreadPoolExecutor(_WORKERS) as workers:
            texts = list(workers.map(self.encode, together.values()))
        found = dict(zip(chain.from_iterable(together.values()), chain.from_iterable(texts), strict=True))
        return [found[index] for index in indices]


def training_texts(data: Illustrated, most: int, endless: int) -> Sequence[int]:
    """Return the numbers of training texts, each once: of so many evenly apart, or of the first images without end.

    Args:
        data: the texts.
        most: how many there may be, where there is an end of them.
        endless: of how many images, where there is none.

    Example:
        >>> from saccade.tasks.caption.data import open_corpus
        >>> data = open_corpus("scenes", things=(1, 1))  # one sentence each, of four numbers
        >>> training_texts(data, 10, 3)
        [0, 4, 8]
    """
    size = data.size("train")
    if size is None:
        return [index for image in range(endless) for index in data.about("train", image)]
    return spread(size, most)


class Text(Protocol):
    """A text about an image, as far as the image goes."""

    @property
    def seen(self) -> Tensor | Features | None:
        """The image, uint8, or its features; None where a store has them, by its name."""

    @property
    def name(self) -> str:
        """Of the image, by which texts about one image are known; "" where it is an image of its own."""


def seen_together(
    found: Sequence[Text],
    store: FeatureStore | None = None,
    seed: int = 0,
    step: int = 0,
    *,
    mirrored: bool = False,
    shifted: int = 0,
) -> Visual:
    """Return the images that texts are about as models take them, each once.

    Args:
        found: the texts.
        store: of features, by the names of images, of texts that come without them.
        seed, step, mirrored, shifted: how images are changed at random, if they are: see
            `saccade.tasks.image.sight.visual`. All texts about an image see it changed alike.

    Example:
        >>> from saccade.tasks.caption.codec import Encoded
        >>> image = torch.full((1, 2, 2), 255, dtype=torch.uint8)
        >>> found = seen_together([Encoded(image, [7], "a"), Encoded(image, [8], "b"), Encoded(image, [9], "a")])
        >>> found.values.shape, found.about
        (torch.Size([2, 1, 2, 2]), tensor([0, 1, 0]))
    """
    places, about = _once([one.name for one in found])
    seen = [_seen(found[place], store) for place in places]
    return visual(seen, seed, step, mirrored=mirrored, shifted=shifted)._replace(about=about)


def _seen(text: Text, store: FeatureStore | None) -> Tensor | Features:
    if text.seen is not None:
        return text.seen
    assert store is not None, "what comes without an image has features in a store"
    return store.get(text.name)


def _once(names: Sequence[str]) -> tuple[list[int], Tensor | None]:
    """Where the image of each name stands first, and which of these each text is about; None where each has its own."""
    first, index, known = list[int](), list[int](), dict[str, int]()
    for place, name in enumerate(names):
        number = known.get(name) if name else None
        if number is None:
            number = known[name] = len(first)
            first.append(place)
        index.append(number)
    return first, torch.tensor(index) if len(first) < len(names) else None
