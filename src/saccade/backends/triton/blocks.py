"""What the blocks of queries are computed by: scores, weights, output and statistics, through the kernels."""

from dataclasses import replace

import torch
from torch import Tensor

from saccade.auxiliary import AuxOutput
from saccade.backends import reference
from saccade.backends.blockwise.engine import Weighed
from saccade.backends.triton import rows
from saccade.backends.triton.additive import additive_scores, by_key
from saccade.biases import unread
from saccade.call import Call
from saccade.normalizers import Entmax, Softmax, Sparsemax
from saccade.numerics import divide
from saccade.reads import Argmax, Sample, TopK
from saccade.scores import Additive, exponentials
from saccade.structure import Grid

ROUNDS = 16
"""How many of a row's largest weights the kernel finds, one pass over the row for each; beyond that torch sorts."""


def prepare(call: Call) -> Call:
    """e^{2k} of additive keys, laid out as the kernel reads them."""
    if isinstance(call.score, Additive):
        powers = exponentials(call.key) if call.cache is None else call.cache
        return replace(call, cache=by_key(powers))
    return call


def weigh(call: Call, grid: Grid) -> Weighed:
    """The reference's weights: additive scores by the kernel, any other score by its own formula; softmax, sparsemax
    and entmax by kernels, any other normalizer by its own formula.
    """
    allowed, bias = call.mask.dense(grid) if call.mask is not None else None, None
    if call.bias is not None:
        bias = call.bias.values(grid, call.query.dtype)
        allowed = reference.both(allowed, bias.detach() != -torch.inf)
    scores = compared(call, grid, allowed)
    scores = scores if bias is None else scores + unread(bias, allowed)
    shape = (*call.batch, grid.rows, grid.k_len)
    scores, allowed = scores.expand(shape), None if allowed is None else allowed.expand(shape)
    weights, lse = normalized(call, scores, allowed)
    if call.gate is not None:
        weights = weights * call.gate.factor(grid, weights.dtype, allowed)
    return weights, allowed, lse if call.aux.lse else None


def compared(call: Call, grid: Grid, allowed: Tensor | None) -> Tensor:
    """The scores; what is not allowed may hold anything finite."""
    if not isinstance(call.score, Additive) or call.cache is None:
        return reference.compared(call, grid)
    batch = torch.broadcast_shapes(call.query.shape[:-2], call.key.shape[:-2], call.score.v.shape[:-1])
    if allowed is not None and tuple(batch) != call.batch:
        allowed = None  # the value's batch is wider: one score stands for several entries of the mask
    return additive_scores(call.query, call.key, call.score.v, call.cache, allowed)


def normalized(call: Call, scores: Tensor, allowed: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Weights, and lse where there is one."""
    normalizer = call.normalizer
    if isinstance(normalizer, Softmax):
        weights, lse = rows.softmax(normalizer.scaled(scores), allowed)
        if normalizer.sink is None:
            return weights, lse
        sink = torch.as_tensor(normalizer.sink, dtype=lse.dtype, device=lse.device).expand(*lse.shape, 1)
        return weights * torch.sigmoid(lse[..., None] - sink), lse  # the share that the sink leaves
    if isinstance(normalizer, Sparsemax | Entmax):
        alpha = normalizer.alpha if isinstance(normalizer, Entmax) else 2.0
        return rows.entmax(scores, allowed, alpha), None
    return normalizer(scores, allowed), None


def read(call: Call, weights: Tensor, allowed: Tensor | None, lse: Tensor | None) -> tuple[Tensor, AuxOutput]:
    """The reference's output and statistics; draws, entropy and the largest weights by kernels."""
    request, dropped, value = call.aux, reference.dropout(call, weights), call.value
    index, log_prob = chosen(call, dropped, allowed)
    output = top_k(dropped, value, call.read.k, allowed) if isinstance(call.read, TopK) else None
    output = call.read(dropped, value, allowed, index) if output is None else output
    return output.to(call.value.dtype), AuxOutput(
        weights=weights if request.weights else None,
        lse=lse if request.lse else None,
        index=index if request.index else None,
        log_prob=log_prob if request.log_prob else None,
        entropy=rows.entropy(weights) if request.entropy else None,
        top=top(weights, request.top, allowed) if request.top else None,
        received=weights.sum(-2) if request.received else None,
    )


def chosen(call: Call, weights: Tensor, allowed: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """The key of a hard read and its log-probability."""
    if isinstance(call.read, Sample) and call.read.uniform is not None:
        return rows.draw(weights, call.read.uniform)
    if not isinstance(call.read, Argmax):
        return None, None
    if not weights.shape[-1]:
        return call.read.index(weights, allowed), None
    return rows.largest(weights, 1, allowed)[..., 0], None


def top(weights: Tensor, count: int, allowed: Tensor | None) -> tuple[Tensor, Tensor]:
    """The largest weights and their indices; −1 where the weight is 0."""
    if count > ROUNDS:
        return reference.top(weights, count, allowed)
    indices = rows.largest(weights, count, allowed)
    values = weights.gather(-1, indices.clamp(min=0)).masked_fill(indices < 0, 0.0)
    return values, indices.masked_fill(values.detach() == 0, -1)


def top_k(weights: Tensor, value: Tensor, count: int, allowed: Tensor | None) -> Tensor | None:
    """The `TopK` read, or None where there are too many for the kernel."""
    if count > ROUNDS:
        return None
    indices = rows.largest(weights, count, allowed)
    kept = torch.zeros_like(weights).scatter_add(-1, indices.clamp(min=0), (indices >= 0).to(weights.dtype))
    kept = weights.masked_fill(kept.detach() == 0, 0.0)
    return divide(kept, kept.sum(-1, keepdim=True)) @ value
