"""From examples to batches: examples of like length together, each batch a function of its step."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import chain
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from saccade.data.dataset import spread
from saccade.train.randomness import derive, generator

__all__ = ["POOL", "Cache", "Sampler", "Sized", "by_length", "in_batches", "rectangle"]

_LOOKED_AT = 1000  # examples whose sizes say how many make a batch
POOL = 16
"""Batches that are sorted by length together: enough for little padding, few enough to stay random."""


class Sized(Protocol):
    """An example, as far as batches of it go."""

    @property
    def size(self) -> int:
        """How much of a batch it takes: its tokens, or frames."""

    @property
    def order(self) -> Any:
        """What examples are sorted by within a stretch: first of all their size."""


E = TypeVar("E", bound=Sized)
T = TypeVar("T")


def by_length(sizes: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Group indices so that a group is of like sizes and takes at most `batch_tokens` when padded, or is a single one.

    >>> by_length([9, 2, 2, 3], 6)
    [[1, 2], [3], [0]]
    """
    groups: list[list[int]] = []
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        if groups and (len(groups[-1]) + 1) * sizes[index] <= batch_tokens:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def in_batches(sizes: Sequence[int], most: int, work: Callable[[list[int]], Sequence[T]]) -> list[T]:
    """Return what work makes of all indices, done for groups of like sizes, in the order of the indices.

    Args:
        sizes: of the examples.
        most: the size of a group, padding included; see `by_length`.
        work: from the indices of a group to a result each.

    Example:
        >>> in_batches([9, 2, 2, 3], 6, lambda places: [10 * place for place in places])
        [0, 10, 20, 30]
    """
    found: dict[int, T] = {}
    for places in by_length(sizes, most):
        found.update(zip(places, work(places), strict=True))
    return [found[place] for place in range(len(sizes))]


class Cache(Generic[T]):
    """What was made of indices, kept in memory until it takes so many bytes; anything else is made again each time.

    Args:
        make: makes it.
        most: bytes.
        nbytes: how many one takes.

    Example:
        >>> cache = Cache(lambda index: [index], 2, lambda item: 1)
        >>> cache.get(0) is cache.get(0), cache.get(1) is cache.get(1), cache.get(2) is cache.get(2)
        (True, True, False)
    """

    def __init__(self, make: Callable[[int], T], most: int, nbytes: Callable[[T], int]) -> None:
        self._make, self._left, self._nbytes, self._found = make, most, nbytes, dict[int, T]()
        self._lock = Lock()

    def get(self, index: int) -> T:
        """Return what is made of an index."""
        if index in self._found:
            return self._found[index]
        made = self._make(index)
        size = self._nbytes(made)
        with self._lock:  # several threads may make things beside one another
            if size <= self._left and index not in self._found:
                self._left -= size
                self._found[index] = made
        return made


class _Last(Generic[T]):
    """A function of a number that remembers its last few results."""

    def __init__(self, make: Callable[[int], T], count: int) -> None:
        self._make, self._count, self._found = make, count, dict[int, T]()

    def __call__(self, number: int) -> T:
        if number not in self._found:
            while len(self._found) >= self._count:
                del self._found[next(iter(self._found))]
            self._found[number] = self._make(number)
        return self._found[number]


def rectangle(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return rows of ids as one tensor `(rows, longest)`, padded by 0 behind their ends.

    >>> rectangle([[7, 8], [9]])
    tensor([[7, 8],
            [9, 0]])
    """
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    inside = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(inside.shape, np.int64)
    ids[inside] = np.fromiter(chain.from_iterable(rows), np.int64, lengths.sum())
    return torch.from_numpy(ids)


class Sampler(Generic[E]):
    """The training batches, in any order: batch n is the same whoever asks, and whatever was asked for before.

    Examples come in an endless row: of a finite corpus, one random order after another. A stretch of the row that has
    the tokens of 16 batches is sorted by length and cut into 16, of about as many tokens each, in random order.

    Args:
        encode: the examples at some indices of the training split that can be trained on: one at the least.
        size: how many indices there are, None where they are endless.
        batch_tokens: tokens a batch, about.
        seed: of the run.
        count: the tokens of the examples at some indices, where that is known without making them: the first look at
            the data then holds no images.
        order: the indices of an epoch, each once, as a generator draws them; None: as `torch.randperm` does.
    """

    def __init__(
        self,
        encode: Callable[[Sequence[int]], list[E]],
        size: int | None,
        batch_tokens: int,
        seed: int,
        *,
        count: Callable[[Sequence[int]], int] | None = None,
        order: Callable[[torch.Generator], Tensor] | None = None,
    ) -> None:
        self.encode, self.size, self.seed, self._drawn = encode, size, seed, order
        sample = range(_LOOKED_AT) if size is None else spread(size, _LOOKED_AT)
        tokens = sum(example.size for example in encode(sample)) if count is None else count(sample)
        self.pool_examples = max(POOL, round(POOL * batch_tokens * len(sample) / tokens))
        self._orders, self._pools = _Last(self._order, 2), _Last(self._pool, 1)

    def batch(self, step: int) -> list[E]:
        """Return the examples of one step."""
        return self._pools(step // POOL)[step % POOL]

    def _pool(self, number: int) -> list[list[E]]:
        """One stretch of the row, sorted and cut into batches in random order."""
        first = number * self.pool_examples
        found = self.encode([self._index(place) for place in range(first, first + self.pool_examples)])
        found = found * -(-POOL // len(found)) if len(found) < POOL else found  # one a batch at the least
        found = sorted(found, key=lambda example: example.order)
        groups = _cut([example.size for example in found])
        order = torch.randperm(POOL, generator=generator(self.seed, "pool", number)).tolist()
        return [[found[index] for index in groups[place]] for place in order]

    def _index(self, place: int) -> int:
        """Which example is at a place of the endless row."""
        if self.size is None:
            return derive(self.seed, "stream") % 2**32 + place
        epoch, offset = divmod(place, self.size)
        return int(self._orders(epoch)[offset])

    def _order(self, epoch: int) -> Tensor:
        assert self.size is not None
        drawn = generator(self.seed, "epoch", epoch)
        return torch.randperm(self.size, generator=drawn) if self._drawn is None else self._drawn(drawn)


def _cut(sizes: Sequence[int]) -> list[list[int]]:
    """Cut sorted sizes, 16 or more, into exactly 16 groups, the largest of which takes as few tokens as can be."""
    candidates = range(max(sizes), sum(sizes) + 1)
    budget = candidates[bisect_left(candidates, True, key=lambda tokens: len(by_length(sizes, tokens)) <= POOL)]
    groups = by_length(sizes, budget)
    while len(groups) < POOL:
        longest = groups.pop(max(range(len(groups)), key=lambda place: len(groups[place])))
        groups += [longest[: len(longest) // 2], longest[len(longest) // 2 :]]
    return groups
