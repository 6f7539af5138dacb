"""A call as the kernels of `fused` take it, and its gradients from theirs."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade import biases
from saccade._call.call import Call
from saccade._call.dot_products import product
from saccade._definitions.numerics import bounded, like, wide
from saccade._definitions.structure import Grid
from saccade.backends.triton import fused
from saccade.backends.triton.allowed import allowed_of
from saccade.biases import Bias
from saccade.masks import shift
from saccade.normalizers import Entmax, Normalizer, NormalizerFunction, Sigmoid, Softmax, Sparsemax, Sum
from saccade.scores import Additive, Dot, Gaussian, Location, ScaledDot, Score, ScoreFunction

DOT, ADDITIVE, DISTANCE = 0, 1, 2
SOFTMAX, SIGMOID, SUM, IDENTITY, ENTMAX = range(5)
SLOPE, TABLE, PAIRS = 1, 2, 3

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
        """The tensors by name, without those that are None."""
        return {name: part for name, part in zip(self._fields[:-1], self[:-1], strict=True) if part is not None}


def inputs_of(call: Call) -> Inputs:
    """Inputs of an aligned call that the kernels serve; autograd records how they are made."""
    query, key, v, of_score = compared(call.score, call.query, call.key)
    bias, of_bias = biased(call.bias, call.grid(), wide(query).dtype)
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
    dtype, plain = query.dtype, type(score) in (Dot, ScaledDot) and not isinstance(getattr(score, "scale", None), Tensor)
    factors = product(score, *((query, key) if plain else (wide(query), wide(key))))
    return factors.query.to(dtype), factors.key.to(dtype), None, {"scale": factors.scale, "softcap": factors.softcap}


def biased(bias: Bias | None, grid: Grid, dtype: torch.dtype) -> tuple[Tensor | None, dict[str, Any]]:
    """The numbers of a bias and its kind; one without a kind of its own is laid out."""
    if bias is None:
        return None, {}
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
    return None, None, {"normalizer": SUM, "eps": normalizer.eps} if isinstance(normalizer, Sum) else {
        "normalizer": IDENTITY
    }


def of_rows(value: Tensor | float, query: Tensor) -> Tensor:
    """A number or a tensor `(..., Lq or 1, 1)` as `(..., Lq or 1)`."""
    if not isinstance(value, Tensor):
        return query.new_full((1,) * (query.ndim - 1), value)
    return value[..., 0]


def setup_of(call: Call, inputs: Inputs, *, learns: bool = False) -> fused.Setup:
    """Inputs with their batch dimensions folded into entries, without gradients."""
    batch, q_len = call.batch, call.query.shape[-2]
    mask, mask_batch = (None, ()) if call.mask is None else allowed_of(call.mask, call.grid())
    kind = inputs.constants.get("bias_kind", 0)
    axes = {SLOPE: 0, TABLE: 1, PAIRS: 2}.get(kind, 0)
    parts = {name: tensor.detach() for name, tensor in inputs.tensors().items()}
    shapes = [parts[name].shape[:-2] for name in ("query", "key", "value")]
    bias = parts.get("bias")
    shapes += [mask_batch, () if bias is None else bias.shape[: bias.ndim - axes]]
    for name in ("query", "key", "value"):
        parts[name] = stacked(parts[name], 2)
    if bias is not None:
        parts["bias"] = bias.reshape(-1, *bias.shape[bias.ndim - axes :]) if axes < 2 else flat(bias)
    for name in ("factors", "sinks"):
        if name in parts:
            rows = parts[name]
            parts[name] = rows.expand(*batch, q_len).reshape(-1, q_len).contiguous()
    if "v" in parts:
        v = parts["v"]
        shared = math.prod(v.shape[:-1]) == 1
        parts["v"] = v.reshape(-1) if shared else v.expand(*batch, v.shape[-1]).reshape(-1, v.shape[-1]).contiguous()
    return fused.Setup(
        **parts,
        owners=owners(batch, shapes, call.query.device),
        mask=mask,
        bias_learns=learns,
        **inputs.constants,
    )


def stacked(tensor: Tensor, axes: int) -> Tensor:
    """The batch dimensions of a tensor as one, contiguous."""
    return tensor.reshape(-1, *tensor.shape[tensor.ndim - axes :]).contiguous()


def flat(pairs: Tensor) -> Tensor:
    """`(..., Lq, Lk)` as `(N, Lq, Lk)`, without a copy of expanded rows or columns if strides allow."""
    return pairs.reshape(-1, *pairs.shape[-2:]) if pairs.ndim != 2 else pairs[None]


def owners(batch: tuple[int, ...], shapes: list[tuple[int, ...]], device: torch.device) -> Tensor:
    """Which entry of a folded tensor each entry of the batch reads, int32 `(len(shapes), N)`."""
    count = math.prod(batch)
    rows = []
    for shape in shapes:
        own = torch.arange(math.prod(shape), dtype=torch.int32, device=device).view(shape)
        rows.append(own.expand(batch).reshape(count))
    return torch.stack(rows)


def gradients_of(call: Call, inputs: Inputs, of_kernels: dict[str, Any]) -> dict[str, Tensor]:
    """Gradients of the inputs, summed to their batch dimensions, from those of each entry."""
    batch, summed = call.batch, {}
    kind = inputs.constants.get("bias_kind", 0)
    named = {"query": "query", "key": "key", "value": "value", "factors": "factor", "sinks": "sink", "v": "v"}
    named |= {"bias": {SLOPE: "slope", TABLE: "table", PAIRS: "bias"}.get(kind, "")}
    for name, tensor in inputs.tensors().items():
        if not tensor.requires_grad:
            continue
        gradient = of_kernels[named[name]]
        if name == "v" or (name == "bias" and kind != PAIRS):
            gradient = gradient.sum(1)
        gradient = gradient.reshape(*batch, *gradient.shape[1:])
        summed[name] = gradient.sum_to_size(tensor.shape).to(tensor.dtype)
    return summed
