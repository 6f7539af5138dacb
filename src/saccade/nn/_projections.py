"""Input projections of heads with torch's layout, norms and gates of heads."""

from typing import Any

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError

__all__ = ["applied", "declare", "divided", "head_norm", "output_gating", "sized", "weight_of"]

NORMS = ("rms", "layer")
GATES = ("elementwise", "headwise")


def declare(
    module: nn.Module, inputs: tuple[int, int, int], sizes: tuple[int, int, int], bias: bool, **factory: Any
) -> None:
    """Register the projections of query, key and value.

    It is one packed weight if all inputs have one size, else three weights.

    Args:
        module: gets the parameters, with the names of `torch.nn.MultiheadAttention`.
        inputs, sizes: features of inputs and of outputs.
        bias: whether to add a bias.
        factory: device and dtype.
    """
    packed = inputs[0] == inputs[1] == inputs[2]
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
    for name, size, features in zip(names, sizes, inputs, strict=True):
        module.register_parameter(name, None if packed else nn.Parameter(torch.empty(size, features, **factory)))
    total = sum(sizes)
    module.register_parameter(
        "in_proj_weight", nn.Parameter(torch.empty(total, inputs[0], **factory)) if packed else None
    )
    module.register_parameter("in_proj_bias", nn.Parameter(torch.empty(total, **factory)) if bias else None)


def head_norm(kind: str | None, head_dim: int, bias: bool, **factory: Any) -> nn.Module:
    r"""Normalization of a head's features, with factors shared by heads.

    Args:
        kind: "rms", x / √(mean x² + ε) · g; "layer", (x − mean x) / √(var x + ε) · g, with a bias if the projections
            have one; None is the identity.
        head_dim: features of a head.

    Raises:
        ArgumentError: another kind.

    >>> head_norm("rms", 2, bias=False)(torch.tensor([3.0, 4.0])).detach()
    tensor([0.8485, 1.1314])
    """
    if kind is None:
        return nn.Identity()
    if kind == "rms":
        return nn.RMSNorm(head_dim, eps=1e-6, **factory)
    if kind == "layer":
        return nn.LayerNorm(head_dim, eps=1e-6, bias=bias, **factory)
    raise ArgumentError(
        f"qk_norm: expected one of {', '.join(map(repr, NORMS))} or None, got {kind!r}. For unit vectors use "
        "score=scores.Cosine(beta)."
    )


def output_gating(
    kind: str | None, embed_dim: int, num_heads: int, value_head_dim: int, bias: bool, **factory: Any
) -> nn.Linear | None:
    """Projection of a query to logits of gates on the outputs of heads.

    Args:
        kind: "elementwise", a gate for each feature of each head; "headwise", one for each head; None, no gates.
        embed_dim: features of the query.
        num_heads, value_head_dim: the number of heads, and their features.

    Raises:
        ArgumentError: another kind.

    >>> output_gating("headwise", 8, 2, 4, bias=False).weight.shape
    torch.Size([2, 8])
    """
    if kind is None:
        return None
    if kind not in GATES:
        raise ArgumentError(f"output_gate: expected one of {', '.join(map(repr, GATES))} or None, got {kind!r}")
    gates = num_heads if kind == "headwise" else num_heads * value_head_dim
    return nn.Linear(embed_dim, gates, bias=bias, **factory)


def sized(head_dim: int | None, embed_dim: int, num_heads: int) -> int:
    """Features of a head, by default an equal share of embed_dim.

    Raises:
        ArgumentError: embed_dim has no equal shares.
    """
    if head_dim is not None:
        return head_dim
    if embed_dim % num_heads:
        raise ArgumentError(
            f"num_heads: expected a divisor of embed_dim = {embed_dim}, got {num_heads}. Change it, or pass head_dim=."
        )
    return embed_dim // num_heads


def divided(x: Tensor, dim: int, kv_heads: int | None) -> Tensor:
    """Features divided into heads, `(..., L, heads · dim)` to `(..., heads, L, dim)`.

    Args:
        dim: features of a head.
        kv_heads: of grouped queries: heads become `(kv_heads, G)`, and `(kv_heads, 1)` for keys and values. Else None.

    >>> divided(torch.zeros(5, 12), 3, None).shape, divided(torch.zeros(5, 12), 3, 2).shape
    (torch.Size([4, 5, 3]), torch.Size([2, 2, 5, 3]))
    """
    heads: Tensor = x.unflatten(-1, (-1, dim)).transpose(-2, -3)
    return heads if kv_heads is None else heads.unflatten(-3, (kv_heads, -1))


def applied(module: Any, which: int, x: Tensor) -> Tensor:
    """Projection 0 (query), 1 (key) or 2 (value) of a module, after `declare`."""
    weight, bias = weight_of(module, which), module.in_proj_bias
    weight = weight.split(module.sizes)[which] if weight is module.in_proj_weight else weight
    projected: Tensor = nn.functional.linear(x, weight, None if bias is None else bias.split(module.sizes)[which])
    return projected


def weight_of(module: Any, which: int) -> Tensor:
    """Weight of projection 0 (query), 1 (key) or 2 (value), or of all three."""
    if module.in_proj_weight is not None:
        return module.in_proj_weight  # type: ignore[no-any-return]
    return (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)[which]  # type: ignore[no-any-return]
