"""Attention of dot products under intervals of keys, in kernels that never lay scores out: see `compiled.band`."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from saccade.kernels.threads import Kernel

__all__ = ["BLOCK", "Band", "Dealt", "Found", "Inputs", "Weights", "attention", "band", "dealt_apart", "gradients"]

BLOCK = 24
"""Queries of a block, as the kernels have it."""

CHUNK = 240
"""Queries of a chunk at least: it copies its keys, which are an interval's length more than its queries."""

_FAR = 1 << 62
"""The first key of nothing."""

_forward, _backward = Kernel("band:forward"), Kernel("band_backward:backward")


class Band(NamedTuple):
    """Which keys each query may attend to.

    Args:
        starts, ends: of the interval of each query, int64 `(N or 1, Lq)`, within the keys; empty where not start < end.
        lows, highs: the first key of each block of queries and the end of the last, `(N or 1, blocks)`.
        widest: keys that a block has at most.
    """

    starts: Tensor
    ends: Tensor
    lows: Tensor
    highs: Tensor
    widest: int

    @property
    def pairs(self) -> int:
        """How many pairs of a query and a key are computed, of one entry for each row of the intervals."""
        return BLOCK * int((self.highs - self.lows).clamp(min=0).sum())


class Dealt(NamedTuple):
    """How queries are dealt to threads.

    Args:
        chunk: queries of a chunk.
        keys: that a chunk has at most.
        chunks: of an entry.
    """

    chunk: int
    keys: int
    chunks: int


def band(starts: Tensor, ends: Tensor) -> Band:
    """The blocks of queries with these intervals.

    Args:
        starts, ends: int64 `(N or 1, Lq)`, in one piece, within the keys.

    >>> band(torch.arange(100)[None], torch.arange(100)[None] + 9).widest
    32
    """
    some = starts < ends
    lows = _joined(starts.masked_fill(~some, _FAR), BLOCK, torch.amin, _FAR)
    highs = _joined(ends.masked_fill(~some, 0), BLOCK, torch.amax, 0)
    return Band(starts, ends, lows, highs, int((highs - lows).amax().clamp(min=0)))


def dealt(band: Band, chunk: int = CHUNK) -> Dealt:
    """Chunks of a size, a multiple of a block's."""
    first, last = _chunks(band, chunk)
    return Dealt(chunk, int((last - first).amax().clamp(min=0)), first.shape[-1])


def dealt_apart(band: Band) -> Dealt:
    """The smallest chunks of which every second one has no key in common, for all to add to their keys' gradients."""
    chunk, length = CHUNK, band.starts.shape[-1]
    while chunk < length and not (chunk >= band.widest and _apart(*_chunks(band, chunk))):
        chunk *= 2
    return dealt(band, chunk)


def _chunks(band: Band, chunk: int) -> tuple[Tensor, Tensor]:
    """The first key of each chunk and the end of the last."""
    blocks = chunk // BLOCK
    return _joined(band.lows, blocks, torch.amin, _FAR), _joined(band.highs, blocks, torch.amax, 0)


def _joined(bounds: Tensor, size: int, join: Callable[..., Tensor], nothing: int) -> Tensor:
    """The least, or the largest, of `size` numbers one after another."""
    missing = -bounds.shape[-1] % size
    bounds = torch.nn.functional.pad(bounds, (0, missing), value=nothing) if missing else bounds
    return join(bounds.unflatten(-1, (-1, size)), -1)


def _apart(first: Tensor, last: Tensor) -> bool:
    """Whether no chunk ends beyond the first key of any chunk from the second after it on."""
    following = first.flip(-1).cummin(-1).values.flip(-1)
    return bool((last[..., :-2] <= following[..., 2:]).all())


class Weights(NamedTuple):
    """How products become weights.

    Args:
        temperature: of a softmax.
        alpha: 1 of softmax, 2 of sparsemax, any other of entmax.
        scale: what products are multiplied by, above 0.
    """

    temperature: float = 1.0
    alpha: float = 1.0
    scale: float = 1.0

    def numbers(self) -> Tensor:
        """As the kernels read them."""
        factor = self.scale / self.temperature
        return torch.tensor([factor, np.float32(self.alpha) - np.float32(1), self.scale], device="cpu")


