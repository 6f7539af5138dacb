"""From pairs to batches: pairs of like length together, so many tokens a batch, each batch a function of its step."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.tasks.translate.tokenizer import BEGIN, END, PADDING
from saccade.train.randomness import derive, generator

__all__ = ["Batch", "Encoded", "Sampler", "by_length", "pad"]

_POOL = 16  # batches that are sorted by length together: enough for little padding, few enough to stay random


class Encoded(NamedTuple):
    """The token ids of one pair, without begin and end."""

    source: list[int]
    target: list[int]

    @property
    def size(self) -> int:
        """The tokens it takes: its longer side, the end included."""
        return 1 + max(len(self.source), len(self.target))


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
    return Batch(_rectangle(sources), torch.tensor([len(source) for source in sources]), _rectangle(targets))


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


class Sampler:
    """The training batches, in any order: batch n is the same whoever asks, and whatever was asked for before.

    Examples come in an endless row: of a finite corpus, one random order after another. A stretch of the row that has
    the tokens of 16 batches is sorted by length and cut into 16, of about as many tokens each, in random order.

    Args:
        example: the encoded pair at an index of the training split.
        size: how many there are, None where they are endless.
        batch_tokens: tokens a batch, about: of each pair the longer side counts.
        seed: of the run.
    """

    def __init__(self, example: Callable[[int], Encoded], size: int | None, batch_tokens: int, seed: int) -> None:
        self.example, self.size, self.seed = example, size, seed
        sample = range(1000 if size is None else min(size, 1000))
        mean = sum(example(index).size for index in sample) / len(sample)
        self.pool_examples = max(_POOL, round(_POOL * batch_tokens / mean))
        self._order = lru_cache(2)(self._order)  # type: ignore[method-assign]
        self._pool = lru_cache(1)(self._pool)  # type: ignore[method-assign]

    def batch(self, step: int) -> list[Encoded]:
        """Return the pairs of one step."""
        return self._pool(step // _POOL)[step % _POOL]

    def _pool(self, number: int) -> list[list[Encoded]]:
        """One stretch of the row, sorted and cut into batches in random order."""
        first = number * self.pool_examples
        pairs = [self.example(self._index(place)) for place in range(first, first + self.pool_examples)]
        pairs.sort(key=lambda pair: (pair.size, len(pair.source)))
        groups = _cut([pair.size for pair in pairs])
        order = torch.randperm(_POOL, generator=generator(self.seed, "pool", number)).tolist()
        return [[pairs[index] for index in groups[place]] for place in order]

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
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PADDING] * (width - len(row))] for row in rows])
