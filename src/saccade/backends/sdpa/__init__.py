"""Dot-product scores with softmax by torch's `scaled_dot_product_attention`.

Every score that is a dot product of something serves: general projects the query, cosine takes unit vectors. Queries
that share keys (groups) become more rows of one head, not copies of the keys.
"""

import math
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from saccade import biases
from saccade._call.call import Call, Widened, closing_over
from saccade._call.dot_products import is_causal, product, sharing, why_not_sdpa
from saccade._definitions.functions import functions
from saccade._definitions.numerics import (
    HALF,
    broadcast_shapes,
    float32_precision,
    tracing,
    transforming,
    valueless,
    wide,
)
from saccade._definitions.structure import aligned
from saccade.auxiliary import AuxOutput
from saccade.backends import reference
from saccade.backends.blockwise import plan
from saccade.backends.folding import merged
from saccade.backends.offers import Answer, Answers, Offer, Pairs, Refusal
from saccade.backends.sdpa.derivatives import Recomputed, keeping_elsewhere, twice_differentiable
from saccade.backends.sdpa.documents import by_documents, documented
from saccade.kernels.scratch import scratch
from saccade.masks import Dense
from saccade.normalizers import Softmax
from saccade.scores import Score

NOTHING = AuxOutput()
# Limits of dense weights, mask or bias in bytes, on the CPU and elsewhere.
LAYOUT_LIMIT, FAR_LAYOUT_LIMIT = 64 << 20, 1 << 30
# Least pairs of a softmax with a sink. Others copy no keys for fewer.
LITTLE_SUNK = 1 << 19
FEW_SUNK = 128  # least queries of a softmax with a sink
FEW_HALF = 256  # least queries for torch's kernels of half types on a CPU: they start slowly
# Largest share of pairs in nonempty blocks for our blocks with `auto`. At half of the pairs they are 1.3 to 1.8 times
# as fast forward and 1.0 to 1.5 times trained, at a quarter 1.9 to 3.3 and 1.5 to 2.5 times (8 heads, 1,024 to 4,096
# keys, one thread).
HALF_EMPTY = 0.5
# Numbers of keys, and of values, converted together by a thread: a megabyte each.
NUMBERS = 1 << 18
MANY = 1 << 20  # pairs of the whole batch from which on empty blocks are searched: `cpu` computes fewer as one block


def offer(call: Call, rivals: Answers | None = None) -> Answer:
    """Whether torch's kernels serve the call, and their reason against `auto`."""
    reason = why_not_sdpa(call)
    if reason is not None:
        return Refusal(reason)
    assert isinstance(call.normalizer, Softmax)
    if call.normalizer.sink is not None and call.query.dtype in HALF and call.query.device.type != "cpu":
        dtype = call.query.dtype
        return Refusal(f"its kernels would round a sink to {dtype}, since it is a feature of the queries to them")
    if call.asks():
        names = ", ".join(call.aux.names())
        return Refusal(f"its kernels return the output alone, not what aux asks for: {names}")
    if transforming():
        return Refusal("torch's kernels have no second derivative and no rule for every torch.func transform")
    return Offer(peak_bytes, pairs, None if rivals is None else unwise(call, rivals))


def unwise(call: Call, rivals: Answers) -> str | None:
    """Reason for `auto` to avoid this backend, or None."""
    query = call.query
    if not tracing() and query.dtype == torch.float32 and query.device.type == "cpu" and rounding():
        return "its kernels take seven times as long where products of float32 may be rounded to bfloat16"
    reason = _sinking(call) if sunk(call) else None
    if reason is None and query.device.type == "cuda" and detours(call) and rivals.serves("triton"):
        return "it would lay mask or bias out and look at every pair, where Triton's kernels pass over forbidden blocks"
    if tracing() or reason is not None:
        return reason
    masked = call.mask is not None or call.bias is not None
    if not masked and call.dropout_p == 0 and query.shape[-1] == call.value.shape[-1]:
        return None
    reason = _laying_out(call)
    if reason is not None or call.mask is None or query.device.type != "cpu":
        return reason
    if call.pairs > MANY and lays_out(call) and rivals.serves("cpu") and plan.share(call) <= HALF_EMPTY:
        return "it would lay the mask out and look at every pair, where ours passes over blocks of forbidden ones"
    return None


