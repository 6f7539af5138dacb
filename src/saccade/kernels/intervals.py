"""Intervals of keys, and how queries with intervals are dealt to threads."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

BLOCK = 24
"""Queries of a block, a multiple of the rows of a product's tile."""

CHUNK = 240
"""Queries of a chunk, at least. It copies their keys and an interval more."""

BUSY = 8
"""Chunks in all, at least. Independent of threads, so that sums round the same."""

_FAR = 1 << 62
"""The first key of an empty interval."""


class Intervals(NamedTuple):
    """Intervals of keys for queries.

    `starts` and `ends` are int64 `(N or 1, Lq)`, within the keys; empty unless start < end. `lows` and `highs` are the
    first key of each block of queries and the end of the last, `(N or 1, blocks)`, at most `widest` apart.
    """

    starts: Tensor
    ends: Tensor
    lows: Tensor
    highs: Tensor
    widest: int

    @classmethod
    def of(cls, starts: Tensor, ends: Tensor) -> "Intervals":
        allowed = starts < ends
        lows = _joined(starts.masked_fill(~allowed, _FAR), BLOCK, torch.amin, _FAR)
        highs = _joined(ends.masked_fill(~allowed, 0), BLOCK, torch.amax, 0)
        return cls(starts, ends, lows, highs, int((highs - lows).amax().clamp(min=0)))

    @property
    def allowed(self) -> int:
        return int((self.ends - self.starts).clamp(min=0).sum())

    @property
    def computed(self) -> int:
        return BLOCK * int((self.highs - self.lows).clamp(min=0).sum())


class Dealt(NamedTuple):
    """Chunks of queries of an entry for threads, each with at most `keys` keys.

    If `separate`, each chunk sums the gradients of keys in memory of its own. Else every second one does so at once.
    """

    chunk: int
    keys: int
    chunks: int
    separate: bool = False


def dealt(intervals: Intervals, chunk: int = CHUNK) -> Dealt:
    """Chunks of a size, a multiple of a block's."""
    first, last = _chunks(intervals, chunk)
    return Dealt(chunk, int((last - first).amax().clamp(min=0)), first.shape[-1])


def dealt_apart(intervals: Intervals, entries: int) -> Dealt:
    """Chunks that may add to the gradients of their keys at the same time.

    They are the smallest of which every second one has no key in common. Otherwise they are as few as keep threads
    busy, each with sums of its own.
    """
    chunk, length = CHUNK, intervals.starts.shape[-1]
    while chunk < length and not (chunk >= intervals.widest and _apart(*_chunks(intervals, chunk))):
        chunk *= 2
    if chunk < length or entries >= BUSY:
        return dealt(intervals, chunk)
    blocks = -(-length // BLOCK)
    return dealt(intervals, BLOCK * -(-blocks // -(-BUSY // entries)))._replace(separate=True)


def _chunks(intervals: Intervals, chunk: int) -> tuple[Tensor, Tensor]:
    """The first key of each chunk and the end of the last."""
    blocks = chunk // BLOCK
    return _joined(intervals.lows, blocks, torch.amin, _FAR), _joined(intervals.highs, blocks, torch.amax, 0)


def _joined(bounds: Tensor, size: int, join: Callable[..., Tensor], nothing: int) -> Tensor:
    """The least, or the largest, of `size` numbers one after another."""
    missing = -bounds.shape[-1] % size
    bounds = torch.nn.functional.pad(bounds, (0, missing), value=nothing) if missing else bounds
    return join(bounds.unflatten(-1, (-1, size)), -1)


def _apart(first: Tensor, last: Tensor) -> bool:
    """Whether no chunk shares a key with the second after it, or a later one."""
    following = first.flip(-1).cummin(-1).values.flip(-1)
    return bool((last[..., :-2] <= following[..., 2:]).all())
