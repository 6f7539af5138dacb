"""Parts of `MultiheadAttention`: norms and gates of heads, and masks, biases and positions for them."""

from typing import Any

from torch import Tensor, nn

from saccade._definitions.checks import batch_only, on_device, per_position
from saccade._definitions.structure import Axes, Extent
from saccade.biases import GaussianWindow, Product, Total
from saccade.errors import ArgumentError
from saccade.masks import Around, Both, Either, Not

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
    """Projection of a query to logits of gates, by features of the query, heads, and features of their values."""
    if kind not in (None, "elementwise", "headwise"):
        raise ArgumentError(f"output_gate: expected one of 'elementwise', 'headwise' or None, got {kind!r}")
    embed_dim, num_heads, value_head_dim = sizes
    gates = num_heads if kind == "headwise" else num_heads * value_head_dim
    return None if kind is None else nn.Linear(embed_dim, gates, bias=bias, **factory)


def beside_heads(definition: Any, rank: int, heads: int) -> Any:
    """A mask, bias or gate of examples, for scores with `heads` dimensions of heads behind `rank` of the batch.

    Tensors with dimensions of the heads keep them. `biases.GaussianWindow` is the only bias or gate that changes. An
    `align` of each example needs a dimension of the heads.

    >>> import torch
    >>> from saccade import masks
    >>> mask = masks.Lengths(torch.tensor([5, 3])) & masks.Causal()
    >>> beside_heads(mask, rank=1, heads=1).first.key_lengths.tolist()
    [[5], [3]]
    """
    if isinstance(definition, _PAIRS):
        parts = definition.first, definition.second
        return type(definition)(*(beside_heads(part, rank, heads) for part in parts))
    if isinstance(definition, Not):
        return type(definition)(beside_heads(definition.other, rank, heads))
    if not rank or not (isinstance(definition, Around | GaussianWindow) or getattr(definition, "per_example", False)):
        return definition

    def widened(tensor: Tensor, axes: Axes) -> Tensor:
        if tensor.ndim != rank + len(axes):
            return tensor
        return tensor[(slice(None),) * rank + (None,) * heads]

    return definition.map(widened)


def checked_positions(positions: Tensor, x: Tensor, rotary_base: float | None) -> Tensor:
    """Positions of the tokens of x `(..., L, D)`: `(..., L)` with all batch dimensions or none, for a rotary module."""
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
