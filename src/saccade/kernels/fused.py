"""Attention under intervals of keys, without a matrix of scores: `compiled.fused`."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from saccade.kernels.additive import bounds
from saccade.kernels.intervals import BLOCK, BUSY, CHUNK, Dealt, Intervals, dealt
from saccade.kernels.packing import packed
from saccade.kernels.threads import Kernel

FEW = 48
"""Queries of a chunk of additive scores: they cost more and copy nothing."""


class Weights(NamedTuple):
    """Normalization of products: the entmax family with α.

    The scale is above 0. The temperature divides products of a softmax, α = 1. α = 2 is sparsemax.
    """

    temperature: float = 1.0
    alpha: float = 1.0
    scale: float = 1.0

    def usable(self) -> bool:
        held = torch.finfo(torch.float32)
        return all(held.tiny <= number <= held.max for number in (self.scale / self.temperature, self.scale))

    def numbers(self) -> Tensor:
        """[Factor of a softmax's products, alpha - 1, the scale], for kernels."""
        numbers = [self.scale / self.temperature, np.float32(self.alpha) - np.float32(1), self.scale]
        return torch.tensor(numbers, dtype=torch.float32, device="cpu")


class InputTable(NamedTuple):
    """First part of the tables. A block is a chunk of queries of an entry."""

    query: Tensor
    key: Tensor
    value: Tensor
    offsets: Tensor  # where the three of each entry begin, in numbers, `(entries, 3)`
    starts: Tensor
    ends: Tensor
    interval_stride: int  # from one entry's intervals to the next
    parameters: Tensor  # from `Weights.numbers`
    uniform: Tensor | None  # of draws
    infinite: Tensor  # A byte that becomes 1 if a result is not finite
    length: int
    width: int
    features: int
    out: int  # features of values
    chunk: int  # queries of a chunk
    chunk_keys: int  # keys of a chunk, at most
    block_keys: int  # keys of a block, at most


class Forward(NamedTuple):
    inputs: InputTable
    output: Tensor
    lse: Tensor  # written of a softmax alone
    entropy: Tensor
    values: Tensor  # the largest weights
    indices: Tensor
    drawn: Tensor
    received: Tensor | None  # sums of the weights of each chunk over its queries, added to
    many: int  # how many of the largest weights of a row are written
    measures_entropy: bool  # whether entropies are written that do not come with the weights, as those of a softmax do


class Backward(NamedTuple):
    """Table of the gradients. Those of keys and values are added to."""

    inputs: InputTable
    grad: Tensor
    query_grad: Tensor
    key_grad: Tensor
    value_grad: Tensor
    needs_scores: bool  # whether the gradients of query and key are needed
    needs_values: bool
    slots: int  # sums of the gradients of keys and values that an entry has
    step: int  # from one chunk that is done to the next
    first: int  # the first chunk that is done


class AdditiveTable(NamedTuple):
    queries: Tensor  # from `packed`
    keys: Tensor
    v: Tensor  # with zeros up to `whole`
    v_stride: int
    bounds: Tensor
    whole: int  # features of the packed tensors
    query_columns: int
    key_columns: int
    query_stride: int  # from one entry of the packed queries to the next
    key_stride: int


class ForwardAdditive(NamedTuple):
    forward: Forward
    additive: AdditiveTable


class BackwardAdditive(NamedTuple):
    """Table of the gradients of additive scores. Each chunk has its own sum for v."""

    backward: Backward
    additive: AdditiveTable
    v_grad: Tensor


_forward, _backward = Kernel("fused.forward", Forward), Kernel("fused_backward.backward", Backward)
_forward_additive = Kernel("fused_additive.forward", ForwardAdditive)
_backward_additive = Kernel("fused_additive_backward.backward", BackwardAdditive)


class Inputs(NamedTuple):
    """Tensors of a call of N entries.

    `query`, `key` and `value` are `(N or 1, Lq, D)`, `(N or 1, Lk, D)`, `(N or 1, Lk, Dv)`, float32, each in one piece,
    D and Dv multiples of 16, Lq at least `BLOCK`. `intervals` are `(N or 1, Lq)`, and `uniform` u of draws, float32
    `(N, Lq)` in one piece; None for expectations.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    intervals: Intervals
    weights: Weights
    uniform: Tensor | None
    entries: int

    def sums(self, dealt: Dealt) -> int:
        """Numbers of the sums of gradients, if each chunk has its own."""
        _, width, size = self.key.shape
        return dealt.chunks * self.entries * width * (size + self.value.shape[2])

    def table(self, dealt: Dealt, infinite: Tensor) -> InputTable:
        starts, ends = self.intervals.starts, self.intervals.ends
        strides = [0 if len(part) == 1 else part.stride(0) for part in (self.query, self.key, self.value)]
        offsets = torch.arange(self.entries, device="cpu")[:, None] * torch.tensor(strides, device="cpu")
        interval_stride = 0 if len(starts) == 1 else starts.shape[1]
        tensors = self.query, self.key, self.value, offsets, starts, ends, interval_stride, self.weights.numbers()
        length, (_, width, features), out = self.query.shape[1], self.key.shape, self.value.shape[2]
        dealing = dealt.chunk, dealt.keys, self.intervals.widest
        return InputTable(*tensors, self.uniform, infinite, length, width, features, out, *dealing)


class Results(NamedTuple):
    """Results of a forward.

    `output` is `(N, Lq, Dv)`, `lse` and `entropy` of a softmax `(N, Lq)`. Of other weights there is the entropy alone,
    if it was requested. `top` is the largest weights and their keys `(N, Lq, many)`: 0 and -1 beyond the number of
    keys. `drawn` is `(N, Lq)`, -1 for none; empty for expectations. `received`, the weights summed over queries, is
    `(N, Lk)`; None if not requested.
    """

    output: Tensor
    lse: Tensor
    entropy: Tensor
    top: tuple[Tensor, Tensor]
    drawn: Tensor
    received: Tensor | None


def dealt_forward(inputs: Inputs, *, received: bool, additive: bool) -> Dealt:
    """Chunks of a forward: at most `BUSY` of an entry if each has sums of its own."""
    chunk = FEW if additive else CHUNK
    if received:
        blocks = -(-inputs.query.shape[1] // BLOCK)
        chunk = max(chunk, BLOCK * -(-blocks // BUSY))
    return dealt(inputs.intervals, chunk)


def attention(
    inputs: Inputs, many: int = 0, *, entropy: bool = False, received: bool = False, v: Tensor | None = None
) -> Results | None:
    """Output and statistics, or None if some output is not finite.

    Numbers of keys that are not allowed may cause that. The kernel does not check which. With `v`, `(D,)` or `(N, D)`,
    scores are additive and D is any. `entropy` is whether to measure it of weights that are no softmax. Values of no
    feature have no output: then a softmax is required, and its entropies are checked.
    """
    query, rows = inputs.query, (inputs.entries, inputs.query.shape[1])
    output, values = query.new_empty(*rows, inputs.value.shape[2]), query.new_empty(*rows, many)
    lse, entropies, indices = query.new_empty(rows), query.new_empty(rows), torch.empty_like(values, dtype=torch.int64)
    drawn = query.new_empty(rows if inputs.uniform is not None else 0, dtype=torch.int64)
    infinite = torch.zeros(1, dtype=torch.uint8, device="cpu")
    chunks = dealt_forward(inputs, received=received, additive=v is not None)
    sums = query.new_zeros(inputs.entries, chunks.chunks, inputs.key.shape[1]) if received else None
    results = output, lse, entropies, values, indices, drawn, sums
    table = Forward(inputs.table(chunks, infinite), *results, many, entropy)
    if v is None:
        _forward(inputs.entries * chunks.chunks, table)
    else:
        _forward_additive(inputs.entries * chunks.chunks, ForwardAdditive(table, _additive(inputs, v)))
    if infinite.item():
        return None
    return Results(output, lse, entropies, (values, indices), drawn, None if sums is None else sums.sum(1))


def _additive(inputs: Inputs, v: Tensor) -> AdditiveTable:
    queries, keys = packed(inputs.query, room="additive queries"), packed(inputs.key, room="additive keys")
    whole = queries.shape[1] - 1
    v = torch.nn.functional.pad(v, (0, whole - v.shape[-1])).contiguous()
    sizes = whole, queries.stride(1), keys.stride(1)
    strides = (0 if len(part) == 1 else part.stride(0) for part in (queries, keys))
    return AdditiveTable(queries, keys, v, 0 if v.ndim == 1 else whole, bounds(torch.float32), *sizes, *strides)


def gradients(
    inputs: Inputs, chunks: Dealt, grad: Tensor, *, scores: bool, values: bool, v: Tensor | None = None
) -> tuple[Tensor, ...] | None:
    """Gradients of query, key, value and v, if any, or None if some is not finite.

    `chunks` are those of `dealt_apart`. Without `scores` (a draw has none) those of query, key and v are anything,
    without `values` those of the value.
    """
    entries, infinite = len(grad), torch.zeros(1, dtype=torch.uint8, device="cpu")
    slots, step = (chunks.chunks, 1) if chunks.separate else (1, 2)
    query_grad = grad.new_empty(entries, *inputs.query.shape[1:])
    key_grad, value_grad = (grad.new_zeros(entries, slots, *part.shape[1:]) for part in (inputs.key, inputs.value))
    tensors = grad, query_grad, key_grad, value_grad
    table = inputs.table(chunks, infinite)
    additive = None if v is None else _additive(inputs, v)
    v_grad = grad.new_empty(0 if v is None else entries, chunks.chunks, inputs.query.shape[2])
    for first in range(min(step, chunks.chunks)):
        blocks = entries * -(-(chunks.chunks - first) // step)
        backward = Backward(table, *tensors, scores, values, slots, step, first)
        if additive is None:
            _backward(blocks, backward)
        else:
            _backward_additive(blocks, BackwardAdditive(backward, additive, v_grad))
    if infinite.item():
        return None
    key_grad, value_grad = (part[:, 0] if slots == 1 else part.sum(1) for part in (key_grad, value_grad))
    gradients = query_grad, key_grad, value_grad
    return gradients if v is None else (*gradients, v_grad.sum(1))
