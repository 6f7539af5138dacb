"""Attention of dot products and additive scores under intervals of keys, in kernels that never lay scores out: see
`compiled.fused`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from saccade.kernels.additive import bounds, packed
from saccade.kernels.threads import Kernel

__all__ = [
    "BLOCK",
    "Dealt",
    "Found",
    "Inputs",
    "Intervals",
    "Weights",
    "attention",
    "dealt_apart",
    "gradients",
    "intervals",
]

BLOCK = 24
"""Queries of a block, as the kernels have it."""

CHUNK = 240
"""Queries of a chunk at least: it copies its keys, which are an interval's length more than its queries."""

BUSY = 8
"""Chunks that there are in all at least, where they cannot be many: for any number of threads the same, since sums of
other chunks are rounded otherwise.
"""

_FAR = 1 << 62
"""The first key of nothing."""

FEW = 48
"""Queries of a chunk of additive scores, which cost more, and copy nothing."""

_forward, _backward = Kernel("fused:forward"), Kernel("fused_backward:backward")
_forward_additive, _backward_additive = Kernel("fused_additive:forward"), Kernel("fused_additive_backward:backward")


class Intervals(NamedTuple):
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
    def allowed(self) -> int:
        """How many pairs of a query and a key these are."""
        return int((self.ends - self.starts).clamp(min=0).sum())

    @property
    def computed(self) -> int:
        """How many are computed."""
        return BLOCK * int((self.highs - self.lows).clamp(min=0).sum())


class Dealt(NamedTuple):
    """How queries are dealt to threads.

    Args:
        chunk: queries of a chunk.
        keys: that a chunk has at most.
        chunks: of an entry.
        own: whether each chunk sums the gradients of keys in memory of its own; else every second one does so at once.
    """

    chunk: int
    keys: int
    chunks: int
    own: bool = False

    def sums(self, inputs: "Inputs") -> int:
        """Numbers that these sums take."""
        _, width, size = inputs.key.shape
        return self.chunks * inputs.entries * width * (size + inputs.value.shape[2])


def intervals(starts: Tensor, ends: Tensor) -> Intervals:
    """The blocks of queries with these intervals.

    Args:
        starts, ends: int64 `(N or 1, Lq)`, in one piece, within the keys.

    >>> intervals(torch.arange(100)[None], torch.arange(100)[None] + 9).widest
    32
    """
    some = starts < ends
    lows = _joined(starts.masked_fill(~some, _FAR), BLOCK, torch.amin, _FAR)
    highs = _joined(ends.masked_fill(~some, 0), BLOCK, torch.amax, 0)
    return Intervals(starts, ends, lows, highs, int((highs - lows).amax().clamp(min=0)))


def dealt(given: Intervals, chunk: int = CHUNK) -> Dealt:
    """Chunks of a size, a multiple of a block's."""
    first, last = _chunks(given, chunk)
    return Dealt(chunk, int((last - first).amax().clamp(min=0)), first.shape[-1])


