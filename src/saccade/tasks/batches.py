"""Batches of examples of like length, each a function of its step."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from saccade.data.dataset import spread
from saccade.train.randomness import derive, generator

__all__ = [
    "POOL",
    "Cache",
    "Sampler",
    "Sized",
    "batch_size",
    "by_length",
    "in_batches",
    "moved",
    "rectangle",
    "sampler_of",
]

_LOOKED_AT = 1000  # number of examples for the mean size of an example
POOL = 16
"""Batches of a pool: enough for little padding, few enough to stay random."""


class Sized(Protocol):
    """An example with a size."""

    @property
    def size(self) -> int:
        """Its tokens or frames in a batch."""

    @property
    def order(self) -> Any:
        """Sort key within a pool, the size first."""


E = TypeVar("E", bound=Sized)
T = TypeVar("T")


def by_length(sizes: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Group indices by size, with at most `batch_tokens` a padded group, or one index.

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


def in_batches(sizes: Sequence[int], batch_tokens: int, work: Callable[[list[int]], Sequence[T]]) -> list[T]:
    """Return a result for each index, in order, computed in groups of like sizes.

    Args:
        sizes: sizes of the examples.
        batch_tokens: size of a group with padding, see `by_length`.
        work: from the indices of a group to a result for each.

    Example:
        >>> in_batches([9, 2, 2, 3], 6, lambda indices: [10 * index for index in indices])
        [0, 10, 20, 30]
    """
    results: dict[int, T] = {}
    for indices in by_length(sizes, batch_tokens):
        results.update(zip(indices, work(indices), strict=True))
    return [results[index] for index in range(len(sizes))]


class Cache(Generic[T]):
    """A function of an index with a cache of limited bytes.

    If the cache is full, further results are computed each time.

    Args:
        make: the function.
        limit: size of the cache in bytes.
        nbytes: from a result to its size in bytes.

    Example:
        >>> cache = Cache(lambda index: [index], 2, lambda item: 1)
        >>> cache.get(0) is cache.get(0), cache.get(1) is cache.get(1), cache.get(2) is cache.get(2)
        (True, True, False)
    """

    def __init__(self, make: Callable[[int], T], limit: int, nbytes: Callable[[T], int]) -> None:
        self._make, self._left, self._nbytes, self._results = make, limit, nbytes, dict[int, T]()
        self._lock = Lock()

    def get(self, index: int) -> T:
        """Return the result of an index."""
        if index in self._results:
            return self._results[index]
        made = self._make(index)
        size = self._nbytes(made)
        with self._lock:  # threads may compute results at once
            if size <= self._left and index not in self._results:
                self._left -= size
                self._results[index] = made
        return made


class _Last(Generic[T]):
    """A function of a number with a cache of its last results."""

    def __init__(self, make: Callable[[int], T], count: int) -> None:
        self._make, self._count, self._results = make, count, dict[int, T]()

    def __call__(self, number: int) -> T:
        if number not in self._results:
            while len(self._results) >= self._count:
                del self._results[next(iter(self._results))]
            self._results[number] = self._make(number)
        return self._results[number]


def rectangle(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return rows of ids as one tensor `(rows, longest)`, padded by 0.

    >>> rectangle([[7, 8], [9]])
    tensor([[7, 8],
            [9, 0]])
    """
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    inside = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(inside.shape, np.int64)
    ids[inside] = np.fromiter(chain.from_iterable(rows), np.int64, lengths.sum())
    return torch.from_numpy(ids)


def moved(batch: Any, device: torch.device) -> Any:
    """Return a batch on a device: tensors, and tuples of them.

    >>> moved((torch.zeros(2), (torch.ones(1),)), torch.device("meta"))[1][0].device
    device(type='meta')
    """
    return batch.to(device) if hasattr(batch, "to") else tuple(moved(part, device) for part in batch)


class Sampler(Generic[E]):
    """Training batches in any order: a batch is a function of its step.

    Examples come in an endless row. That of a finite corpus is one random order after another. A pool, a stretch of the
    row with the tokens of 16 batches, is sorted by length and cut into 16 batches of about as many tokens each. These
    come in random order.

    Args:
        encode: from indices of the training split to usable examples, one or more.
        size: number of indices, or None if they are endless.
        batch_tokens: approximate tokens of a batch.
        seed: seed of the run.
        count: from indices to the tokens of their examples, if it needs no examples. Then the sampler decodes no images
            before its first batch.
        order: from a generator to the indices of an epoch. Default: `torch.randperm`.
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
        """Return a stretch of the row, sorted and cut into batches in random order."""
        first = number * self.pool_examples
        pool = self.encode([self._index(position) for position in range(first, first + self.pool_examples)])
        pool = pool * -(-POOL // len(pool)) if len(pool) < POOL else pool  # each batch has an example
        pool = sorted(pool, key=lambda example: example.order)
        groups = _cut([example.size for example in pool])
        order = torch.randperm(POOL, generator=generator(self.seed, "pool", number)).tolist()
        return [[pool[index] for index in groups[group]] for group in order]

    def _index(self, position: int) -> int:
        """Return the index of the example at a position of the endless row."""
        if self.size is None:
            return derive(self.seed, "stream") % 2**32 + position
        epoch, offset = divmod(position, self.size)
        return int(self._orders(epoch)[offset])

    def _order(self, epoch: int) -> Tensor:
        assert self.size is not None
        drawn = generator(self.seed, "epoch", epoch)
        return torch.randperm(self.size, generator=drawn) if self._drawn is None else self._drawn(drawn)


def _cut(sizes: Sequence[int]) -> list[list[int]]:
    """Cut sorted sizes into 16 groups with the smallest maximum of tokens."""
    candidates = range(max(sizes), sum(sizes) + 1)
    budget = candidates[bisect_left(candidates, True, key=lambda tokens: len(by_length(sizes, tokens)) <= POOL)]
    groups = by_length(sizes, budget)
    while len(groups) < POOL:
        longest = groups.pop(max(range(len(groups)), key=lambda group: len(groups[group])))
        groups += [longest[: len(longest) // 2], longest[len(longest) // 2 :]]
    return groups


def sampler_of(job: Any) -> Sampler[Any]:
    """Return batches for training: about `batch_tokens` words or `batch_size` samples."""
    encode, size, settings = partial(job.samples, "train"), job.data.size("train"), job.settings
    if hasattr(settings, "batch_tokens"):
        return Sampler(encode, size, settings.batch_tokens, settings.seed)
    return Sampler(encode, size, settings.batch_size, settings.seed, count=len)


def batch_size(settings: Any, longest: int) -> int:
    """Return the size of a training batch by the options of a run, padding included."""
    return settings.batch_tokens if hasattr(settings, "batch_tokens") else settings.batch_size * longest  # type: ignore[no-any-return]
