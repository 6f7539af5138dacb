"""All pairs under a softmax, read softly: dot products, and additive scores, without a mask.

What a call finds out and keeps in general (masks, what is forbidden, what its score depends on) is not there: a block
is scores, a kernel of rows and a product. So it can be so small that its scores stay in a core's cache, and a small
additive call costs little more than its kernels. Additive scores are differentiated here, too, by one Function.
"""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from saccade.auxiliary import AuxOutput, top
from saccade.backends.cpu import steps
from saccade.call import Call
from saccade.dots import is_dot, product
from saccade.kernels import all_pairs, packing, weights
from saccade.kernels.rows import TYPES
from saccade.kernels.scratch import scratch
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves as served
from saccade.normalizers import Softmax
from saccade.numerics import tracing, transforming, wide
from saccade.reads import Soft
from saccade.scores import Additive

__all__ = ["additive", "alone", "run", "serves"]

PAIRS = 1 << 18
"""Pairs of a query and a key in a block, for each thread: a megabyte of scores."""

AT_ONCE = 1 << 20
"""Pairs of a call up to which its weights are kept for the backward."""


def serves(call: Call) -> bool:
    """Whether a call is one of these, of queries, keys and values of one batch."""
    if call.mask is not None or call.bias is not None or call.gate is not None or call.noise is not None:
        return False
    normalizer, request = call.normalizer, call.aux
    if not isinstance(normalizer, Softmax) or normalizer.sink is not None or type(call.read) is not Soft:
        return False
    if tracing() or transforming() or isinstance(normalizer.temperature, Tensor):
        return False
    if request.weights or request.received or request.index or request.log_prob or request.top > weights.MANY:
        return False
    batch = call.query.shape[:-2]
    if not (batch == call.key.shape[:-2] == call.value.shape[:-2] and call.query.numel() and call.value.numel()):
        return False
    recorded = torch.is_grad_enabled() and any(leaf.tensor.requires_grad for leaf in call.leaves())
    if type(call.score) is Additive:
        pairs = math.prod(batch) * call.query.shape[-2] * call.key.shape[-2]
        return call.cache is None and not (recorded and (call.asks() or pairs > AT_ONCE))
    return call.asks() and not recorded and is_dot(call.score)


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    """Output and statistics."""
    assert isinstance(call.normalizer, Softmax)
    count, temperature = math.prod(call.batch), float(call.normalizer.temperature)
    query, key, value = (_folded(wide(part), count) for part in (call.query, call.key, call.value))
    many = min(call.aux.top, key.shape[1])
    if isinstance(call.score, Additive):
        v = wide(call.score.v)
        v = v if v.ndim == 1 else v.expand(*call.batch, v.shape[-1]).reshape(count, -1)
        output, found = additive(query, key, value, v.to(query.dtype), temperature, many)
    else:
        query, key, scale, _ = product(call.score, query, key)
        found = weights.Statistics.of(query.new_empty(query.shape[:2]), many)
        output = _by_blocks(query if scale == 1 else query * scale, key, value, None, temperature, found)
    return _shaped(call, output, found)


def additive(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, temperature: float, many: int = 0
) -> tuple[Tensor, weights.Statistics]:
    r"""\(\operatorname{softmax}(v^\top \tanh(q_i + k_j) / T)\) times the values.

    Args:
        query, key, value: `(N, L, D)`, float32 or float64; recorded ones of at most `AT_ONCE` pairs.
        v: `(D,)` or `(N, D)`.
        temperature: T.
        many: how many of the largest weights are found.

    Returns:
        `(N, Lq, Dv)`, and the statistics, which are unspecified where something is recorded.
    """
    query, key = query.contiguous(), key.contiguous()
    found = weights.Statistics.of(query.new_empty(query.shape[:2]), many)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, value, v)):
        return _Attention.apply(query, key, value, v, temperature), found
    return _by_blocks(query, key, value, v, temperature, found), found


def alone(query: Tensor, key: Tensor, value: Tensor, v: object) -> Tensor | None:
    """What `run` returns of an additive call with nothing else; None where this, or another backend, may not be what
    serves it.

    Args:
        query, key, value: of any shape and type.
        v: likewise, whatever it is.
    """
    if not isinstance(v, Tensor) or not query.ndim == key.ndim == value.ndim >= 2 or v.ndim != 1:
        return None
    *batch, length, features = query.shape
    width = value.shape[-2]
    if key.shape != (*batch, width, features) or value.shape[:-2] != query.shape[:-2] or v.shape[0] != features:
        return None
    count = math.prod(batch)
    pairs = count * length * width
    step = length <= steps.FEW or length * width <= steps.PAIRS
    if step or pairs * features < steps.TERMS or not value.numel() or not served(query, key, value, v):
        return None
    if pairs > AT_ONCE and torch.is_grad_enabled() and any(part.requires_grad for part in (query, key, value, v)):
        return None
    output = additive(_folded(query, count), _folded(key, count), _folded(value, count), v, 1.0)[0]
    return output.view(*batch, length, output.shape[-1])