def dealt_apart(given: Intervals, entries: int) -> Dealt:
    """Chunks that may add to the gradients of their keys at the same time: the smallest of which every second one has
    no key in common, or as few as keep threads busy, each with sums of its own.

    Args:
        given: of the queries.
        entries: of the batch.
    """
    chunk, length = CHUNK, given.starts.shape[-1]
    while chunk < length and not (chunk >= given.widest and _apart(*_chunks(given, chunk))):
        chunk *= 2
    if chunk < length or entries >= BUSY:
        return dealt(given, chunk)
    blocks = -(-length // BLOCK)
    return dealt(given, BLOCK * -(-blocks // -(-BUSY // entries)))._replace(own=True)


def _chunks(given: Intervals, chunk: int) -> tuple[Tensor, Tensor]:
    """The first key of each chunk and the end of the last."""
    blocks = chunk // BLOCK
    return _joined(given.lows, blocks, torch.amin, _FAR), _joined(given.highs, blocks, torch.amax, 0)


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

    def usable(self) -> bool:
        """Whether float32 holds them."""
        held = torch.finfo(torch.float32)
        return all(held.tiny <= number <= held.max for number in (self.scale / self.temperature, self.scale))

    def numbers(self) -> Tensor:
        """As the kernels read them: what a softmax multiplies products by, alpha - 1, and the scale."""
        numbers = [self.scale / self.temperature, np.float32(self.alpha) - np.float32(1), self.scale]
        return torch.tensor(numbers, dtype=torch.float32, device="cpu")


class Inputs(NamedTuple):
    """What is attended to.

    Args:
        query, key, value: `(N or 1, Lq, D)`, `(N or 1, Lk, D)`, `(N or 1, Lk, Dv)`, float32, each in one piece, D and
            Dv multiples of 16, Lq at least `BLOCK`.
        intervals: of `(N or 1, Lq)`.
        weights: how products become weights.
        uniform: u of draws, float32 `(N, Lq)` in one piece; None for expectations.
        entries: N.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    intervals: Intervals
    weights: Weights
    uniform: Tensor | None
    entries: int

    def table(self, dealt: Dealt, flag: Tensor) -> tuple["int | Tensor", ...]:
        """The beginning of the kernels' tables."""
        starts, ends = self.intervals.starts, self.intervals.ends
        tensors = self.query, self.key, self.value
        places = [0 if len(part) == 1 else part.stride(0) for part in tensors]
        offsets = torch.arange(self.entries, device="cpu")[:, None] * torch.tensor(places, device="cpu")
        sizes = self.query.shape[1], *self.key.shape[1:], self.value.shape[2]
        drawn = (0, 0) if self.uniform is None else (self.uniform, 1)
        step = 0 if len(starts) == 1 else starts.shape[1]
        most = dealt.chunk, dealt.keys, self.intervals.widest
        return (*tensors, offsets, starts, ends, step, self.weights.numbers(), *drawn, flag, *sizes, *most)


class Found(NamedTuple):
    """What a forward has found.

    Args:
        output: `(N, Lq, Dv)`.
        lse, entropy: `(N, Lq)`, of a softmax; of others the entropy alone, where it was asked for.
        top: the largest weights and which keys have them, `(N, Lq, many)`: 0 and -1 beyond those that there are.
        drawn: which keys were, `(N, Lq)`, -1 for none; empty of expectations.
    """

    output: Tensor
    lse: Tensor
    entropy: Tensor
    top: tuple[Tensor, Tensor]
    drawn: Tensor


def attention(inputs: Inputs, many: int = 0, *, entropy: bool = False, v: Tensor | None = None) -> Found | None:
    """Output and statistics; None where something of the output is not finite: a number that no query may see may have
    come into it, and this is no place to find out.

    Args:
        inputs: what is attended to.
        many: how many of the largest weights are wanted, of a softmax.
        entropy: whether it is wanted of what is no softmax.
        v: of additive scores, `(D,)` or `(N, D)`, in the place of dot products; D is any then.
    """
    query, rows = inputs.query, (inputs.entries, inputs.query.shape[1])
    output, values = query.new_empty(*rows, inputs.value.shape[2]), query.new_empty(*rows, many)
    lse, entropies = query.new_empty(rows), query.new_empty(rows)
    drawn = query.new_empty(rows if inputs.uniform is not None else 0, dtype=torch.int64)
    found = Found(output, lse, entropies, (values, torch.empty_like(values, dtype=torch.int64)), drawn)
    flag, chunks = torch.zeros(1, dtype=torch.uint8, device="cpu"), dealt(inputs.intervals, CHUNK if v is None else FEW)
    wanted = output, found.lse, found.entropy, *found.top, many, int(entropy), drawn
    table = *inputs.table(chunks, flag), *wanted
    if v is None:
        _forward(inputs.entries * chunks.chunks, *table)
    else:
        _forward_additive(inputs.entries * chunks.chunks, *table, *_additive(inputs, v))
    return None if flag.item() else found


def _additive(inputs: Inputs, v: Tensor) -> tuple[int | Tensor, ...]:
    """The end of the table for additive scores."""
    queries, keys = packed(inputs.query, room="additive queries"), packed(inputs.key, room="additive keys")
    whole = queries.shape[1] - 1
    v = torch.nn.functional.pad(v, (0, whole - v.shape[-1])).contiguous()
    sizes = whole, queries.stride(1), keys.stride(1)
    steps = (0 if len(part) == 1 else part.stride(0) for part in (queries, keys))
    return queries, keys, v, 0 if v.ndim == 1 else whole, bounds(torch.float32), *sizes, *steps


def gradients(
    inputs: Inputs, chunks: Dealt, grad: Tensor, *, scores: bool, values: bool, v: Tensor | None = None
) -> tuple[Tensor, ...] | None:
    """The gradients of query, key and value of each entry, and of v where there is one, from those of the output; None
    where something of them is not finite.

    Args:
        inputs: what was attended to.
        chunks: of its queries, from `dealt_apart`.
        grad: `(N, Lq, Dv)`, float32, in one piece.
        scores: whether those of query, key and v are wanted, which a draw does not have.
        values: whether those of the value are. What is not wanted is anything.
        v: of additive scores, as for `attention`.
    """
    entries, flag = len(grad), torch.zeros(1, dtype=torch.uint8, device="cpu")
    slots, step = (chunks.chunks, 1) if chunks.own else (1, 2)
    of_query = grad.new_empty(entries, *inputs.query.shape[1:])
    of_key, of_value = (grad.new_zeros(entries, slots, *part.shape[1:]) for part in (inputs.key, inputs.value))
    table = *inputs.table(chunks, flag), grad, of_query, of_key, of_value, int(scores), int(values), slots, step
    of_v = grad.new_empty(0 if v is None else entries, chunks.chunks, inputs.query.shape[2])
    kernel, table = (_backward, table) if v is None else (_backward_additive, (*table, *_additive(inputs, v), of_v))
    for first in range(min(step, chunks.chunks)):
        kernel(entries * -(-(chunks.chunks - first) // step), *table, first)
    if flag.item():
        return None
    of_key, of_value = (part[:, 0] if slots == 1 else part.sum(1) for part in (of_key, of_value))
    return (of_query, of_key, of_value) if v is None else (of_query, of_key, of_value, of_v.sum(1))
