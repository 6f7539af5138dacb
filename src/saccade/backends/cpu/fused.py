"""Calls whose queries may attend to one interval of keys each, under any of the entmax family: one kernel forward, for
dot products and additive scores, and one backward.

Blocks of the map would compute one and a half times the pairs of a narrow window, and bring the scores of any call to
memory; the kernels compute little more than the pairs that are allowed, and bring nothing (`kernels.fused`). Whether a
number that nobody may see has come into a result is found out afterwards: then there are blocks.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from saccade.auxiliary import top
from saccade.backends.blockwise.blocks import floating_results, result_kinds, result_names
from saccade.backends.blockwise.plan import Pairs
from saccade.call import Call, opaque
from saccade.dots import product
from saccade.kernels import fused as kernels
from saccade.kernels.intervals import BLOCK, Intervals, dealt, dealt_apart
from saccade.kernels.threads import serves as served
from saccade.kernels.unit import unit
from saccade.kernels.weights import MANY
from saccade.masks.intervals import intervals
from saccade.normalizers import Entmax, Softmax, Sparsemax
from saccade.numerics import HALF, transforming, wide
from saccade.reads import Sample, Soft
from saccade.scores import Additive, Cosine, Dot, ScaledDot, UnitKeyCosine

__all__ = ["backward", "forward", "multiplied", "pairs", "serves"]

WIDEST = 1 << 15
"""Keys of a chunk of queries at most, of which each thread has copies."""

LOOSE, SLACK = 4, 128
"""How many times the keys that a query may attend to are computed for it at most, and how many beside: where the
intervals of neighbours are far apart, blocks of the map pass over what is between them.
"""

MUCH = 1 << 26
"""Numbers that the sums of chunks of their own take at most."""

WHOLE = 16
"""What features are a multiple of."""

VALUE = 2
"""Which leaf of a call the value is: query and key come before it, and the v of additive scores behind it."""

ASKED = {"output", "lse", "index", "entropy", "top_values", "top_indices"}
"""The results that the kernels give."""


def forward(call: Call) -> list[Tensor] | None:
    """All results of an aligned call; None where it is none of these."""
    inputs = _inputs(call)
    if inputs is None or dealt(inputs.intervals).keys > WIDEST:
        return None
    sparse, many = inputs.weights.alpha != 1, min(call.aux.top, call.key.shape[-2])
    found = kernels.attention(inputs, many, entropy=sparse and call.aux.entropy, v=_v(call))
    if found is None:
        return None
    values, indices = top(*found.top)
    results = {**found._asdict(), "index": found.drawn, "top_values": values, "top_indices": indices}
    kinds = zip(result_names(call), result_kinds(call), strict=True)
    return [_own(results[name].reshape(shape).to(dtype)) for name, (shape, dtype) in kinds]


def serves(call: Call) -> bool:
    """Whether a call is one of these, whatever its mask says."""
    return _weights(call) is not None and _fits(call)


def multiplied(call: Call) -> Call:
    """The call with a dot product as its score, where a cosine is one of vectors of unit length: blocks would make
    these again and again.
    """
    score = call.score
    if not isinstance(score, Cosine) or type(score) not in (Cosine, UnitKeyCosine) or isinstance(score.beta, Tensor):
        return call
    query, key = wide(call.query), wide(call.key)
    if not served(query, key):
        return call
    # what is recorded is kept, and what is not our own may come back here before the blocks are done
    kept = not opaque(call) or (torch.is_grad_enabled() and any(leaf.tensor.requires_grad for leaf in call.leaves()))
    query = unit(query, None if kept else "unit queries")
    key = key if isinstance(score, UnitKeyCosine) else unit(key, None if kept else "unit keys")
    return replace(call, query=query, key=key, score=ScaledDot(score.beta))


def backward(call: Call, grads: Sequence[Tensor], wanted: Sequence[bool]) -> list[Tensor] | None:
    """Gradients of the wanted leaves from those of the floating results; None where the kernels do not give them."""
    upstream = dict(zip(floating_results(call), grads, strict=True))
    if "output" not in upstream:
        return None
    grad, leaves = upstream.pop("output"), call.leaves()[: 4 if isinstance(call.score, Additive) else 3]
    if any(wanted[len(leaves) :]) or any(bool(other.any()) for other in upstream.values()):
        return None
    if not served(grad, dtypes=(torch.float32, *HALF)):
        return None
    inputs = _inputs(call)
    if inputs is None:
        return None
    wanted = wanted[: len(leaves)]
    chunks = dealt_apart(inputs.intervals, inputs.entries)
    scores = inputs.uniform is None and any(want for at, want in enumerate(wanted) if at != VALUE)
    if chunks.keys > WIDEST or (chunks.separate and inputs.sums(chunks) > MUCH):
        return None
    grad = grad.to(torch.float32).reshape(inputs.entries, *grad.shape[-2:]).contiguous()
    found = kernels.gradients(inputs, chunks, grad, scores=scores, values=wanted[VALUE], v=_v(call))
    if found is None:
        return None
    moved = [scores, scores, wanted[VALUE], scores][: len(leaves)]
    return [
        _summed(part, leaf.tensor, call.batch) if moves else torch.zeros_like(leaf.tensor)
        for part, leaf, moves, want in zip(found, leaves, moved, wanted, strict=True)
        if want
    ]


def pairs(call: Call) -> Pairs | None:
    """How many pairs an aligned call has, its mask allows, and are computed; None where it is none of these.

    Draws that are still to be made count as made.
    """
    if isinstance(call.read, Sample) and call.read.uniform is None:
        zeros = torch.zeros(call.query.shape[-2], device="cpu")
        call = replace(call, read=Sample(call.read.estimator, uniform=zeros))
    inputs = _inputs(call)
    if inputs is None or dealt(inputs.intervals).keys > WIDEST:
        return None
    each, found = inputs.entries // len(inputs.intervals.starts), inputs.intervals
    every = inputs.entries * call.query.shape[-2] * call.key.shape[-2]
    return Pairs(every, each * found.allowed, each * found.computed)


def _summed(grad: Tensor, leaf: Tensor, batch: tuple[int, ...]) -> Tensor:
    """The gradients of all entries as those of a tensor that several may share."""
    shared = grad.view(*batch, *grad.shape[1:]).sum_to_size(leaf.shape)
    return _own(shared.to(leaf.dtype).contiguous())


def _own(tensor: Tensor) -> Tensor:
    """The same memory as a tensor that is no view: autograd lets nobody write into views that a Function returns."""
    if not tensor._is_view():
        return tensor
    return tensor.new_empty(0).set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def _inputs(call: Call) -> kernels.Inputs | None:
    """What the kernels take, or None where they do not serve the call."""
    weights = _weights(call)
    if weights is None or not _fits(call):
        return None
    found = _intervals(call)
    if found is None or found.computed > LOOSE * found.allowed + SLACK * found.starts.numel():
        return None
    entries, uniform = math.prod(call.batch), None
    if isinstance(call.read, Sample) and call.read.uniform is not None:
        uniform = call.read.uniform.to(torch.float32).expand(*call.batch, call.query.shape[-2]).contiguous()
    query, key, value = (_flat(part.to(torch.float32), call.batch) for part in (call.query, call.key, call.value))
    return kernels.Inputs(query, key, value, found, weights, uniform, entries)


def _weights(call: Call) -> kernels.Weights | None:
    """How scores become weights, where the kernels know it."""
    scale, family = _scale(call), _family(call.normalizer)
    if scale is None or family is None:
        return None
    found = kernels.Weights(*family, scale)
    return found if found.usable() else None


def _scale(call: Call) -> float | None:
    """What the products of query and key are multiplied by, or 1 of additive scores; None of any other."""
    score = call.score
    if type(score) is Additive:
        return 1.0
    if not isinstance(score, Dot | ScaledDot) or type(score) not in (Dot, ScaledDot) or score.leaves():
        return None
    found = product(score, call.query[..., :1, :], call.key[..., :1, :])
    return found.scale if found.softcap is None else None


def _family(normalizer: object) -> tuple[float, float] | None:
    """The temperature and alpha of a member of the entmax family."""
    if isinstance(normalizer, Softmax):
        temperature = normalizer.temperature
        return None if normalizer.sink is not None or isinstance(temperature, Tensor) else (temperature, 1.0)
    if isinstance(normalizer, Entmax):
        return None if isinstance(normalizer.alpha, Tensor) else (1.0, normalizer.alpha)
    return (1.0, 2.0) if isinstance(normalizer, Sparsemax) else None


def _v(call: Call) -> Tensor | None:
    """The v of an additive score, float32 `(D,)` or `(N, D)`."""
    if not isinstance(call.score, Additive):
        return None
    v, size = call.score.v.to(torch.float32), call.query.shape[-1]
    return v.reshape(size) if v.numel() == size else v.expand(*call.batch, size).reshape(-1, size)


def _fits(call: Call) -> bool:
    """Whether everything beside score and normalizer is what the kernels know."""
    read, additive = call.read, isinstance(call.score, Additive)
    sizes = [call.value.shape[-1], *([] if additive else [call.query.shape[-1]])]
    if call.bias is not None or call.gate is not None or call.dropout_p > 0 or transforming():
        return False
    drawn = type(read) is Sample and read.estimator == "reinforce" and read.uniform is not None
    if not drawn and type(read) is not Soft:
        return False
    if call.aux.top > (MANY if isinstance(call.normalizer, Softmax) else 0) or not ASKED.issuperset(result_names(call)):
        return False
    if call.query.shape[-2] < BLOCK or not call.key.shape[-2] or 0 in (*call.batch, call.query.shape[-1]):
        return False
    if (additive and call.mask is None) or not all(size and size % WHOLE == 0 for size in sizes):
        return False
    return served(call.query, call.key, call.value, dtypes=(torch.float32, *HALF))


def _intervals(call: Call) -> Intervals | None:
    """The intervals of the call's mask."""
    everything = torch.tensor([0], device="cpu"), torch.tensor([call.key.shape[-2]], device="cpu")
    bounds = everything if call.mask is None else intervals(call.mask, call.grid())
    if bounds is None:
        return None
    length = call.query.shape[-2]
    starts, ends = (bound.expand(*bound.shape[:-1], length) for bound in torch.broadcast_tensors(*bounds))
    if math.prod(starts.shape[:-1]) == 1:
        starts, ends = starts.reshape(1, length), ends.reshape(1, length)
    else:
        starts, ends = (bound.expand(*call.batch, length).reshape(-1, length) for bound in (starts, ends))
    return Intervals.of(starts.contiguous(), ends.contiguous())


def _flat(part: Tensor, batch: tuple[int, ...]) -> Tensor:
    """A tensor of one batch dimension, in one piece; of size one where all entries share it."""
    single = math.prod(part.shape[:-2]) == 1
    part = part if single else part.expand(*batch, *part.shape[-2:])
    return part.reshape(-1, *part.shape[-2:]).contiguous()
