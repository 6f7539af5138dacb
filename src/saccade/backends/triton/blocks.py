"""Parts of a block of queries by kernels. All other parts are the reference's."""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import broadcast_shapes
from saccade._definitions.structure import Grid
from saccade.backends import reference
from saccade.backends.triton import rows
from saccade.backends.triton.additive import additive_scores
from saccade.normalizers import Entmax, Softmax, Sparsemax
from saccade.reads import Read, Sample
from saccade.scores import Additive, by_key, exponentials


def prepare(call: Call) -> Call:
    """e^{2k} of additive keys, laid out as the kernel reads them."""
    if not isinstance(call.score, Additive):
        return call
    return replace(call, cache=by_key(exponentials(call.key.detach()) if call.cache is None else call.cache))


def compared(call: Call, grid: Grid, allowed: Tensor | None) -> Tensor:
    """The scores, additive ones by their kernel."""
    if not isinstance(call.score, Additive) or call.cache is None:
        return reference.compared(call, grid)
    batch = broadcast_shapes(call.query.shape[:-2], call.key.shape[:-2], call.score.v.shape[:-1])
    if tuple(batch) != call.batch:
        allowed = None  # the value's batch is wider: one score stands for several entries of the mask
    return additive_scores(call.query, call.key, call.score.v, call.cache, allowed)


def normalized(call: Call, scores: Tensor, allowed: Tensor | None) -> tuple[Tensor, reference.Statistics]:
    """Weights, and lse of a softmax."""
    normalizer = call.normalizer
    if isinstance(normalizer, Softmax):
        weights, lse = rows.softmax(normalizer.scaled(scores), allowed)
        if normalizer.sink is not None:
            sink = torch.as_tensor(normalizer.sink, dtype=lse.dtype, device=lse.device).expand(*lse.shape, 1)
            reached = lse.masked_fill(lse == -torch.inf, 0.0)[..., None]  # less a sink of -inf it would be NaN
            weights = weights * torch.sigmoid(reached - sink)  # the share that the sink leaves
        return weights, {"lse": lse}
    if isinstance(normalizer, Sparsemax | Entmax):
        return rows.entmax(scores, allowed, getattr(normalizer, "alpha", 2.0)), {}
    return reference.normalized(call, scores, allowed)


def chosen(read: Read, weights: Tensor, allowed: Tensor | None) -> Tensor:
    """The key that a hard read takes, a draw by its kernel."""
    if isinstance(read, Sample) and read.uniform is not None:
        return rows.draw(weights, read.uniform)
    return read.index(weights, allowed)


PARTS = reference.Parts(compared, normalized, chosen, rows.entropy, rows.largest)

weigh, read = partial(reference.weigh, parts=PARTS), partial(reference.read, parts=PARTS)