def _laying_out(call: Call) -> str | None:
    """Tensors too large to be laid out for torch's kernels, in words, or None."""
    layout, here = (4 if call.mask is None else 5) * call.pairs, call.query.device.type == "cpu"
    limit = LAYOUT_LIMIT if here else FAR_LAYOUT_LIMIT
    if layout <= limit:
        return None
    weights = f"torch's math path, which lays out {layout >> 20} MiB of weights"
    if call.dropout_p > 0 and here:
        return f"dropout on a CPU takes {weights}"
    bias = call.bias if torch.is_grad_enabled() else None
    if bias is not None and (any(leaf.tensor.requires_grad for leaf in bias.leaves()) or closing_over(call)):
        return f"a bias that needs gradients takes {weights}"
    if lays_out(call) and (size := 4 * laid_out(call)) > limit:
        return f"mask and bias would be laid out in {size >> 20} MiB"
    return f"values of another width take {weights}" if here and call.query.shape[-1] != call.value.shape[-1] else None


def _sinking(call: Call) -> str | None:
    """Reason for `auto` to avoid a sink and its copies of keys and values, or None."""
    if tracing() or call.query.device.type != "cpu":
        return "a sink is one more key to its kernels: measured on a CPU alone, where sizes are known"
    if call.pairs < LITTLE_SUNK or call.query.shape[-2] < FEW_SUNK:
        return "a sink is one more key to its kernels: for so few queries to copy all keys takes longer than it spares"
    return None


def sunk(call: Call) -> bool:
    return isinstance(call.normalizer, Softmax) and call.normalizer.sink is not None


def rounding() -> bool:
    """Whether float32 products are rounded to bfloat16, slow for small products here."""
    return float32_precision("cpu") == "bf16" and _native(torch.bfloat16)


@cache
def _native(dtype: torch.dtype) -> bool:
    """Whether the CPU multiplies a half type, and torch knows."""
    names = {torch.bfloat16: "_is_mkldnn_bf16_supported", torch.float16: "_is_mkldnn_fp16_supported"}
    return torch.backends.mkldnn.is_available() and bool(getattr(torch.ops.mkldnn, names[dtype])())


def lays_out(call: Call) -> bool:
    if call.bias is not None:
        return True
    return call.mask is not None and not is_causal(call) and documented(call) is None


def detours(call: Call) -> bool:
    """Whether mask or bias must be laid out anew for torch's kernels."""
    parts = [part for part in (call.mask, call.bias) if part is not None]
    return lays_out(call) and not (len(parts) == 1 and isinstance(parts[0], Dense | biases.Dense))


def laid_out(call: Call) -> int:
    """Number of entries of dense mask and bias."""
    grid, rank = call.grid(), len(call.batch)
    unfolded = call.query.shape[:-2] == call.key.shape[:-2] == call.value.shape[:-2]
    if type(call.mask) is Dense and call.bias is None and unfolded and call.query.device.type == "cpu":
        return call.mask.allowed.numel()  # its kernels broadcast it
    if call.mask is None and type(call.bias) is biases.Dense and unfolded and call.query.device.type == "cpu":
        return 0  # it is there already, and they read it as it is
    batch = [1] * rank
    for part in (call.mask, call.bias):
        leaves = part.leaves() if part is not None else []
        shapes = [tuple(tensor.shape[: max(tensor.ndim - len(axes), 0)]) for tensor, axes in leaves]
        shapes += (
            [function.batch(call.query.device) for function in functions(part)] if grid.q_len and grid.k_len else []
        )
        for leading in shapes:
            for offset, size in enumerate(reversed(leading)):
                batch[rank - 1 - offset] = max(batch[rank - 1 - offset], size)
    for dim in range(rank - 1, -1, -1):  # groups that share keys are folded into rows, each with its own entries
        if any(t.shape[dim - rank - 2] != 1 for t in (call.key, call.value) if t.ndim >= rank + 2 - dim):
            break
        batch[dim] = call.batch[dim]
    return math.prod(batch) * grid.q_len * grid.k_len