class Inputs(NamedTuple):
    """What is attended to.

    Args:
        query, key, value: `(N or 1, Lq, D)`, `(N or 1, Lk, D)`, `(N or 1, Lk, Dv)`, float32, each in one piece, D and
            Dv multiples of 16, Lq at least `BLOCK`.
        band: the intervals, of `(N or 1, Lq)`.
        weights: how products become weights.
        uniform: u of draws, float32 `(N, Lq)` in one piece; None for expectations.
        entries: N.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    band: Band
    weights: Weights
    uniform: Tensor | None
    entries: int

    def table(self, dealt: Dealt, flag: Tensor) -> tuple["int | Tensor", ...]:
        """The beginning of the kernels' tables."""
        starts, ends = self.band.starts, self.band.ends
        tensors = self.query, self.key, self.value
        places = [0 if len(part) == 1 else part.stride(0) for part in tensors]
        offsets = torch.arange(self.entries, device="cpu")[:, None] * torch.tensor(places, device="cpu")
        sizes = self.query.shape[1], *self.key.shape[1:], self.value.shape[2]
        drawn = (0, 0) if self.uniform is None else (self.uniform, 1)
        step = 0 if len(starts) == 1 else starts.shape[1]
        return (*tensors, offsets, starts, ends, step, self.weights.numbers(), *drawn, flag, *sizes, dealt.chunk, dealt.keys, self.band.widest)


class Found(NamedTuple):
    """What a forward has found.

    Args:
        output: `(N, Lq, Dv)`.
        lse, entropy: `(N, Lq)`, of a softmax; of others the entropy alone, where it was asked for.
        top: the largest weights and which keys have them, `(N, Lq, many)`: 0 and -1 beyond those that there are.
        index: which keys were drawn, `(N, Lq)`, -1 for none; empty of expectations.
    """

    output: Tensor
    lse: Tensor
    entropy: Tensor
    top: tuple[Tensor, Tensor]
    index: Tensor


def attention(inputs: Inputs, many: int = 0, *, entropy: bool = False) -> Found | None:
    """Output and statistics; None where something of the output is not finite: a number that no query may see may have
    come into it, and this is no place to find out.

    Args:
        inputs: what is attended to.
        many: how many of the largest weights are wanted, of a softmax.
        entropy: whether it is wanted of what is no softmax.
    """
    query, rows = inputs.query, (inputs.entries, inputs.query.shape[1])
    output, index = query.new_empty(*rows, inputs.value.shape[2]), query.new_empty(0, dtype=torch.int64)
    index = index if inputs.uniform is None else query.new_empty(rows, dtype=torch.int64)
    lse, values = query.new_empty(rows), query.new_empty(*rows, many)
    found = Found(output, lse, query.new_empty(rows), (values, torch.empty_like(values, dtype=torch.int64)), index)
    flag, chunks = torch.zeros(1, dtype=torch.uint8, device="cpu"), dealt(inputs.band)
    wanted = found.lse, found.entropy, *found.top, many, int(entropy), found.index
    _forward(inputs.entries * chunks.chunks, *inputs.table(chunks, flag), output, *wanted)
    return None if flag.item() else found


def gradients(inputs: Inputs, chunks: Dealt, grad: Tensor, *, scores: bool, values: bool) -> tuple[Tensor, Tensor, Tensor] | None:
    """The gradients of query, key and value of each entry, from those of the output; None where something of them is
    not finite.

    Args:
        inputs: what was attended to.
        chunks: of its queries, from `dealt_apart`.
        grad: `(N, Lq, Dv)`, float32, in one piece.
        scores: whether those of query and key are wanted, which a draw does not have.
        values: whether those of the value are. What is not wanted is anything.
    """
    entries, flag = len(grad), torch.zeros(1, dtype=torch.uint8, device="cpu")
    of_query = grad.new_empty(entries, *inputs.query.shape[1:])
    of_key, of_value = (grad.new_zeros(entries, *part.shape[1:]) for part in (inputs.key, inputs.value))
    table = *inputs.table(chunks, flag), grad, of_query, of_key, of_value, int(scores), int(values)
    for first in range(min(2, chunks.chunks)):
        _backward(entries * ((chunks.chunks - first + 1) // 2), *table, first)
    return None if flag.item() else (of_query, of_key, of_value)
