"""The definition of attention in plain PyTorch: the specification of backends.

It serves every call, on any device, to any derivative, and lays the weights out in memory.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade._call.call import Call, rows
from saccade._definitions.numerics import broadcast_shapes, recorded, tracing, transforming, valueless, wide
from saccade._definitions.structure import Definition, Grid
from saccade._definitions.user_callables import bind_positions
from saccade.auxiliary import AuxOutput, entropy, log_probability, top
from saccade.backends.offers import Answers, Offer
from saccade.biases import unread
from saccade.errors import ShapeError
from saccade.masks import _intervals
from saccade.normalizers import Normalizer, Softmax
from saccade.reads import Read, largest
from saccade.scores import Additive, Score

# Pairs evaluated together to find the participants, on the CPU and elsewhere. They fit a CPU's cache. Elsewhere there
# are enough to repay the start of operations.
LOOKS, FAR_LOOKS = 1 << 22, 1 << 26
# Largest call of the plain formula on a CPU, in bytes. Blocks are faster above.
SMALL = 8 << 20
# Bytes of terms of an additive score without kernels, and with a backward. Each term costs a tanh, for example in a
# decoder's single steps. For a backward the formula keeps the terms, and blocks would compute them twice. The limit
# holds for one call, and a decoder keeps the terms of many.
SMALL_ADDITIVE, SMALL_ADDITIVE_RECORDED = 1 << 20, 4 << 20
# Largest call of the plain formula off the CPU, in bytes, and with a backward. They are measured on an H100 with
# additive scores (`saccade bench --rows "additive forward*eager"`). For a backward it keeps them, for example at each
# step of a decoder.
FAR_SMALL, FAR_SMALL_RECORDED = 1 << 27, 1 << 24


def offer(call: Call, rivals: Answers | None = None) -> Offer:
    """It serves every call, but not a large one well, if blocks can serve it."""
    reason = None
    if rivals is not None and (tracing() or not is_small(call)) and rivals.serves("chunked"):
        size = "" if tracing() else f", about {peak_bytes(call):,} bytes,"  # or a symbol would become a constant
        reason = f"it lays the weights out{size} and is slower"
    return Offer(peak_bytes, reason=reason)


def is_small(call: Call) -> bool:
    """Whether the plain formula of a call is faster than blocks and kernels."""
    limit = recorded = SMALL
    if call.query.device.type != "cpu":
        limit, recorded = FAR_SMALL, FAR_SMALL_RECORDED
    elif isinstance(call.score, Additive):
        limit, recorded = SMALL_ADDITIVE, SMALL_ADDITIVE_RECORDED
    size = peak_bytes(call)
    if min(limit, recorded) < size <= max(limit, recorded):
        return size <= (recorded if call.learns() else limit)
    return size <= limit


def peak_bytes(call: Call) -> int:
    """Memory beside inputs and output: scores, weights and their gradients."""
    size = 8 if call.query.dtype == torch.float64 else 4
    features = call.query.shape[-1] if isinstance(call.score, Additive) else 1
    return size * call.pairs * max(features, 3)


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    if untrusted(call):
        call = cleaned(call)
    return attention(call, call.grid())


Statistics = dict[str, Tensor]  # statistics that came with the weights, by their names in `AuxOutput`


class Parts(NamedTuple):
    """Steps that a backend may compute differently, with the same meaning.

    Scores `(..., rows, Lk)` at forbidden keys may be anything. With the weights come statistics by name: lse if
    requested, and others without a cost.
    """

    compare: Callable[[Call, Grid, Tensor | None], Tensor]
    normalize: Callable[[Call, Tensor, Tensor | None], tuple[Tensor, Statistics]]
    choose: Callable[[Read, Tensor, Tensor | None], Tensor]  # the key that a hard read takes
    entropy: Callable[[Tensor], Tensor]
    largest: Callable[[Tensor, int, Tensor | None], tuple[Tensor, Tensor]]


def attention(call: Call, grid: Grid) -> tuple[Tensor, AuxOutput]:
    return read(call, grid, *weigh(call, grid))


def weigh(call: Call, grid: Grid, parts: Parts | None = None) -> tuple[Tensor, Tensor | None, Statistics]:
    """Weights `(..., rows, Lk)` after the gate, allowed keys, and statistics."""
    parts = parts or PLAIN
    call = positioned(call, grid)
    scores, allowed = scored(call, grid, parts)
    weights, statistics = parts.normalize(call, scores, allowed)
    if call.gate is not None:  # lse is of the scores; with a gate, no other statistic here is requested
        weights = weights * call.gate.factor(grid, weights.dtype, allowed)
    return weights, allowed, statistics


def positioned(call: Call, grid: Grid) -> Call:
    """The call with the positions of a block bound to callables that take them."""
    if call.built_in:
        return call
    return replace(call, score=bind_positions(call.score, grid), normalizer=bind_positions(call.normalizer, grid))


def scored(call: Call, grid: Grid, parts: Parts) -> tuple[Tensor, Tensor | None]:
    """Scores `(..., rows, Lk)` with their bias, and the allowed keys."""
    allowed, bias = call.mask.dense(grid) if call.mask is not None else None, None
    if (present := grid.present()) is not None:
        allowed = both(allowed, present)
    if call.bias is not None:
        bias = call.bias.values(grid, wide(call.query).dtype)
        allowed = both(allowed, bias.detach() != -torch.inf)
    scores = parts.compare(call, grid, allowed)
    if bias is not None:
        scores = scores + unread(bias, allowed)
    if not isinstance(call.score, Score):
        allowed = both(allowed, scores.detach() != -torch.inf)
    return scores.expand(*call.batch, grid.rows, grid.width), allowed


def compared(call: Call, grid: Grid, allowed: Tensor | None = None) -> Tensor:
    """Scores; half types are compared in float32."""
    query, key = copies(call.score, call.query, call.key)
    if isinstance(call.score, Score):
        return call.score(wide(query), wide(key))
    batch = tuple(broadcast_shapes(query.shape[:-2], key.shape[:-2]))
    return checked(call.score(query, key), (*batch, grid.rows, grid.k_len), "score").to(wide(query).dtype)


def normalized(call: Call, scores: Tensor, allowed: Tensor | None) -> tuple[Tensor, Statistics]:
    allowed = allowed.expand(scores.shape) if allowed is not None else None
    arguments = copies(call.normalizer, scores, allowed)
    if isinstance(call.normalizer, Normalizer):
        weights = call.normalizer.formula(*arguments)
    else:
        weights = checked(call.normalizer(*arguments), tuple(scores.shape), "normalizer").to(scores.dtype)
        weights = weights if allowed is None else weights.masked_fill(~allowed, 0.0)
    if call.aux.lse and isinstance(call.normalizer, Softmax):
        return weights, {"lse": call.normalizer.log_partition(scores, allowed)}
    return weights, {}


def copies(function: Any, first: Tensor, second: Tensor | None) -> tuple[Tensor, Any]:
    """Arguments of a score or normalizer, copied if it may write into them."""
    if isinstance(function, Definition) and function.is_registered:
        return first, second
    return first.clone(), None if second is None else second.clone()


def checked(result: Tensor, shape: tuple[int, ...], name: str) -> Tensor:
    """The result of a user's callable, expanded, or a `ShapeError`."""
    got = f"{tuple(result.shape)} of {result.dtype}" if isinstance(result, Tensor) else type(result).__name__
    message = (
        f"{name}: expected the callable to return floats (..., Lq, Lk) = {shape}, got {got}; it is called with blocks "
        "of queries, so row i may use query row i and all keys, and nothing of its own that has the queries' length"
    )
    if not isinstance(result, Tensor) or not result.is_floating_point() or result.shape[-2:] != shape[-2:]:
        raise ShapeError(message)
    try:
        return result.expand(shape)
    except RuntimeError:
        raise ShapeError(message) from None


