"""The training questions in the order in which they are learned, those about one image side by side."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import Generic, TypeVar

import torch
from torch import Tensor

from saccade.tasks.answer.data.corpus import Asked, Corpus
from saccade.tasks.batches import POOL, Sampler, Sized

__all__ = ["Learned"]

E = TypeVar("E", bound=Sized)


@dataclass(frozen=True)
class Learned(Generic[E]):
    """The training questions of which an answer is known, and batches of them.

    An epoch is a random order of units: a unit is all that is asked about an image, or as many questions of that as a
    batch has, and then an image has several. The row of their questions is cut into batches, so that these have as
    many questions as they shall, however many there are about an image; where a cut goes through a unit, its image is
    in two batches. Where there is no end of images, they come in their own order.

    Args:
        data: the questions.
        knows: whether an answer can be learned.
        encode: a question as a batch takes it.
        batch_size: questions a batch.

    Example:
        >>> from saccade.tasks.answer.batches import Encoded
        >>> from saccade.tasks.answer.data import open_corpus
        >>> known = Learned(open_corpus("scenes"), lambda answer: True, lambda one: Encoded(one.image, [7], {}), 6)
        >>> [len(known.sampler(seed=1).batch(step)) for step in range(3)]
        [6, 6, 6]
    """

    data: Corpus
    knows: Callable[[str], bool]
    encode: Callable[[Asked], E]
    batch_size: int

    def sampler(self, seed: int) -> Sampler[E]:
        """Return what maps steps to batches."""
        if self.data.images("train") is None:
            return Sampler(self._following, None, self.batch_size, seed, count=self._count)
        size = sum(map(len, self._units))
        return Sampler(self._encoded, size, self.batch_size, seed, count=len, order=self._order)

    def _order(self, drawn: torch.Generator) -> Tensor:
        """The numbers of an epoch's questions."""
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
        """The number of the image that each question of a finite corpus is about."""
        found = [0] * (self.data.size("train") or 0)
        for image in range(self.data.images("train") or 0):
            for index in self.data.about("train", image):
                found[index] = image
        return found

    def _about(self, image: int) -> list[int]:
        """The numbers of the questions about an image of which an answer is known."""
        posed, about = self.data.posed, self.data.about("train", image)
        return [index for index in about if any(map(self.knows, posed("train", index).answers))]

    def _count(self, images: Sequence[int]) -> int:
        return sum(len(self._about(image)) for image in images)

    def _following(self, images: Sequence[int]) -> list[E]:
        """As many questions as 16 batches have, of some images and, where these have too few, of those that follow."""
        asked = (one for image in count(images[0]) for one in self._asked(self._about(image)))
        return list(map(self.encode, islice(asked, POOL * self.batch_size)))

    def _encoded(self, indices: Sequence[int]) -> list[E]:
        """The questions of some numbers."""
        together: dict[int, list[int]] = {}
        for index in indices:
            together.setdefault(self._image[index], []).append(index)
        found = {one: asked for own in together.values() for one, asked in zip(own, self._asked(own), strict=True)}
        return [self.encode(found[index]) for index in indices]

    def _asked(self, indices: Sequence[int]) -> Iterator[Asked]:
        """Questions about one image, which is made or decoded once for all of them."""
        data = self.data
        first = data.example("train", indices[0]) if indices else None
        for index in indices:
            assert first is not None
            yield first._replace(posed=data.posed("train", index), boxes=())