def peak_bytes(call: Call) -> int:
    """Memory beside inputs and output: dense mask and bias, and maybe weights."""
    size = 8 if call.query.dtype == torch.float64 else 4
    layout = laid_out(call) * size if lays_out(call) else 0
    math_path = call.query.device.type == "cpu" and (call.dropout_p > 0 or call.query.shape[-1] != call.value.shape[-1])
    copies = size * sum(t.numel() for t in (call.query, call.key, call.value)) if widens(call) else 0
    return layout + copies + (2 * size * call.pairs if math_path else 0)


def pairs(call: Call) -> Pairs | None:
    """The pairs of documents, all of each even if causal. None for other masks."""
    documents = documented(call)
    if documents is None:
        return None
    computed = math.prod(call.batch) // len(documents.rows) * documents.pairs()
    return plan.pairs(call, 0, all_of_them=True)._replace(computed=computed)


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    """The output by torch's kernels, cleaned if NaN of forbidden keys came through."""
    if call.mask is None and call.bias is None:
        return attention(call), NOTHING
    if tracing() or call.query.device.type != "cpu" or valueless(call.query):  # values must not be read
        return attention(reference.cleaned(call)), NOTHING
    output = attention(call)
    # NaN of forbidden keys shows in the output, or may reach the backward by the inputs
    recorded = torch.is_grad_enabled() and output.requires_grad
    untrusted = reference.untrusted(call) if recorded else not math.isfinite(output.sum().item())
    return attention(reference.cleaned(call)) if untrusted else output, NOTHING


def attention(call: Call) -> Tensor:
    """The call as one scaled_dot_product_attention of four dimensions, and back."""
    assert isinstance(call.normalizer, Softmax)
    if call.mask is not None and (documents := documented(call)) is not None:
        return by_documents(call, documents, attention)
    query, key, value, batch = call.query, call.key, call.value, call.batch
    if widens(call):
        if few_entries(call):
            return by_entries(call)
        query, (key, value) = wide(query), widened(call)
    query, key, scale, _ = product(call.score, query, key)
    temperature = float(call.normalizer.temperature)
    query, scale = upright(query, scale / temperature)
    masked = call.mask is not None or call.bias is not None
    causal = masked and is_causal(call)
    bias, empty = laid_out_bias(call, temperature) if masked and not causal else (None, None)
    width, rows = value.shape[-1], query.shape[-2]
    if call.normalizer.sink is not None:
        query, key, value, bias = with_sink(call.normalizer.sink, query * scale, key, value, bias, causal)
        scale = 1.0
    missing = 4 - query.ndim
    if missing >= 0 and query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        four = (query, key, value)
        if missing:
            four = (query[(None,) * missing], key[(None,) * missing], value[(None,) * missing])
        if bias is not None and bias.ndim < 4:
            bias = bias[(None,) * (4 - bias.ndim)]
        output = kernel(call, *four, bias, causal, scale)
        output = output[(0,) * missing] if missing else output
    else:
        output = kernel(call, *four_dimensional(batch, query, key, value, bias, causal), causal, scale)
        output = output.reshape(*batch, query.shape[-2], value.shape[-1])
    if call.normalizer.sink is not None:
        output = output[..., query.shape[-2] - rows :, :width]
    output = output.to(call.value.dtype)
    return output if empty is None else output.masked_fill(empty, 0.0)