def both(first: Tensor | None, second: Tensor) -> Tensor:
    return second if first is None else first & second


def read(
    call: Call, grid: Grid, weights: Tensor, allowed: Tensor | None, statistics: Statistics, parts: Parts | None = None
) -> tuple[Tensor, AuxOutput]:
    """Output and statistics from the weights."""
    request, dropped, parts = call.aux, dropout(call, weights, grid.k_index), parts or PLAIN
    allowed = allowed.expand(weights.shape) if allowed is not None else None
    index = parts.choose(call.read, dropped, allowed) if call.read.chooses else None
    value = wide(call.value)
    output = call.read(dropped, value, allowed, index).to(call.value.dtype)
    log_prob = log_probability(dropped, index) if request.log_prob and index is not None else None
    entropies, leading = None, None
    if request.entropy:
        entropies = statistics["entropy"] if "entropy" in statistics else parts.entropy(weights)
    if request.top:
        if "top_indices" in statistics:
            values, indices = top(statistics["top_values"], statistics["top_indices"])
        else:
            values, indices = top(*parts.largest(weights, request.top, allowed))
        leading = values, indices if grid.k_index is None else grid.of_call(indices.flatten(-2)).view(indices.shape)
    return output, AuxOutput(
        weights=weights if request.weights else None,
        lse=statistics["lse"] if request.lse else None,
        index=grid.of_call(index) if request.index and index is not None else None,
        log_prob=log_prob,
        entropy=entropies,
        top=leading,
        received=weights.sum(-2) if request.received else None,
    )


def chosen(read: Read, weights: Tensor, allowed: Tensor | None) -> Tensor:
    """The key that a hard read takes."""
    return read.index(weights, allowed)


PLAIN = Parts(compared, normalized, chosen, entropy, largest)  # the definitions


