"""From pairs to batches: pairs of like length together, so many tokens a batch, each batch a function of its step."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from saccade.errors import ArgumentError
from saccade.tasks.translate.corpus import Pair
from saccade.tasks.translate.tokenizer import BEGIN, END, PADDING, Tokenizer
from saccade.train.randomness import derive, generator

__all__ = ["Batch", "Encoded", "Sampler", "by_length", "encode", "pad", "spread"]

_POOL = 16  # batches that are sorted by length together: enough for little padding, few enough to stay random


class Encoded(NamedTuple):
    """The token ids of one pair, without begin and end."""

    source: list[int]
    target: list[int]

    @property
    def size(self) -> int:
        """The tokens it takes: its longer side, the end included."""
        return 1 + max(len(self.source), len(self.target))


def encode(pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer) -> list[Encoded]:
    """Return the token ids of pairs."""
    sources = source.encode_batch([pair.source for pair in pairs])
    return list(map(Encoded, sources, target.encode_batch([pair.target for pair in pairs])))


@dataclass(frozen=True)
class Batch:
    """Padded token ids.

    Args:
        source: `(batch, source_length)`, each sentence with its end.
        lengths: `(batch,)`, of the sources, ends included.
        target: `(batch, target_length)`, each with its begin and its end.
    """

    source: Tensor
    lengths: Tensor
    target: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.source.to(device), self.lengths.to(device), self.target.to(device))


def pad(pairs: Sequence[Encoded]) -> Batch:
    """Make a batch of pairs.

    >>> pad([Encoded([7, 8], [9]), Encoded([7], [9, 9])]).target
    tensor([[1, 9, 2, 0],
            [1, 9, 9, 2]])
    """
    sources = [[*pair.source, END] for pair in pairs]
    targets = [[BEGIN, *pair.target, END] for pair in pairs]
    return Batch(_rectangle(sources), torch.tensor(list(map(len, sources))), _rectangle(targets))


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


def spread(size: int, count: int) -> range:
    """Return at most `count` of the numbers below `size`, evenly apart: a sample of files that may be sorted.

    >>> list(spread(10, 4))
    [0, 3, 6, 9]
    """
    return range(0, size, max(1, -(-size // count)))


class Sampler:
    """The training batches, in any order: batch n is the same whoever asks, and whatever was asked for before.

    Examples come in an endless row: of a finite corpus, one random order after another. A stretch of the row that has
    the tokens of 16 batches is sorted by length and cut into 16, of about as many tokens each, in random order. Pairs
    that are too long are left out of their stretch.

    Args:
        encode: the encoded pairs at some indices of the training split.
        size: how many there are, None where they are endless.
        batch_tokens: tokens a batch, about: of each pair the longer side counts.
        seed: of the run.
        longest: the most tokens that a side may have.

    Raises:
        ArgumentError: if all pairs that are looked at are too long.
    """

    def __init__(
        self,
        encode: Callable[[Sequence[int]], list[Encoded]],
        size: int | None,
        batch_tokens: int,
        seed: int,
        longest: int = 2**31,
    ) -> None:
        self.encode, self.size, self.seed, self.longest = encode, size, seed, longest
        sample = range(1000) if size is None else spread(size, 1000)
        tokens = sum(pair.size for pair in self._fitting(sample))
        self.pool_examples = max(_POOL, round(_POOL * batch_tokens * len(sample) / tokens))
        self._order = lru_cache(2)(self._order)  # type: ignore[method-assign]
        self._pool = lru_cache(1)(self._pool)  # type: ignore[method-assign]

    def batch(self, step: int) -> list[Encoded]:
        """Return the pairs of one step."""
        return self._pool(step // _POOL)[step % _POOL]

    def _pool(self, number: int) -> list[list[Encoded]]:
        """One stretch of the row, sorted and cut into batches in random order."""
        first = number * self.pool_examples
        pairs = self._fitting([self._index(place) for place in range(first, first + self.pool_examples)])
        pairs = pairs * -(-_POOL // len(pairs)) if len(pairs) < _POOL else pairs  # a pair a batch at the least
        pairs.sort(key=lambda pair: (pair.size, len(pair.source)))
        groups = _cut([pair.size for pair in pairs])
        order = torch.randperm(_POOL, generator=generator(self.seed, "pool", number)).tolist()
        return [[pairs[index] for index in groups[place]] for place in order]

    def _fitting(self, indices: Sequence[int]) -> list[Encoded]:
        """The encoded pairs at some indices but for those that are too long."""
        pairs = [pair for pair in self.encode(indices) if pair.size <= self.longest + 1]
        if not pairs:
            seen = f"all of {len(indices)} training pairs have a side of more than {self.longest} tokens"
            raise ArgumentError(f"--max-length: {seen}; a larger one, or a larger --vocabulary-size, takes them in")
        return pairs

    def _index(self, place: int) -> int:
        """Which example is at a place of the endless row."""
        if self.size is None:
            return derive(self.seed, "stream") % 2**32 + place
        epoch, offset = divmod(place, self.size)
        return int(self._order(epoch)[offset])

    def _order(self, epoch: int) -> Tensor:
        assert self.size is not None
        return torch.randperm(self.size, generator=generator(self.seed, "epoch", epoch))


def _cut(sizes: Sequence[int]) -> list[list[int]]:
    """Cut sorted sizes, 16 or more, into exactly 16 groups, the largest of which takes as few tokens as can be."""
    candidates = range(max(sizes), sum(sizes) + 1)
    budget = candidates[bisect_left(candidates, True, key=lambda tokens: len(by_length(sizes, tokens)) <= _POOL)]
    groups = by_length(sizes, budget)
    while len(groups) < _POOL:
        longest = groups.pop(max(range(len(groups)), key=lambda place: len(groups[place])))
        groups += [longest[: len(longest) // 2], longest[len(longest) // 2 :]]
    return groups


def _rectangle(rows: Sequence[Sequence[int]]) -> Tensor:
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    inside = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(inside.shape, PADDING, np.int64)
    ids[inside] = np.fromiter(chain.from_iterable(rows), np.int64, lengths.sum())
    return torch.from_numpy(ids)