def _folded(tensor: Tensor, count: int) -> Tensor:
    """One batch dimension."""
    return tensor if tensor.ndim == 3 else tensor.reshape(count, *tensor.shape[-2:])


def _by_blocks(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor | None, temperature: float, found: weights.Statistics
) -> Tensor:
    """The output `(N, Lq, Dv)` of dot products, or with v `(D,)` or `(N, D)` of additive scores, statistics written."""
    count, length, width = *query.shape[:2], key.shape[1]
    output, blocks, keys = query.new_empty(count, length, value.shape[-1]), _blocks(count, length, width), None
    if len(blocks) == 1:  # views of the whole would take as long as a small block
        _block(query, key, value, v, None, temperature, found, output)
        return output
    if v is not None and len(blocks) > count:  # several read the same keys
        keys = packing.pack(query[:, :0], key).keys
    for entries, rows in blocks:
        own = v[entries] if v is not None and v.ndim == 2 else v
        packed = None if keys is None else keys[entries]
        parts = found.part(entries, rows), output[entries, rows]
        _block(query[entries, rows], key[entries], value[entries], own, packed, temperature, *parts)
    return output


def _block(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    v: Tensor | None,
    keys: Tensor | None,
    temperature: float,
    found: weights.Statistics,
    output: Tensor,
) -> None:
    """One block: its output and its statistics are written where they belong."""
    room, ready = scratch("scores", (*query.shape[:-1], key.shape[1]), query.dtype), False
    if v is None:
        torch.bmm(query, key.mT, out=room)
    else:
        ready = not found.values.shape[-1]  # the largest are found by the kernel of rows
        packed = packing.pack(query, key, keys)
        all_pairs.weights_over(room, query, key, v, packed, temperature if ready else None, found.lse, found.entropy)
    if not ready:
        weights.softmax_over(room, temperature, found)
    torch.bmm(room, value, out=output)


def _blocks(count: int, length: int, width: int) -> list[tuple[slice, slice]]:
    """Entries and queries of each block: several whole entries, or a part of one; their results lie in one piece."""
    pairs = PAIRS * torch.get_num_threads()
    entries, rows = max(1, pairs // (length * width)), max(1, min(length, pairs // width))
    return [
        (slice(n, n + entries), slice(first, first + rows))
        for n in range(0, count, entries)
        for first in range(0, length, rows)
    ]


def _shaped(call: Call, output: Tensor, found: weights.Statistics) -> tuple[Tensor, AuxOutput]:
    """What was asked for, with the batch's dimensions."""
    request, rows = call.aux, call.query.shape[:-1]
    output = output.view(*rows, output.shape[-1]).to(call.value.dtype)
    if not call.asks():
        return output, AuxOutput()
    return output, AuxOutput(
        lse=found.lse.view(rows) if request.lse else None,
        entropy=found.entropy.view(rows) if request.entropy else None,
        top=top(found.values.view(*rows, -1), found.indices.view(*rows, -1)) if request.top else None,
    )


class _Attention(torch.autograd.Function):
    """Query `(N, Lq, D)` and key `(N, Lk, D)`, each in one piece, value `(N, Lk, Dv)` and v, `(D,)` or `(N, D)`, to
    `(N, Lq, Dv)`.

    What is saved is the inputs themselves: a copy made in here would have no history, and no second derivative.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, v: Tensor, temperature: float) -> Tensor:
        packed = packing.pack(query, key, kept=True)
        found = query.new_empty(*query.shape[:2], key.shape[1])
        unread = scratch("statistics", (2, *query.shape[:2]), query.dtype)
        ctx.raw = all_pairs.weights_over(found, query, key, v, packed, temperature, *unread)
        ctx.temperature = temperature
        ctx.save_for_backward(query, key, value, v, *packed, found)
        return torch.bmm(found, value)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # in one piece, as the kernels read them: hooks on saved tensors may change strides
        query, key, value, v, queries, keys, found = (part.contiguous() for part in ctx.saved_tensors)
        if torch.is_grad_enabled() or not served(grad, dtypes=TYPES):  # a second derivative, or many at once
            definition = partial(_definition, temperature=ctx.temperature)
            return (*by_definition(definition, (query, key, value, v), ctx.needs_input_grad[:4], grad), None)
        of_value = torch.bmm(found.mT, grad) if ctx.needs_input_grad[2] else None
        if not any(ctx.needs_input_grad[place] for place in (0, 1, 3)):
            return None, None, of_value, None, None
        of_weights = torch.bmm(grad, value.mT, out=scratch("of weights", found.shape, found.dtype))
        packed, raw = packing.Packed(queries, keys), bool(ctx.raw)
        of_scores = of_weights, found, query, key, v, packed, ctx.temperature, raw
        of_query, of_key, of_v = all_pairs.differentiated(*of_scores)
        return of_query, of_key, of_value, of_v, None


def _definition(query: Tensor, key: Tensor, value: Tensor, v: Tensor, *, temperature: float) -> Tensor:
    return Softmax(temperature)(Additive(v)(query, key), None) @ value
