"""Calls with one interval of keys for each query, by one kernel.

They serve dot products and additive scores under the entmax family. Blocks of the map would compute one and a half
times the pairs of a narrow window, and write the scores to memory. The kernels compute little more than the allowed
pairs, and write no scores (`kernels.fused`). They check afterwards whether NaN of a forbidden key reached a result:
then blocks compute the call.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from saccade._call.call import Call, opaque
from saccade._call.dot_products import product
from saccade._definitions.numerics import HALF, transforming, wide
from saccade.auxiliary import top
from saccade.backends.blockwise.blocks import floating_results, result_kinds, result_names
from saccade.backends.folding import merged
from saccade.backends.offers import Pairs
from saccade.kernels import fused as kernels
from saccade.kernels.intervals import BLOCK, Intervals, dealt_apart
from saccade.kernels.threads import serves as served
from saccade.kernels.unit import unit
from saccade.kernels.weights import MANY
from saccade.masks._intervals import intervals
from saccade.normalizers import Entmax, Softmax, Sparsemax
from saccade.reads import Sample, Soft
from saccade.scores import Additive, Cosine, Dot, ScaledDot, UnitKeyCosine

WIDEST = 1 << 15  # most keys of a chunk of queries: each thread has copies of them
# Limit of computed keys: so many times the allowed ones, and so many more. If the intervals of neighbours are further
# apart, blocks of the map are faster.
LOOSE, SLACK = 4, 128
MUCH = 1 << 26  # most numbers in the sums of single chunks
WHOLE = 16  # features are a multiple of it
VALUE = 2  # index of the value among a call's leaves: query, key, value, and additive v
SERVED = {"output", "lse", "index", "entropy", "top_values", "top_indices", "received"}  # results of the kernels


def forward(call: Call) -> list[Tensor] | None:
    """All results of an aligned call, or None if the kernels do not serve it."""
    inputs = _inputs(call)
    if inputs is None or _widest(call, inputs) > WIDEST:
        return None
    sparse, many = inputs.weights.alpha != 1, min(call.aux.top, call.key.shape[-2])
    entropy, received = sparse and call.aux.entropy, call.aux.received
    computed = kernels.attention(inputs, many, entropy=entropy, received=received, v=_v(call))
    if computed is None:
        return None
    values, indices = top(*computed.top)
    results = {**computed._asdict(), "index": computed.drawn, "top_values": values, "top_indices": indices}
    kinds = zip(result_names(call), result_kinds(call), strict=True)
    return [_no_view(results[name].reshape(shape).to(dtype)) for name, (shape, dtype) in kinds]


def multiplied(call: Call) -> Call:
    """The call with a dot product of unit vectors for a cosine."""
    score = call.score
    if not isinstance(score, Cosine) or type(score) not in (Cosine, UnitKeyCosine) or isinstance(score.beta, Tensor):
        return call
    query, key = wide(call.query), wide(call.key)
    if not served(query, key):
        return call
    # autograd keeps recorded vectors, and a user's definition may call us again before the blocks are done
    kept = not opaque(call) or call.learns()
    query = unit(query, None if kept else "unit queries")
    key = key if isinstance(score, UnitKeyCosine) else unit(key, None if kept else "unit keys")
    return replace(call, query=query, key=key, score=ScaledDot(score.beta))


def backward(
    call: Call, grads: Sequence[Tensor | None], needed: Sequence[bool], kept: Sequence[Tensor] = ()
) -> list[Tensor] | None:
    """Gradients of the leaves that need one, or None if the kernels do not serve."""
    upstream = dict(zip(floating_results(call), grads, strict=True))
    grad, leaves = upstream.pop("output", None), call.leaves()[: 4 if isinstance(call.score, Additive) else 3]
    others = any(other is not None and bool(other.any()) for other in upstream.values())
    if grad is None or not grad.shape[-1] or others or any(needed[len(leaves) :]):
        return None
    if not served(grad, dtypes=(torch.float32, *HALF)):
        return None
    inputs = _inputs(call)
    if inputs is None:
        return None
    needed = needed[: len(leaves)]
    chunks = dealt_apart(inputs.intervals, inputs.entries)
    scores = inputs.uniform is None and any(need for position, need in enumerate(needed) if position != VALUE)
    if chunks.keys > WIDEST or (chunks.separate and inputs.sums(chunks) > MUCH):
        return None
    grad = grad.to(torch.float32).reshape(inputs.entries, *grad.shape[-2:]).contiguous()
    computed = kernels.gradients(inputs, chunks, grad, scores=scores, values=needed[VALUE], v=_v(call))
    if computed is None:
        return None
    gradients = []
    for index, (part, (leaf, _)) in enumerate(zip(computed, leaves, strict=True)):
        if needed[index] and index != VALUE and not scores:
            gradients.append(torch.zeros_like(leaf))
        elif needed[index]:  # of all entries, summed over those that share the leaf
            summed = part.view(*call.batch, *part.shape[1:]).sum_to_size(leaf.shape)
            gradients.append(_no_view(summed.to(leaf.dtype).contiguous()))
    return gradients


def pairs(call: Call) -> Pairs | None:
    if isinstance(call.read, Sample) and call.read.uniform is None:
        zeros = torch.zeros(call.query.shape[-2], device="cpu")
        call = replace(call, read=Sample(call.read.estimator, uniform=zeros))
    inputs = _inputs(call)
    if inputs is None or _widest(call, inputs) > WIDEST:
        return None
    intervals, total = inputs.intervals, inputs.entries * call.query.shape[-2] * call.key.shape[-2]
    sharing = inputs.entries // len(intervals.starts)
    return Pairs(total, sharing * intervals.allowed, sharing * intervals.computed)


def _widest(call: Call, inputs: kernels.Inputs) -> int:
    additive = isinstance(call.score, Additive)
    return kernels.dealt_forward(inputs, received=call.aux.received, additive=additive).keys


def _no_view(tensor: Tensor) -> Tensor:
    """The same memory as no view: a Function's views cannot be written into."""
    if not tensor._is_view():
        return tensor
    return tensor.new_empty(0).set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def _inputs(call: Call) -> kernels.Inputs | None:
    """Arguments of the kernels, or None if they do not serve the call."""
    weights = _weights(call)
    if weights is None or not _fits(call):
        return None
    intervals = _intervals(call)
    if intervals is None or intervals.computed > LOOSE * intervals.allowed + SLACK * intervals.starts.numel():
        return None
    entries, uniform = math.prod(call.batch), None
    if isinstance(call.read, Sample) and call.read.uniform is not None:
        uniform = call.read.uniform.to(torch.float32).expand(*call.batch, call.query.shape[-2]).contiguous()
    query, key, value = (
        merged(part.to(torch.float32), call.batch, 2).contiguous() for part in (call.query, call.key, call.value)
    )
    return kernels.Inputs(query, key, value, intervals, weights, uniform, entries)