def few_entries(call: Call) -> bool:
    """Whether a call of half types has tensors alone, and no gradients."""
    assert isinstance(call.score, Score)
    assert isinstance(call.normalizer, Softmax)
    if tracing() or call.state is not None or call.mask is not None or call.bias is not None or call.dropout_p > 0:
        return False
    if call.score.leaves() or call.normalizer.sink is not None or call.learns():
        return False
    tensors = call.query, call.key, call.value
    alike = call.query.shape[:-2] == call.key.shape[:-2] == call.value.shape[:-2]
    return alike and all(tensor.numel() for tensor in tensors) and call.key.numel() > NUMBERS


def by_entries(call: Call) -> Tensor:
    """Keys and values become float32 some at a time: copies of all are fresh memory."""
    assert isinstance(call.normalizer, Softmax)
    count, temperature = math.prod(call.batch), float(call.normalizer.temperature)
    query, key, value = (part.reshape(count, *part.shape[-2:]) for part in (call.query, call.key, call.value))
    output = value.new_empty(count, query.shape[-2], value.shape[-1])
    widest = key.shape[-2] * max(key.shape[-1], value.shape[-1])
    together = torch.get_num_threads() * max(1, NUMBERS // widest)
    for first in range(0, count, together):
        part = slice(first, first + together)
        keys = scratch("half keys", key[part].shape, torch.float32).copy_(key[part])
        values = scratch("half values", value[part].shape, torch.float32).copy_(value[part])
        queries, keys, scale, _ = product(call.score, wide(query[part]), keys)
        queries, scale = upright(queries[None], scale / temperature)
        output[part] = scaled_dot_product_attention(queries, keys[None], values[None], scale=scale)[0]
    return output.view(*call.batch, *output.shape[-2:])


def widened(call: Call) -> tuple[Tensor, Tensor]:
    """Keys and values in float32, of a memory once for all reads."""
    if call.state is None or tracing():
        return wide(call.key), wide(call.value)
    return call.state.of(Widened).pair(call.key, call.value)


def widens(call: Call) -> bool:
    """Whether half types are computed in float32, on a CPU without their instructions."""
    if call.query.dtype not in HALF or call.query.device.type != "cpu":
        return False
    if sunk(call) or not _native(call.query.dtype):  # a sink is a feature of the queries: no rounding
        return True
    return not tracing() and call.query.shape[-2] < FEW_HALF


def with_sink(
    sink: float | Tensor, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, is_causal: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The sink as one more key with value zero.

    Its only feature that is not zero meets one more feature of the queries, which is the sink. So the sink gets a
    gradient, which a mask of the kernels would not have. If the mask is causal, the key comes first, with one more
    query before the others: each query sees the sink and the keys up to its own.
    """
    pad, front = torch.nn.functional.pad, (1, 0) if is_causal else (0, 1)
    logit = torch.as_tensor(sink, dtype=query.dtype, device=query.device)
    largest = torch.finfo(query.dtype).max / 2
    logit = logit.clamp(-largest, largest)  # ∞ · 0 is NaN
    logit = logit[(None,) * max(2 - logit.ndim, 0)]
    batch = broadcast_shapes(query.shape[:-2], logit.shape[:-2])
    query = torch.cat((query.expand(*batch, *query.shape[-2:]), logit.expand(*batch, query.shape[-2], 1)), -1)
    marked = pad(key.new_ones(1, 1), (key.shape[-1], 0)).expand(*key.shape[:-2], 1, -1)
    sides = (marked, pad(key, (0, 1)))
    key = torch.cat(sides if is_causal else sides[::-1], -2)
    if bias is not None:
        bias = bias.expand(*bias.shape[:-1], value.shape[-2])
        bias = torch.cat((bias, bias.new_full((), bias.dtype == torch.bool).expand(*bias.shape[:-1], 1)), -1)
    return pad(query, (0, 0, 1, 0)) if is_causal else query, key, pad(value, (0, 1, *front)), bias


def upright(query: Tensor, scale: float) -> tuple[Tensor, float]:
    """The same products under a scale above 0.

    torch's kernels multiply the −inf of a causal mask by the scale, and take a row's largest score before it: NaN if
    the scale is 0, the wrong end if it is negative.

    >>> upright(torch.ones(2), -0.5)
    (tensor([-1., -1.]), 0.5)
    """
    if abs(scale) < torch.finfo(torch.float32).tiny:  # which is 0 in the kernels
        return query * 0.0, 1.0
    return (-query, -scale) if scale < 0 else (query, scale)


def laid_out_bias(call: Call, temperature: float) -> tuple[Tensor | None, Tensor | None]:
    """Mask and bias / T for torch, and rows without an allowed key `(..., Lq, 1)`.

    None for the rows on a CPU: its kernels give zeros there, forward and backward, as tests check.
    """
    if call.bias is None and type(call.mask) is Dense and call.query.device.type == "cpu":
        return call.mask.allowed, None
    if call.mask is None and type(call.bias) is biases.Dense and call.query.device.type == "cpu":
        tensor = call.bias.tensor.to(wide(call.query).dtype)
        return tensor if temperature == 1 else tensor / temperature, None
    grid = call.grid()
    allowed = reference.allowed_keys(call, grid)
    empty = None if call.query.device.type == "cpu" else ~allowed.any(-1, keepdim=True)
    if call.bias is None:
        return allowed, empty
    values = call.bias.values(grid, wide(call.query).dtype) / temperature
    shape = broadcast_shapes(values.shape, allowed.shape)
    values = values.expand(shape).masked_fill(~allowed, -torch.inf)
    # a CPU's kernels take a float32 bias beside half types, with less rounding
    return (values if empty is None else values.to(call.query.dtype)), empty


def four_dimensional(
    batch: tuple[int, ...], query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, is_causal: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The tensors as `(N, H, L, D)`, the fast layout. Groups that share keys are rows."""
    rank = len(batch)
    query, key, value = (aligned(tensor, ("l", "d"), rank) for tensor in (query, key, value))
    bias = aligned(bias, ("q", "k"), rank) if bias is not None else None
    groups = 0 if is_causal else sharing(rank, key, value)
    outer, inner = batch[: rank - groups], batch[rank - groups :]
    if groups:
        rows = math.prod(inner) * query.shape[-2]
        if bias is not None:
            bias = bias.expand(*bias.shape[: rank - groups], *inner, query.shape[-2], bias.shape[-1])
            bias = bias.reshape(*bias.shape[: rank - groups], rows, bias.shape[-1])
        query = query.expand(*query.shape[: rank - groups], *inner, *query.shape[-2:])
        query = query.reshape(*query.shape[: rank - groups], rows, query.shape[-1])
        key, value = (t.reshape(*t.shape[: rank - groups], *t.shape[-2:]) for t in (key, value))
    leading = (math.prod(outer[:-1]), outer[-1]) if outer else (1, 1)
    tensors = (tensor.expand(*outer, *tensor.shape[-2:]) for tensor in (query, key, value))
    query, key, value = (tensor.reshape(*leading, *tensor.shape[-2:]) for tensor in tensors)
    return query, key, value, None if bias is None else merged(bias, outer, 2, max(len(outer) - 1, 0))


def kernel(
    call: Call, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, is_causal: bool, scale: float
) -> Tensor:
    """torch's kernel, made twice differentiable if a gradient is recorded eagerly."""
    learns = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
    # A bias that learns, and dropout on a CPU, take torch's plain formula, which is twice differentiable by itself.
    ours = learns and call.dropout_p == 0 and not tracing() and (bias is None or not bias.requires_grad)
    if ours and keeping_elsewhere():
        recomputed: Tensor = Recomputed.apply(query, key, value, bias, is_causal, scale)
        return recomputed
    output = scaled_dot_product_attention(query, key, value, bias, call.dropout_p, is_causal, scale=scale)
    if ours:
        twice_differentiable(output)
    return output
