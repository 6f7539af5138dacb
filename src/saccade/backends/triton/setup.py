"""A call as the kernels of `fused` take it, and its gradients from theirs."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade import biases
from saccade._call.call import Call
from saccade._call.dot_products import product
from saccade._definitions.numerics import bounded, like, wide
from saccade._definitions.structure import Grid
from saccade.backends.triton import fused
from saccade.backends.triton.allowed import allowed_of, of_lengths
from saccade.backends.triton.blocks import Allowed, Lists
from saccade.backends.triton.fused import ADDITIVE, DISTANCE, ENTMAX, IDENTITY, PAIRS, SIGMOID, SLOPE, SUM, TABLE
from saccade.biases import Bias
from saccade.masks import Lengths, shift
from saccade.normalizers import Entmax, Normalizer, NormalizerFunction, Sigmoid, Softmax, Sparsemax, Sum
from saccade.scores import Additive, Dot, Gaussian, Location, ScaledDot, Score, ScoreFunction


class Inputs(NamedTuple):
    """Tensors that a gradient may reach, with aligned batch dimensions, and constants."""

    query: Tensor  # (..., Lq, D)
    key: Tensor  # (..., Lk, D)
    value: Tensor  # (..., Lk, E)
    v: Tensor | None  # (..., D)
    bias: Tensor | None  # slopes (...), a table (..., 2R + 1), or pairs (..., Lq, Lk)
    factors: Tensor | None  # (..., Lq or 1): 1 / temperature, or the bias of a sigmoid
    sinks: Tensor | None  # (..., Lq or 1)
    constants: dict[str, Any]

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name, without None."""
        return {name: part for name, part in zip(self._fields[:-1], self[:-1], strict=True) if part is not None}


def inputs_of(call: Call) -> Inputs:
    """Inputs of the kernels from an aligned call, recorded by autograd."""
    query, key, v, of_score = compared(call.score, call.query, call.key)
    bias, of_bias = (None, {}) if call.bias is None else biased(call.bias, call.grid(), wide(query).dtype)
    factors, sinks, of_weights = normalized(call.normalizer, wide(query))
    return Inputs(query, key, call.value, v, bias, factors, sinks, {**of_score, **of_bias, **of_weights})


def compared(
    score: Score | ScoreFunction, query: Tensor, key: Tensor
) -> tuple[Tensor, Tensor, Tensor | None, dict[str, Any]]:
    """Queries, keys, v, and constants of a score."""
    if isinstance(score, Additive):
        return wide(query), wide(key), wide(score.v), {"score": ADDITIVE}
    if isinstance(score, Gaussian):
        query, key = wide(query), wide(key)
        if not isinstance(score.bandwidth, Tensor):
            return query, key, None, {"score": DISTANCE, "scale": -0.5 / score.bandwidth**2}
        bandwidth = bounded(score.bandwidth, query)
        return query / bandwidth, key / bandwidth, None, {"score": DISTANCE, "scale": -0.5}
    if isinstance(score, Location):
        return query, score.weight[..., : key.shape[-2], :].to(query.dtype), None, {}
    if is_plain(score):
        query, key, scale, softcap = product(score, query, key)
    else:
        *rows, scale, softcap = product(score, wide(query), wide(key))
        query, key = (part.to(query.dtype) for part in rows)
    return query, key, None, {"scale": scale, "softcap": softcap}


def is_plain(score: Score | ScoreFunction) -> bool:
    """Whether the kernels read queries and keys of the score as they are."""
    return isinstance(score, Dot | ScaledDot | Additive) and not isinstance(getattr(score, "scale", None), Tensor)


def biased(bias: Bias, grid: Grid, dtype: torch.dtype) -> tuple[Tensor, dict[str, Any]]:
    """The numbers of a bias and its kind; one without a kind of its own is laid out."""
    if isinstance(bias, biases.Alibi | biases.RelativePosition) and not isinstance(bias.align, Tensor):
        kind, numbers = (SLOPE, bias.slopes) if isinstance(bias, biases.Alibi) else (TABLE, bias.table)
        return numbers.to(dtype), {"bias_kind": kind, "align": int(shift(bias.align, grid))}
    pairs = bias.values(grid, dtype)
    return pairs.expand(*pairs.shape[:-2], grid.q_len, grid.k_len), {"bias_kind": PAIRS}


def normalized(
    normalizer: Normalizer | NormalizerFunction, query: Tensor
) -> tuple[Tensor | None, Tensor | None, dict[str, Any]]:
    """Factors or biases of rows, sinks, and constants of a normalizer."""
    if isinstance(normalizer, Softmax):
        temperature, sink = normalizer.temperature, normalizer.sink
        plain = not isinstance(temperature, Tensor) and temperature == 1
        factors = None if plain else 1.0 / of_rows(bounded(temperature, query), query)
        return factors, None if sink is None else of_rows(like(sink, query), query), {}
    if isinstance(normalizer, Sigmoid):
        return of_rows(like(normalizer.bias, query), query), None, {"normalizer": SIGMOID}
    if isinstance(normalizer, Sparsemax | Entmax):
        alpha = getattr(normalizer, "alpha", 2.0)
        return None, None, {"normalizer": ENTMAX, "alpha": alpha} if alpha > 1 else {}
    if isinstance(normalizer, Sum):
        return None, None, {"normalizer": SUM, "eps": normalizer.eps}
    return None, None, {"normalizer": IDENTITY}


