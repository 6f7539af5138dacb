"""Dot products of all pairs under a softmax, with statistics that torch's kernels do not give, where nothing is recorded.

What a block of a general call finds out and keeps (masks, what is forbidden, derivatives) is not there: a block is a
product, a kernel of rows and a product, and can be so small that its scores stay in a core's cache.
"""

import math

import torch
from torch import Tensor

from saccade.auxiliary import AuxOutput, top
from saccade.call import Call
from saccade.dots import product, refusal
from saccade.kernels import weights
from saccade.kernels.scratch import scratch
from saccade.normalizers import Softmax
from saccade.numerics import tracing, transforming, wide
from saccade.reads import Soft

__all__ = ["run", "serves"]

PAIRS = 1 << 18
"""Pairs of a query and a key in a block, for each thread: a megabyte of scores."""


def serves(call: Call) -> bool:
    """Whether a call is one of these, of queries, keys and values of one batch."""
    if tracing() or transforming() or refusal(call) is not None or type(call.read) is not Soft:
        return False
    normalizer, request = call.normalizer, call.aux
    plain = isinstance(normalizer, Softmax) and normalizer.sink is None
    if not plain or isinstance(normalizer.temperature, Tensor):
        return False
    if call.mask is not None or call.bias is not None or call.noise is not None or not call.asks():
        return False
    if request.weights or request.received or request.index or request.log_prob or request.top > weights.MANY:
        return False
    if torch.is_grad_enabled() and any(leaf.tensor.requires_grad for leaf in call.leaves()):
        return False
    batch = call.query.shape[:-2]
    return batch == call.key.shape[:-2] == call.value.shape[:-2] and call.query.numel() * call.value.numel() > 0


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    """Output and statistics."""
    query, key, scale, _ = product(call.score, wide(call.query), wide(call.key))
    query = query if scale == 1 else query * scale
    count, (length, width, many) = math.prod(call.batch), (query.shape[-2], key.shape[-2], call.aux.top)
    query, key, value = (part.reshape(count, *part.shape[-2:]) for part in (query, key, wide(call.value)))
    found = weights.Statistics.of(query.new_empty(count, length), min(many, width))
    output = query.new_empty(count, length, value.shape[-1])
    assert isinstance(call.normalizer, Softmax)
    for entries, rows in _blocks(count, length, width):
        left, keys = query[entries, rows], key[entries]
        room = scratch("scores", (*left.shape[:-1], width), query.dtype)
        torch.bmm(left, keys.mT, out=room)
        weights.softmax_over(room, call.normalizer.temperature, found.part(entries, rows))
        torch.bmm(room, value[entries], out=output[entries, rows])
    return _shaped(call, output, found)


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
    request, rows = call.aux, (*call.batch, call.query.shape[-2])
    largest = top(found.values.view(*rows, -1), found.indices.view(*rows, -1)) if request.top else None
    return output.view(*rows, -1).to(call.value.dtype), AuxOutput(
        lse=found.lse.view(rows) if request.lse else None,
        entropy=found.entropy.view(rows) if request.entropy else None,
        top=largest,
    )
