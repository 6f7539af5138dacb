"""Compiled parts of a block: additive scores, normalizers, statistics, draws."""

import math
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from saccade._call.call import Call, opaque
from saccade._call.dot_products import is_dot, product
from saccade._definitions.numerics import broadcast_shapes, transforming, wide
from saccade._definitions.structure import Grid, encodable
from saccade.backends import reference
from saccade.backends.blockwise import Engine, Whole
from saccade.backends.blockwise.products import multiplied, multiply
from saccade.backends.cpu import fused
from saccade.kernels import additive, packing, statistics, weights
from saccade.kernels.scratch import scratch
from saccade.normalizers import Entmax, Softmax, Sparsemax
from saccade.reads import Read, Sample
from saccade.scores import Additive, Score

WORTH = 1 << 14  # least scores for a reuse of their memory


def prepare(call: Call) -> Call:
    if not isinstance(call.score, Additive):
        return call
    # autograd keeps recorded keys, and a user's definition may call us again before the blocks are done
    room = None if torch.is_grad_enabled() or not opaque(call) else "additive keys"
    return replace(call, cache=packing.packed(wide(call.key.detach()), call.cache, room).mT)


def compared(call: Call, grid: Grid, allowed: Tensor | None) -> Tensor:
    """Scores, additive ones by their kernel."""
    room = "scores" if grid.rows * grid.width * math.prod(call.batch) >= WORTH and _discards_scores(call) else None
    if isinstance(call.score, Additive) and call.cache is not None:
        query, key = wide(call.query), wide(call.key)
        return additive.scores(query, key, call.score.v.to(query.dtype), call.cache.mT, allowed, room)
    if not is_dot(call.score):
        return reference.compared(call, grid)
    query, key, scale, _ = product(call.score, wide(call.query), wide(call.key))
    query = query if scale == 1 else query * scale
    if room is None:
        return multiplied(query, key.mT)
    batch = query.shape[:-2]
    if batch != key.shape[:-2]:
        batch = broadcast_shapes(batch, key.shape[:-2])
    return multiply(query, key.mT, scratch(room, (*batch, query.shape[-2], key.shape[-2]), query.dtype))


def _discards_scores(call: Call) -> bool:
    """Whether the next block may overwrite the scores, or the weights in their memory."""
    if call.aux.weights or transforming():
        return False
    return not call.learns() and opaque(call)


def normalized(call: Call, scores: Tensor, allowed: Tensor | None) -> tuple[Tensor, reference.Statistics]:
    """Weights, and lse and entropy of a softmax."""
    normalizer = call.normalizer
    if isinstance(normalizer, Softmax) and normalizer.sink is None:
        temperature = normalizer.temperature
        if isinstance(temperature, Tensor):
            scores, temperature = normalizer.scaled(scores), 1.0
        overwrite = isinstance(call.score, Score) and encodable(call.score)  # a user's may keep its scores
        top = call.aux.top if call.gate is None and call.aux.top <= weights.MANY else 0
        shares, lse, entropy, largest = weights.softmax(scores, allowed, temperature, overwrite=overwrite, top=top)
        named = {"lse": lse} if shares.requires_grad else {"lse": lse, "entropy": entropy}
        return shares, named if largest is None else {**named, "top_values": largest[0], "top_indices": largest[1]}
    if isinstance(normalizer, Sparsemax):
        return weights.sparsemax(scores, allowed), {}
    if isinstance(normalizer, Entmax):
        return weights.entmax(scores, normalizer.alpha, allowed), {}
    return reference.normalized(call, scores, allowed)


def chosen(read: Read, weights: Tensor, allowed: Tensor | None) -> Tensor:
    """The key that a hard read takes, a draw by its kernel."""
    if isinstance(read, Sample) and read.uniform is not None:
        return statistics.draw(weights, read.uniform)
    return read.index(weights, allowed)


PARTS = reference.Parts(compared, normalized, chosen, statistics.entropy, statistics.largest)

# 8 MiB of scores in a block. Smaller blocks have more overhead.
ENGINE = Engine(
    "cpu",
    prepare,
    partial(reference.weigh, parts=PARTS),
    partial(reference.read, parts=PARTS),
    pairs=1 << 21,
    whole=Whole(fused.forward, fused.backward),
)