def of_rows(value: Tensor | float, query: Tensor) -> Tensor:
    """A number or a tensor `(..., Lq or 1, 1)` as `(..., Lq or 1)`."""
    if not isinstance(value, Tensor):
        return query.new_full((1,) * (query.ndim - 1), value)
    return value[..., 0]


class Kept:
    """A mask for the kernels and its lists of blocks, kept for later calls.

    They are those of a stream: another stream might read them before they are written.
    """

    def __init__(self) -> None:
        self._kept: dict[Any, tuple[Allowed, tuple[int, ...], dict[Any, Lists]]] = {}

    def of(self, call: Call) -> tuple[Allowed, tuple[int, ...], dict[Any, Lists]]:
        """The mask of a call, its batch dimensions, and its lists."""
        mask, device = call.mask, call.query.device
        assert mask is not None
        name = device, stream_of(device), call.rank
        kept = self._kept.get(name)
        if kept is None:
            of_mask = of_lengths(mask.key_lengths) if type(mask) is Lengths else allowed_of(mask, call.grid())
            kept = self._kept[name] = *of_mask, {}
        return kept


def stream_of(device: torch.device) -> int:
    """The current stream of a device, 0 on a CPU."""
    return torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0


def setup_of(call: Call, inputs: Inputs, *, learns: bool = False) -> fused.Setup:
    """Inputs with their batch dimensions folded into entries."""
    batch, q_len = call.batch, call.query.shape[-2]
    query, key, value, v, bias, factors, sinks, constants = inputs
    of_mask: tuple[int, ...] = ()
    of_bias: tuple[int, ...] = ()
    mask, lists = None, None
    if call.mask is not None:
        kept = Kept() if call.once is None else call.once.of(Kept)
        mask, of_mask, lists = kept.of(call)
    if bias is not None:
        axes = TRAILING[constants["bias_kind"]]
        of_bias = bias.shape[: bias.ndim - axes]
    entries = folding(batch, query.shape[:-2], key.shape[:-2], value.shape[:-2], of_mask, of_bias)
    if entries is None:  # three or more kinds of dimensions: copies
        query, key, value = (part.expand(*batch, *part.shape[-2:]) for part in (query, key, value))
        mask, lists = None if mask is None else mask.expanded(of_mask, batch), None
        bias = None if bias is None else bias.expand(*batch, *bias.shape[len(of_bias) :])
        entries = folding(batch, batch, batch, batch, () if mask is None else batch, () if bias is None else batch)
        assert entries is not None
    if bias is not None:
        bias = bias.flatten(0, bias.ndim - axes - 1) if bias.ndim > axes else bias[None]
        step = bias.stride(0) if bias.shape[0] > 1 else 0
        entries = (*entries[:9], *(entry * step for entry in entries[9:]))
    if v is not None and v.ndim > 1:
        v = v.expand(*batch, v.shape[-1]).flatten(0, -2) if v.numel() > v.shape[-1] else v.reshape(-1)
    rows = (*batch, q_len)
    return fused.Setup(
        query.contiguous(),
        key.contiguous(),
        value.contiguous(),
        batch,
        entries,
        mask,
        v=None if v is None else v.contiguous(),
        bias=bias,
        factors=None if factors is None else factors.expand(rows).contiguous(),
        sinks=None if sinks is None else sinks.expand(rows).contiguous(),
        bias_learns=learns,
        kept=lists,
        dropout_p=call.dropout_p,
        noise=None if call.noise is None else call.noise.expand(rows).contiguous(),
        **constants,
    )


TRAILING = {SLOPE: 0, TABLE: 1, PAIRS: 2}
"""Trailing axes of a bias by its kind."""


@functools.lru_cache(1024)
def folding(batch: tuple[int, ...], *shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Steps from entries of the batch to those of smaller tensors, for `fused.Setup`.

    Neighbouring dimensions that the same tensors share become one. None if more than two remain.
    """
    rank = len(batch)
    shapes = tuple((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes)
    groups: list[tuple[int, tuple[bool, ...]]] = []
    for dim, size in enumerate(batch):
        reads = tuple(shape[dim] != 1 for shape in shapes)
        if size == 1:
            continue
        if groups and groups[-1][1] == reads:
            groups[-1] = groups[-1][0] * size, reads
        else:
            groups.append((size, reads))
    if len(groups) > 2:
        return None
    inner, by_inner = groups[-1] if groups else (1, (False,) * len(shapes))
    by_outer = groups[0][1] if len(groups) == 2 else (False,) * len(shapes)
    steps = [inner]
    for outer, within in zip(by_outer, by_inner, strict=True):
        steps += [(inner if within else 1) if outer else 0, int(within)]
    return tuple(steps)


def gradients_of(call: Call, inputs: Inputs, of_kernels: dict[str, Any], names: Sequence[str]) -> dict[str, Tensor]:
    """Gradients of inputs by name, summed to their batch dimensions."""
    kind, summed = inputs.constants.get("bias_kind", 0), {}
    named = {**NAMES, "bias": {SLOPE: "slope", TABLE: "table"}.get(kind, "bias")}
    for name in names:
        tensor, gradient = getattr(inputs, name), of_kernels[named[name]]
        if name == "v" or (name == "bias" and kind != PAIRS):  # a part for each block or query
            gradient = gradient.sum(len(call.batch))
        if gradient.shape != tensor.shape:
            gradient = gradient.sum_to_size(tensor.shape)
        summed[name] = gradient.to(tensor.dtype)
    return summed


NAMES = {"query": "query", "key": "key", "value": "value", "v": "v", "factors": "factor", "sinks": "sink"}
"""Gradients of the kernels by the names of inputs."""
