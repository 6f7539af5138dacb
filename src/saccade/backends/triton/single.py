"""Additive attention as one block, for calls too small for the blocks' overhead."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import transforming
from saccade.backends import reference
from saccade.backends.blockwise.blocks import whole
from saccade.backends.blockwise.engine import FAR_PAIRS, Whole
from saccade.backends.triton import rows
from saccade.backends.triton.additive import additive_scores
from saccade.normalizers import Softmax
from saccade.reads import Soft
from saccade.scores import Additive, by_key

__all__ = ["SINGLE"]


def served(call: Call) -> bool:
    """Whether an aligned call is additive scores, a softmax and its mean in a block."""
    kinds = type(call.score), type(call.normalizer), type(call.read)
    if kinds != (Additive, Softmax, Soft) or call.query.dtype not in (torch.float32, torch.float64) or transforming():
        return False
    if call.bias is not None or call.gate is not None or call.dropout_p > 0 or set(call.aux.names()) - {"lse"}:
        return False
    assert isinstance(call.normalizer, Softmax)
    temperature = call.normalizer.temperature
    if call.normalizer.sink is not None or isinstance(temperature, Tensor) or temperature != 1:
        return False
    pairs = call.query.shape[-2] * call.key.shape[-2]
    return 0 < math.prod(call.batch) * pairs <= FAR_PAIRS


def results(call: Call) -> list[Tensor]:
    """The output, and lse if requested; differentiable."""
    assert isinstance(call.score, Additive)
    grid = call.grid()
    allowed = None if call.mask is None else call.mask.dense(grid)
    powers = None if call.cache is None else by_key(call.cache)
    alike = call.key.shape[:-2] == call.batch or call.query.shape[:-2] == call.batch
    scores = additive_scores(call.query, call.key, call.score.v, powers, allowed if alike else None)
    weights, lse = rows.softmax(scores.expand(*call.batch, grid.q_len, grid.k_len), allowed)
    output = weights @ call.value
    return [output, lse] if call.aux.lse else [output]


def forward(call: Call) -> list[Tensor] | None:
    """All results of a call, or None if it is not served."""
    return results(cleaned(call)) if served(call) else None


def backward(call: Call, grads, needed, kept=()):
    """The gradients of the needed leaves; scores and weights are computed again."""
    if not served(call):
        return None
    call = cleaned(call)
    # the last leaf is the prepared part of a memory: it needs no gradient, and its keys were not cleaned
    tensors = [leaf.tensor.detach().requires_grad_(needs) for leaf, needs in zip(call.leaves(), needed, strict=False)]
    with torch.enable_grad():
        outputs_and_lse = results(call.with_leaves(iter(tensors)))
    moving = [tensor for tensor in tensors if tensor.requires_grad]
    reached = [(result, grad) for result, grad in zip(outputs_and_lse, grads, strict=True) if result.requires_grad]
    if not reached:
        return [torch.zeros_like(tensor) for tensor in moving]
    outputs, upstream = zip(*reached, strict=True)
    gradients = torch.autograd.grad(outputs, moving, upstream, allow_unused=True, materialize_grads=True)
    return [whole(gradient, tensor.shape) for gradient, tensor in zip(gradients, moving, strict=True)]


def cleaned(call: Call) -> Call:
    """The call without values that no query may see."""
    return reference.cleaned(call) if reference.untrusted(call) else call


SINGLE = Whole(forward, backward)
"""The engine tries it first."""