def _weights(call: Call) -> kernels.Weights | None:
    """Scale of the scores, temperature and α of the entmax family, or None."""
    score, normalizer = call.score, call.normalizer
    if type(score) is Additive:
        scale = 1.0
    elif isinstance(score, Dot | ScaledDot) and type(score) in (Dot, ScaledDot) and not score.leaves():
        _, _, scale, softcap = product(score, call.query[..., :1, :], call.key[..., :1, :])
        if softcap is not None:
            return None
    else:
        return None
    temperature, alpha = 1.0, 1.0
    if isinstance(normalizer, Softmax):
        if normalizer.sink is not None or isinstance(normalizer.temperature, Tensor):
            return None
        temperature = normalizer.temperature
    elif isinstance(normalizer, Entmax) and not isinstance(normalizer.alpha, Tensor):
        alpha = normalizer.alpha
    elif isinstance(normalizer, Sparsemax):
        alpha = 2.0
    else:
        return None
    weights = kernels.Weights(temperature, alpha, scale)
    return weights if weights.usable() else None


def _v(call: Call) -> Tensor | None:
    """The v of an additive score, float32 `(D,)` or `(N, D)`."""
    if not isinstance(call.score, Additive):
        return None
    v = merged(call.score.v.to(torch.float32), call.batch, 1)
    return v[0] if len(v) == 1 else v


def _fits(call: Call) -> bool:
    """Whether the kernels serve everything beside score, normalizer and mask."""
    read, additive = call.read, isinstance(call.score, Additive)
    sizes = [call.value.shape[-1], *([] if additive else [call.query.shape[-1]])]
    if call.bias is not None or call.gate is not None or call.dropout_p > 0 or transforming():
        return False
    drawn = type(read) is Sample and read.estimator == "reinforce" and read.uniform is not None
    if not drawn and type(read) is not Soft:
        return False
    if call.aux.top > (MANY if isinstance(call.normalizer, Softmax) else 0) or not SERVED.issuperset(
        result_names(call)
    ):
        return False
    if call.query.shape[-2] < BLOCK or not call.key.shape[-2] or 0 in (*call.batch, call.query.shape[-1]):
        return False
    if (additive and call.mask is None) or any(size % WHOLE for size in sizes):
        return False
    if not call.value.shape[-1] and not isinstance(call.normalizer, Softmax):
        return False
    return served(call.query, call.key, call.value, dtypes=(torch.float32, *HALF))


def _intervals(call: Call) -> Intervals | None:
    everything = torch.tensor([0], device="cpu"), torch.tensor([call.key.shape[-2]], device="cpu")
    bounds = everything if call.mask is None else intervals(call.mask, call.grid())
    if bounds is None:
        return None
    length = call.query.shape[-2]
    starts, ends = (bound.expand(*bound.shape[:-1], length) for bound in torch.broadcast_tensors(*bounds))
    return Intervals.of(*(merged(bound, call.batch, 1).contiguous() for bound in (starts, ends)))
