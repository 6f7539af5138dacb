"""Norms and gates of heads, masks and positions for them, and their extra keys."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from saccade import normalizers, reads, scores
from saccade._definitions.checks import batch_only, on_device, per_position
from saccade._definitions.numerics import wide
from saccade._definitions.state import BackendState
from saccade._definitions.structure import Axes, Extent
from saccade.auxiliary import AuxRequest
from saccade.biases import GaussianWindow, Product, Total
from saccade.errors import ArgumentError
from saccade.masks import Around, Both, Either, Not, Prepared

_PAIRS = (Both, Either, Total, Product)


def head_norm(kind: str | None, head_dim: int, bias: bool, **factory: Any) -> nn.Module:
    r"""Normalization of a head's features, with factors shared by heads.

    "rms" is x / √(mean x² + ε) · g, "layer" (x − mean x) / √(var x + ε) · g, with a bias if the projections have one.
    """
    if kind is None:
        return nn.Identity()
    if kind == "rms":
        return nn.RMSNorm(head_dim, eps=1e-6, **factory)
    if kind == "layer":
        return nn.LayerNorm(head_dim, eps=1e-6, bias=bias, **factory)
    expected = "expected one of 'rms', 'layer' or None"
    raise ArgumentError(f"qk_norm: {expected}, got {kind!r}. For unit vectors use score=scores.Cosine(beta).")


def output_gating(kind: str | None, sizes: tuple[int, int, int], bias: bool, **factory: Any) -> nn.Linear | None:
    """Projection to gates, by `(embed_dim, num_heads, value_head_dim)`."""
    if kind not in (None, "elementwise", "headwise"):
        raise ArgumentError(f"output_gate: expected one of 'elementwise', 'headwise' or None, got {kind!r}")
    embed_dim, num_heads, value_head_dim = sizes
    gates = num_heads if kind == "headwise" else num_heads * value_head_dim
    return None if kind is None else nn.Linear(embed_dim, gates, bias=bias, **factory)


class StateBesideHeads:
    """Blocks of a prepared mask in modules with heads, apart from its own.

    For example, centers `(2, Lq)` of `masks.Around` are two heads to `attend`, and two examples to a module.
    """

    def __init__(self) -> None:
        self._states: dict[tuple[int, int], BackendState] = {}

    def of(self, rank: int, heads: int) -> BackendState:
        return self._states.setdefault((rank, heads), BackendState())


def beside_heads(definition: Any, rank: int, heads: int) -> Any:
    """A mask, bias or gate of examples, for scores with dimensions of heads.

    The `heads` dimensions come behind `rank` of the batch. Tensors with dimensions of the heads keep them.
    `biases.GaussianWindow` is the only bias or gate that changes. An `align` of each example needs a dimension of the
    heads.
    """
    if isinstance(definition, _PAIRS):
        parts = definition.first, definition.second
        return type(definition)(*(beside_heads(part, rank, heads) for part in parts))
    if isinstance(definition, Not):
        return type(definition)(beside_heads(definition.other, rank, heads))
    if isinstance(definition, Prepared):
        state = definition.state.of(StateBesideHeads).of(rank, heads)
        return replace(definition, mask=beside_heads(definition.mask, rank, heads), state=state)
    if not rank or not (isinstance(definition, Around | GaussianWindow) or getattr(definition, "per_example", False)):
        return definition

    def widened(tensor: Tensor, axes: Axes) -> Tensor:
        if tensor.ndim != rank + len(axes):
            return tensor
        return tensor[(slice(None),) * rank + (None,) * heads]

    return definition.map(widened)


def checked_positions(positions: Tensor, x: Tensor, rotary_base: float | None) -> Tensor:
    """Positions `(..., L)` of the tokens of x `(..., L, D)`, for a rotary module."""
    if rotary_base is None:
        raise ArgumentError(
            "positions: expected None for a module without rotary positions, got some. Give the module a rotary_base, "
            "or move masks and biases by align=."
        )
    length = x.shape[-2]
    extent = Extent(tuple(x.shape[:-2]), length, length, x.shape[-1], x.shape[-1], x.dtype, x.device, values=False)
    per_position("positions", positions, length, "L", extent)
    batch_only("positions", tuple(positions.shape[:-1]), extent)
    on_device("positions", positions, extent)
    return positions.expand(*positions.shape[:-1], length)


def check_extra_keys(name: str, score: Any, normalizer: Any, read: Any) -> None:
    """Raise `ArgumentError` about `name` if extra keys are undefined."""
    if not isinstance(score, scores.Score) or isinstance(score, scores.Location):
        got = "scores.Location" if isinstance(score, scores.Location) else "a callable"
        raise ArgumentError(f"{name}: expected a score of saccade.scores that compares contents, got {got}")
    if not isinstance(normalizer, normalizers.Softmax):
        raise ArgumentError(f"{name}: expected normalizers.Softmax, got {type(normalizer).__name__}. Leave {name} out.")
    if not isinstance(read, reads.Soft):
        raise ArgumentError(f"{name}: expected reads.Soft, got {type(read).__name__}. Leave {name} out.")


def with_extra_keys(
    call: Callable[..., Any],
    options: dict[str, Any],
    score: scores.Score,
    query: Tensor,
    key: Tensor | None,
    value: Tensor,
    zero: bool,
) -> Any:
    """The result of a call with the keys of `add_bias_kv` and `add_zero_attn`.

    Every query may attend to them, whatever the mask. They are no part of masks, positions, memories or statistics. A
    softmax over both kinds of keys is a softmax with a sink over the input's keys. The values of extra keys get the
    share of the sink.

    Queries are in heads, `(..., Lq, D)`. Learned key and value are `(..., 1, D)`. If there are none, key is None and
    value only has the right shape. `zero` adds a key and a value of zeros.
    """
    normalizer, aux = options["normalizer"], options["aux"]
    keys, values = ([], []) if key is None else ([key], [value])
    if zero:
        keys.append(query.new_zeros(1, query.shape[-1]).expand(*value.shape[:-2], 1, -1))
        values.append(torch.zeros_like(value))
    logits = normalizer.scaled(score(wide(query), wide(torch.cat(keys, -2))))
    sink = logits.logsumexp(-1, keepdim=True)
    if normalizer.sink is not None:
        sink = torch.logaddexp(sink, torch.as_tensor(normalizer.sink, dtype=sink.dtype, device=sink.device))
    request = replace(AuxRequest() if aux is None else aux, lse=True)
    output, statistics = call(**{**options, "normalizer": replace(normalizer, sink=sink), "aux": request})
    total = torch.logaddexp(statistics.lse[..., None].to(sink.dtype), sink)
    weights = torch.nn.functional.dropout((logits - total).exp(), options["dropout_p"])
    output = output + (weights @ wide(torch.cat(values, -2))).to(output.dtype)
    if aux is None:
        return output
    return output, statistics if aux.lse else replace(statistics, lse=None)