def dropout(call: Call, weights: Tensor, positions: Tensor | None = None) -> Tensor:
    """weights / (1 − p) with probability 1 − p, else 0.

    The row's noise and the key's position alone decide, by a hash: every backend, every block and the backward pass
    drop the same weights.
    """
    if call.noise is None or call.dropout_p == 0:
        return weights
    if call.dropout_p == 1:
        return weights * 0.0
    position = torch.arange(weights.shape[-1], device=weights.device) if positions is None else positions
    bits = call.noise[..., None] ^ ((position * 0x5BD1E995) & 0xFFFFFFFF)
    for multiplier in (0x7FEB352D, 0x45D9F3B5):
        bits = ((bits ^ (bits >> 16)) * multiplier) & 0xFFFFFFFF
    bits = bits ^ (bits >> 15)
    keep = bits >= int(call.dropout_p * (1 << 32))
    return weights * keep.to(weights.dtype) / (1 - call.dropout_p)


def untrusted(call: Call) -> bool:
    """Whether forbidden keys or queries may hold NaN or infinities (0 · NaN is NaN).

    One reduction an input decides if values may be read (eagerly on a CPU). Otherwise they may.
    """
    if call.mask is None and call.bias is None:
        return False
    if isinstance(call.score, Score) and call.score.mixes_keys:
        return True
    if tracing() or transforming() or call.query.device.type != "cpu" or valueless(call.query):
        return True
    total = call.query.detach().sum() + call.key.detach().sum() + call.value.detach().sum()
    return not bool(torch.isfinite(total))


def cleaned(call: Call, taking_part: tuple[Tensor, Tensor] | None = None) -> Call:
    """The call with zeros in keys, values and queries but for `participants`."""
    mask = call.mask if taking_part is None and call.bias is None and not tracing() else None
    if mask is not None and _intervals.everybody(mask, call.grid()):
        return call
    keys, queries = taking_part or participants(call)
    kept = shared(keys, call.key)[..., None]
    key = call.key.masked_fill(~kept, 0.0)
    if getattr(call.score, "mixes_keys", False):  # it takes means over keys: their mean in place of the others
        mean = wide(key).detach().sum(-2, keepdim=True) / kept.sum(-2, keepdim=True).clamp(min=1)
        key = torch.where(kept, key, mean.to(key.dtype))
    return replace(
        call,
        query=call.query.masked_fill(~shared(queries, call.query)[..., None], 0.0),
        key=key,
        value=call.value.masked_fill(~shared(keys, call.value)[..., None], 0.0),
        cache=None,
    )


def participants(call: Call) -> tuple[Tensor, Tensor]:
    """Keys `(..., Lk)` and queries `(..., Lq)` with an allowed pair."""
    return by_intervals(call) or looked_up(call)


def by_intervals(call: Call) -> tuple[Tensor, Tensor] | None:
    """`participants` by each query's interval of keys, or None."""
    if call.mask is None or call.bias is not None or tracing() or transforming() or recorded():
        return None
    flags = _intervals.participants(call.mask, call.grid())
    return None if flags is None else (ranked(call, flags[0]), ranked(call, flags[1]))


def looked_up(call: Call, budget: int | None = None) -> tuple[Tensor, Tensor]:
    """`participants` by every pair, block by block."""
    grid = call.grid()
    if budget is None:
        budget = LOOKS if grid.device.type == "cpu" else FAR_LOOKS
    pairs = math.prod(call.batch) * grid.k_len  # of one query
    size = grid.q_len if tracing() or transforming() else max(1, budget // max(1, pairs))
    keys: list[Tensor] = []
    queries: list[Tensor] = []
    for start in range(0, grid.q_len, size) if size < grid.q_len else (0,):
        count = min(size, grid.q_len - start)
        allowed = allowed_keys(rows(call, start, count), grid._replace(start=start, rows=count))
        allowed = allowed.expand(*allowed.shape[:-2], count, grid.k_len)
        keys = [functools.reduce(torch.logical_or, (*keys, allowed.any(-2)))]
        queries.append(allowed.any(-1))
    return ranked(call, keys[0]), ranked(call, torch.cat(queries, -1))


def ranked(call: Call, flags: Tensor) -> Tensor:
    return flags[(None,) * (len(call.batch) + 1 - flags.ndim)]


def allowed_keys(call: Call, grid: Grid) -> Tensor:
    allowed = call.mask.dense(grid) if call.mask is not None else None
    if call.bias is not None:
        allowed = both(allowed, call.bias.values(grid, wide(call.query.detach()).dtype).detach() != -torch.inf)
    assert allowed is not None
    return allowed


def shared(flags: Tensor, tensor: Tensor) -> Tensor:
    """Flags `(*batch, L)` reduced by any() to the batch dimensions of a tensor."""
    batch = tensor.shape[:-2]
    flags = flags.any(dim=tuple(range(flags.ndim - 1 - len(batch)))) if flags.ndim - 1 > len(batch) else flags
    for dim, size in enumerate(batch):
        if flags.shape[dim] != size:
            flags = flags.any(dim, keepdim=True)
    return flags
