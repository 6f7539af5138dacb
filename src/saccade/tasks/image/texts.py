"""Texts about images, such as captions or questions, in batches by image."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, count, islice
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from saccade.data.dataset import spread
from saccade.data.naming import Names
from saccade.errors import ArgumentError
from saccade.models.image_encoder import Visual
from saccade.tasks.batches import POOL, Sampler, Sized
from saccade.tasks.image.features.store import Features, FeatureStore
from saccade.tasks.image.sight import visual

__all__ = ["TextsByImage", "by_image", "open_texts", "seen_together", "training_texts"]

E = TypeVar("E", bound=Sized)

_WORKERS = min(8, os.cpu_count() or 1)  # threads that decode images outside Python's lock
_TRIED = 100  # first images of an endless split, at least one of which needs a text that fits


@dataclass(frozen=True)
class TextsByImage(Generic[E]):
    """Training texts that can be learned, in batches.

    An epoch is a random order of units. A unit is all texts about an image, or `batch_size` of them if there are more.
    The texts of all units in a row are cut into batches. Where a cut goes through a unit, its image is in two batches.
    Endless images come in their own order.

    Args:
        data: texts, with `size` of a split, its number of `images`, and the indices `about` each.
        fits: whether the text of an index can be learned.
        encode: from indices of texts about one image to samples.
        batch_size: texts per batch.

    Example:
        >>> from saccade.tasks.caption.codec import Encoded
        >>> from saccade.tasks.caption.data import open_corpus
        >>> data, image = open_corpus("scenes"), torch.zeros(3, 8, 8)
        >>> texts = TextsByImage(data, lambda index: True, lambda rows: [Encoded(image, [row]) for row in rows], 6)
        >>> [len(texts.sampler(seed=1).batch(step)) for step in range(3)]
        [6, 6, 6]
    """

    data: Any
    fits: Callable[[int], bool]
    encode: Callable[[Sequence[int]], list[E]]
    batch_size: int

    def sampler(self, seed: int) -> Sampler[E]:
        """Return batches by step, or raise an `ArgumentError` without texts that fit."""
        if self.data.images("train") is None:
            if not self._count(range(_TRIED)):
                raise ArgumentError(f"expected training texts that can be learned, got none in {_TRIED} images", "data")
            return Sampler(self._following, None, self.batch_size, seed, count=self._count)
        if not (size := sum(map(len, self._texts))):
            raise ArgumentError("expected training texts that can be learned, got none", "data")
        return Sampler(self._encoded, size, self.batch_size, seed, count=len, order=self._order)

    def _order(self, drawn: torch.Generator) -> Tensor:
        """Indices of the texts of an epoch."""
        size = self.batch_size
        units = [texts[first : first + size] for texts in self._texts for first in range(0, len(texts), size)]
        order = torch.randperm(len(units), generator=drawn).tolist()
        return torch.tensor([index for number in order for index in units[number]])

    @cached_property
    def _texts(self) -> list[list[int]]:
        return list(map(self._about, range(self.data.images("train") or 0)))

    @cached_property
    def _image(self) -> dict[int, int]:
        """Index of the image of each text that can be learned."""
        return {index: image for image, texts in enumerate(self._texts) for index in texts}

    def _about(self, image: int) -> list[int]:
        return list(filter(self.fits, self.data.about("train", image)))

    def _count(self, images: Sequence[int]) -> int:
        return sum(len(self._about(image)) for image in images)

    def _following(self, images: Sequence[int]) -> list[E]:
        """Samples for 16 batches, from an image on."""
        texts = filter(None, map(self._about, count(images[0])))
        return list(islice(chain.from_iterable(map(self.encode, texts)), POOL * self.batch_size))

    def _encoded(self, indices: Sequence[int]) -> list[E]:
        together: dict[int, list[int]] = {}
        for index in indices:
            if index not in self._image:
                raise ArgumentError(f"text {index}: expected one that can be learned", "data")
            together.setdefault(self._image[index], []).append(index)
        with ThreadPoolExecutor(_WORKERS) as workers:
            texts = list(workers.map(self.encode, together.values()))
        samples = dict(zip(chain.from_iterable(together.values()), chain.from_iterable(texts), strict=True))
        return [samples[index] for index in indices]


def by_image(job: Any) -> Sampler[Any]:
    """Return batches of texts by image, by `fits` and `learned` of the codec."""
    codec, data, options = job.codec, job.data, job.settings
    texts = TextsByImage(data, partial(codec.fits, data), partial(codec.learned, data), options.batch_size)
    return texts.sampler(options.seed)


def open_texts(make: Callable[..., Any], builtin: Iterable[str], options: Any, objects: Any) -> Any:
    """Open texts about images, or about features of a store, by the options of a run.

    Args:
        make: from --data, --size, Python objects and the names of splits to the data.
        builtin: names of built-in data.
        options: of the run.
        objects: Python objects, if data are some.
    """
    if options.data not in builtin:
        options.refuse_given(("least", "most", "data_seed"), "only with --data scenes")
    store, names = options.open_features(), Names.of_options(options)
    scenes = {"things": (options.least, options.most), "seed": options.data_seed}
    return make(options.data, options.size, objects, names, known=None if store is None else store.has, **scenes)


def training_texts(data: Any, limit: int, endless: int) -> Sequence[int]:
    """Return indices of training texts, evenly apart, or of the first images.

    Args:
        data: the texts.
        limit: number of texts of a finite split.
        endless: number of images of an endless split.

    Example:
        >>> from saccade.tasks.caption.data import open_corpus
        >>> data = open_corpus("scenes", things=(1, 1))  # one sentence each, at four indices
        >>> training_texts(data, 10, 3)
        [0, 4, 8]
    """
    size = data.size("train")
    if size is None:
        return [index for image in range(endless) for index in data.about("train", image)]
    return spread(size, limit)


def seen_together(samples: Sequence[Any], store: FeatureStore | None = None, *changes: int, **kinds: Any) -> Visual:
    """Batch the images of texts, without duplicates, as the input of a model.

    Args:
        samples: texts with `seen`, their image, uint8, or features, or None for features of the store. Their `name` is
            that of the image, or "" if no other text has the image.
        store: of features by names of images.
        changes, kinds: see `saccade.tasks.image.sight.visual`. All texts about an image share its changes.

    Example:
        >>> from saccade.tasks.caption.codec import Encoded
        >>> image = torch.full((1, 2, 2), 255, dtype=torch.uint8)
        >>> images = seen_together([Encoded(image, [7], "a"), Encoded(image, [8], "b"), Encoded(image, [9], "a")])
        >>> images.values.shape, images.about
        (torch.Size([2, 1, 2, 2]), tensor([0, 1, 0]))
    """
    distinct, about, numbers = list[Tensor | Features](), list[int](), dict[str, int]()
    for sample in samples:
        number = numbers.get(sample.name) if sample.name else None
        if number is None:
            number = numbers[sample.name] = len(distinct)
            assert sample.seen is not None or store is not None, "a text without an image has features in a store"
            distinct.append(store.get(sample.name) if sample.seen is None else sample.seen)  # type: ignore[union-attr]
        about.append(number)
    images = visual(distinct, *changes, **kinds)
    return images._replace(about=torch.tensor(about) if len(distinct) < len(samples) else None)
