"""Calls under a window: dot products whose every query may attend to one short interval of keys.

Where blocks of the map would compute one and a half times the pairs of a narrow window, and bring their scores to
memory, two kernels compute little more than the pairs that are allowed, and bring nothing (`kernels.band`). Whether a
number that nobody may see has come into a result is found out afterwards: then there are blocks.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.auxiliary import top
from saccade.backends.blockwise.blocks import floating_results, result_kinds, result_names
from saccade.backends.blockwise.plan import Pairs
from saccade.backends.cpu.intervals import intervals
from saccade.call import Call
from saccade.dots import product
from saccade.kernels import band
from saccade.kernels.threads import serves
from saccade.kernels.weights import MANY
from saccade.normalizers import Entmax, Softmax, Sparsemax
from saccade.numerics import HALF, transforming
from saccade.reads import Sample, Soft
from saccade.scores import Dot, ScaledDot

__all__ = ["backward", "forward", "pairs"]

WIDEST = 1 << 20
"""Keys of a block of queries up to which a call is a window."""

APART = 3
"""Chunks of an entry, or entries, that a backward has at least: with fewer its threads would wait for each other."""

WHOLE = 16
"""What features are a multiple of."""

ASKED = {"output", "lse", "index", "entropy", "top_values", "top_indices"}
"""The results that the kernels give."""


def forward(call: Call) -> list[Tensor] | None:
    """All results of an aligned call; None where it is no window."""
    inputs = _inputs(call)
    if inputs is None:
        return None
    sparse, many = inputs.weights.alpha != 1, min(call.aux.top, call.key.shape[-2])
    found = band.attention(inputs, many, entropy=sparse and call.aux.entropy)
    if found is None:
        return None
    values, indices = top(*found.top)
    results = {**found._asdict(), "top_values": values, "top_indices": indices}
    kinds = zip(result_names(call), result_kinds(call), strict=True)
    return [results[name].reshape(shape).to(dtype) for name, (shape, dtype) in kinds]


def backward(call: Call, grads: Sequence[Tensor], wanted: Sequence[bool]) -> list[Tensor] | None:
    """Gradients of the wanted leaves from those of the floating results; None where the kernels do not give them."""
    upstream = dict(zip(floating_results(call), grads, strict=True))
    grad = upstream.pop("output")
    if any(wanted[3:]) or any(bool(other.any()) for other in upstream.values()):
        return None
    if not serves(grad, dtypes=(torch.float32, *HALF)):
        return None
    inputs = _inputs(call)
    if inputs is None:
        return None
    chunks = band.dealt_apart(inputs.band)
    if chunks.chunks < APART and inputs.entries < APART:
        return None
    scores = inputs.uniform is None and (wanted[0] or wanted[1])
    grad = grad.to(torch.float32).reshape(inputs.entries, *grad.shape[-2:]).contiguous()
    found = band.gradients(inputs, chunks, grad, scores=scores, values=wanted[2])
    if found is None:
        return None
    leaves = call.query, call.key, call.value
    moved = scores, scores, wanted[2]
    return [
        _summed(part, leaf, call.batch) if moves else torch.zeros_like(leaf)
        for part, leaf, moves, want in zip(found, leaves, moved, wanted[:3], strict=True)
        if want
    ]


def pairs(call: Call) -> Pairs | None:
    """How many pairs an aligned call has, its mask allows, and are computed; None where it is no window."""
    inputs = _inputs(call)
    if inputs is None:
        return None
    each = inputs.entries // len(inputs.band.starts)
    allowed = each * int((inputs.band.ends - inputs.band.starts).clamp(min=0).sum())
    return Pairs(
        inputs.entries * call.query.shape[-2] * call.key.shape[-2], allowed, each * inputs.band.pairs
    )


def _summed(grad: Tensor, leaf: Tensor, batch: tuple[int, ...]) -> Tensor:
    """The gradients of all entries as those of a tensor that several may share."""
    shared = grad.view(*batch, *grad.shape[-2:]).sum_to_size(leaf.shape)
    return shared.to(leaf.dtype).contiguous()


def _inputs(call: Call) -> band.Inputs | None:
    """What the kernels take, or None where they do not serve the call."""
    weights = _weights(call)
    if weights is None or not _fits(call):
        return None
    found = _band(call)
    if found is None or found.widest > WIDEST:
        return None
    entries, read = math.prod(call.batch), call.read
    uniform = None
    if isinstance(read, Sample):
        assert read.uniform is not None
        uniform = _flat(read.uniform.to(torch.float32)[..., None], call.batch)[..., 0]
        uniform = uniform.expand(entries, call.query.shape[-2]).contiguous()
    parts = (_flat(part.to(torch.float32), call.batch) for part in (call.query, call.key, call.value))
    return band.Inputs(*parts, found, weights, uniform, entries)


def _weights(call: Call) -> band.Weights | None:
    """How products become weights, where the kernels know it."""
    score, normalizer = call.score, call.normalizer
    if type(score) not in (Dot, ScaledDot) or score.leaves() or getattr(score, "softcap", None) is not None:  # type: ignore[union-attr]
        return None
    scale = product(score, call.query[..., :1, :], call.key[..., :1, :]).scale
    if not 0 < scale < math.inf:
        return None
    if isinstance(normalizer, Sparsemax):
        return band.Weights(alpha=2.0, scale=scale)
    if isinstance(normalizer, Entmax):
        return None if isinstance(normalizer.alpha, Tensor) else band.Weights(alpha=normalizer.alpha, scale=scale)
    if isinstance(normalizer, Softmax) and normalizer.sink is None and not isinstance(normalizer.temperature, Tensor):
        return band.Weights(normalizer.temperature, scale=scale)
    return None


def _fits(call: Call) -> bool:
    """Whether everything beside score and normalizer is what the kernels know."""
    read, q_len, k_len = call.read, call.query.shape[-2], call.key.shape[-2]
    if call.mask is None or call.bias is not None or call.gate is not None or call.noise is not None:
        return False
    drawn = type(read) is Sample and read.estimator == "reinforce" and read.uniform is not None
    if not drawn and type(read) is not Soft:
        return False
    if call.aux.top > (MANY if isinstance(call.normalizer, Softmax) else 0) or not ASKED.issuperset(result_names(call)):
        return False
    if q_len < band.BLOCK or not k_len or 0 in call.batch or transforming():
        return False
    if not call.query.shape[-1] or call.query.shape[-1] % WHOLE or not call.value.shape[-1] or call.value.shape[-1] % WHOLE:
        return False
    return serves(call.query, call.key, call.value, dtypes=(torch.float32, *HALF))


def _band(call: Call) -> band.Band | None:
    """The intervals of the call's mask."""
    assert call.mask is not None
    bounds = intervals(call.mask, call.grid())
    if bounds is None:
        return None
    length = call.query.shape[-2]
    starts, ends = (bound.expand(*bound.shape[:-1], length) for bound in torch.broadcast_tensors(*bounds))
    if math.prod(starts.shape[:-1]) == 1:
        starts, ends = starts.reshape(1, length), ends.reshape(1, length)
    else:
        starts, ends = (bound.expand(*call.batch, length).reshape(-1, length) for bound in (starts, ends))
    return band.band(starts.contiguous(), ends.contiguous())


def _flat(part: Tensor, batch: tuple[int, ...]) -> Tensor:
    """A tensor of one batch dimension, in one piece; of size one where all entries share it."""
    single = math.prod(part.shape[:-2]) == 1
    part = part if single else part.expand(*batch, *part.shape[-2:])
    return part.reshape(-1, *part.shape[-2:]).contiguous()
