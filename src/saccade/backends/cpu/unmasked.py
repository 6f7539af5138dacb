"""Additive scores of all pairs under a softmax without a mask.

A block is scores, a kernel of rows and a product, with nothing for masks. So its scores can stay in a core's cache,
and a small call costs little more than its kernels. One Function differentiates it.
"""

import math
from typing import Any

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import tracing, transforming, wide
from saccade.auxiliary import AuxOutput, top
from saccade.backends.cpu import steps
from saccade.kernels import all_pairs, packing, weights
from saccade.kernels.rows import TYPES
from saccade.kernels.scratch import scratch
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves as served
from saccade.normalizers import Softmax
from saccade.reads import Soft
from saccade.scores import Additive

PAIRS = 1 << 18  # pairs of a query and a key in a block, for each thread: a megabyte of scores
AT_ONCE = 1 << 20  # largest number of pairs with weights kept for the backward


def serves(call: Call) -> bool:
    """Whether this serves a call; queries, keys and values have the same batch."""
    if type(call.score) is not Additive or type(call.read) is not Soft or call.cache is not None:
        return False
    if call.mask is not None or call.bias is not None or call.gate is not None or call.noise is not None:
        return False
    normalizer, request = call.normalizer, call.aux
    if not isinstance(normalizer, Softmax) or normalizer.sink is not None or tracing() or transforming():
        return False
    if isinstance(normalizer.temperature, Tensor) or request.weights or request.received or request.top > weights.MANY:
        return False
    batch = call.query.shape[:-2]
    if not (batch == call.key.shape[:-2] == call.value.shape[:-2] and call.query.numel() and call.value.numel()):
        return False
    return not (call.learns() and (call.asks() or call.pairs > AT_ONCE))


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    assert isinstance(call.normalizer, Softmax)
    assert isinstance(call.score, Additive)
    count, temperature = math.prod(call.batch), float(call.normalizer.temperature)
    query, key, value = (_folded(wide(part), count) for part in (call.query, call.key, call.value))
    v = call.score.v.to(query.dtype)
    v = v if v.ndim == 1 else v.expand(*call.batch, v.shape[-1]).reshape(count, -1)
    output, statistics = additive(query, key, value, v, temperature, min(call.aux.top, key.shape[1]))
    request, rows = call.aux, call.query.shape[:-1]
    output = output.view(*rows, output.shape[-1]).to(call.value.dtype)
    if not call.asks():
        return output, AuxOutput()
    return output, AuxOutput(
        lse=statistics.lse.view(rows) if request.lse else None,
        entropy=statistics.entropy.view(rows) if request.entropy else None,
        top=top(statistics.values.view(*rows, -1), statistics.indices.view(*rows, -1)) if request.top else None,
    )


def additive(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, temperature: float, many: int = 0
) -> tuple[Tensor, weights.Statistics]:
    r"""\(\operatorname{softmax}(v^\top \tanh(q_i + k_j) / T)\) times the values.

    Beside them statistics, undefined if a gradient is recorded: then there are at most `AT_ONCE` pairs. All tensors are
    `(N, L, D)` but v, `(D,)` or `(N, D)`.
    """
    query, key = query.contiguous(), key.contiguous()
    statistics = weights.Statistics.of(query.new_empty(query.shape[:2]), many)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, value, v)):
        return _Attention.apply(query, key, value, v, temperature), statistics
    return _by_blocks(query, key, value, v, temperature, statistics), statistics


def alone(query: Tensor, key: Tensor, value: Tensor, v: object) -> Tensor | None:
    """Output of an additive call, unchecked; None if there may be an error."""
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
    return tensor if tensor.ndim == 3 else tensor.reshape(count, *tensor.shape[-2:])


def _by_blocks(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, temperature: float, statistics: weights.Statistics
) -> Tensor:
    """Output `(N, Lq, Dv)`; writes the statistics."""
    count, length, width = *query.shape[:2], key.shape[1]
    output, keys = query.new_empty(count, length, value.shape[-1]), None
    pairs = PAIRS * torch.get_num_threads()
    heads, size = max(1, pairs // (length * width)), max(1, min(length, pairs // width))
    if heads >= count and size >= length:  # views of the whole would take as long as a small block
        _block(query, key, value, v, None, temperature, statistics, output)
        return output
    if size < length:  # several blocks read the same keys
        keys = packing.pack(query[:, :0], key).keys
    for n in range(0, count, heads):
        for first in range(0, length, size):
            entries, rows = slice(n, n + heads), slice(first, first + size)
            packed = None if keys is None else keys[entries]
            tensors = query[entries, rows], key[entries], value[entries], v[entries] if v.ndim == 2 else v
            _block(*tensors, packed, temperature, statistics.part(entries, rows), output[entries, rows])
    return output


def _block(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    v: Tensor,
    keys: Tensor | None,
    temperature: float,
    statistics: weights.Statistics,
    output: Tensor,
) -> None:
    room = scratch("scores", (*query.shape[:-1], key.shape[1]), query.dtype)
    largest = bool(statistics.values.shape[-1])  # which the kernel of rows finds
    packed, cooling = packing.pack(query, key, keys), None if largest else temperature
    all_pairs.weights_over(room, query, key, v, packed, cooling, statistics.lse, statistics.entropy)
    if largest:
        weights.softmax_over(room, temperature, statistics)
    torch.bmm(room, value, out=output)


class _Attention(torch.autograd.Function):
    """Output `(N, Lq, Dv)` of contiguous query and key, value and v.

    The inputs themselves are saved: a copy made in here would have no history, and no second derivative.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, v: Tensor, temperature: float) -> Tensor:
        packed = packing.pack(query, key, kept=True)
        shares = query.new_empty(*query.shape[:2], key.shape[1])
        unread = scratch("statistics", (2, *query.shape[:2]), query.dtype)
        ctx.raw = all_pairs.weights_over(shares, query, key, v, packed, temperature, *unread)
        ctx.temperature = temperature
        ctx.save_for_backward(query, key, value, v, *packed, shares)
        return torch.bmm(shares, value)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # contiguous, as the kernels read them: hooks on saved tensors may change strides
        query, key, value, v, queries, keys, shares = (part.contiguous() for part in ctx.saved_tensors)
        if torch.is_grad_enabled() or not served(grad, dtypes=TYPES):  # for a second derivative, or many at once

            def definition(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
                return Softmax(ctx.temperature)(Additive(v)(query, key), None) @ value

            return (*by_definition(definition, (query, key, value, v), ctx.needs_input_grad[:4], grad), None)
        value_grad = torch.bmm(shares.mT, grad) if ctx.needs_input_grad[2] else None
        if not any(ctx.needs_input_grad[position] for position in (0, 1, 3)):
            return None, None, value_grad, None, None
        of_weights = torch.bmm(grad, value.mT, out=scratch("of weights", shares.shape, shares.dtype))
        packed, raw = packing.Packed(queries, keys), bool(ctx.raw)
        of_scores = of_weights, shares, query, key, v, packed, ctx.temperature, raw
        query_grad, key_grad, v_grad = all_pairs.differentiated(*of_scores)
        return query_grad, key_grad, value_grad, v_grad, None
