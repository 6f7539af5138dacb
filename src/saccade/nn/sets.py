"""Attention on sets: equivariant blocks, and an invariant summary."""

from typing import Any

import torch
from torch import Tensor, nn

from saccade import normalizers, scores
from saccade._definitions.argument_hints import reject_extra_kwargs
from saccade.auxiliary import AuxRequest
from saccade.masks import Mask
from saccade.nn._checks import features, sizes
from saccade.nn.multihead import MultiheadAttention

__all__ = ["SetAttention", "SetPool"]


class _Block(nn.Module):
    """MAB(X, Y) = LN(H + rFF(H)), H = LN(X + Multihead(X, Y, Y)), eq. 6 and 7."""

    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int | None, layer_norm: bool, **more: Any) -> None:
        super().__init__()
        factory = {name: more[name] for name in ("device", "dtype")}
        self.attention = MultiheadAttention(embed_dim, num_heads, **more)
        self.feed_forward = _feed_forward(embed_dim, hidden_dim, factory)
        norms = [nn.LayerNorm(embed_dim, **factory) if layer_norm else nn.Identity() for _ in range(2)]
        self.attention_norm, self.output_norm = norms

    def forward(self, query: Tensor, key: Tensor, mask: Mask | Tensor | None, aux: AuxRequest | None) -> Any:
        read = self.attention(query, key, mask=mask, aux=aux)
        read, statistics = (read, None) if aux is None else read
        hidden = self.attention_norm(query + read)
        output = self.output_norm(hidden + self.feed_forward(hidden))
        return output if aux is None else (output, statistics)


class SetAttention(nn.Module):
    r"""Elements of a set that attend to each other, each with an output of its own.

    .. math::
        \mathrm{SAB}(X) &= \mathrm{MAB}(X, X) \\
        \mathrm{ISAB}_m(X) &= \mathrm{MAB}(X, \mathrm{MAB}(I, X)) \\
        \mathrm{MAB}(X, Y) &= \mathrm{LN}(H + \mathrm{rFF}(H)), \quad
            H = \mathrm{LN}(X + \mathrm{Multihead}(X, Y, Y))

    It is equivariant: permuting elements permutes outputs. Its n² pairs become 2 n m with inducing points I.

    Args:
        embed_dim: features of an element and of its output, a multiple of num_heads.
        num_heads: of each attention.
        num_inducing: m, learned points through which elements attend to each other. None: each attends to all.
        hidden_dim: of the layer in the middle of rFF, a network shared by all elements. None is embed_dim.
        layer_norm: whether LN normalizes. Otherwise LN(x) = x.
        score, normalizer, dropout_p, device, dtype: as for `MultiheadAttention`.

    Raises:
        ArgumentError: heads that do not divide embed_dim, or sizes below 1.

    Source:
        Lee et al. 2019, "Set Transformer", equations 6 to 10 (https://arxiv.org/abs/1810.00825).

    >>> import torch
    >>> from saccade import masks
    >>> block, elements = SetAttention(8, 2, num_inducing=3), torch.randn(4, 6, 8)
    >>> order = torch.randperm(6)
    >>> torch.allclose(block(elements)[:, order], block(elements[:, order]), atol=1e-5)
    True
    >>> block(elements, mask=masks.Lengths(torch.tensor([6, 3, 1, 0]))).shape
    torch.Size([4, 6, 8])
    """

    @reject_extra_kwargs
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        num_inducing: int | None = None,
        hidden_dim: int | None = None,
        layer_norm: bool = True,
        score: str | scores.Score | scores.ScoreFunction = "scaled_dot",
        normalizer: normalizers.Normalizer | normalizers.NormalizerFunction | None = None,
        dropout_p: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes(none=True, num_inducing=num_inducing, hidden_dim=hidden_dim)
        more: dict[str, Any] = {"score": score, "normalizer": normalizer, "dropout_p": dropout_p}
        more |= {"device": device, "dtype": dtype}
        self.block = _Block(embed_dim, num_heads, hidden_dim, layer_norm, **more)
        self.gather = None if num_inducing is None else _Block(embed_dim, num_heads, hidden_dim, layer_norm, **more)
        self.inducing = None if num_inducing is None else _learned(num_inducing, embed_dim, device, dtype)

    @reject_extra_kwargs
    def forward(self, elements: Tensor, *, mask: Mask | Tensor | None = None, aux: AuxRequest | None = None) -> Any:
        """Let elements attend to each other.

        Args:
            elements: `(..., n, embed_dim)`.
            mask: False for padding, as for `attend`, against `(..., heads, queries, n)`. It must be one for all
                queries: `masks.Lengths` of the sets, or booleans `(..., 1, 1, n)`. Outputs of padding mean nothing.
            aux: as for `attend`.

        Returns:
            `(..., n, embed_dim)`. With aux, a pair of it and an `AuxOutput` with one entry a head. Its keys are
            elements, or inducing points.
        """
        features("elements", elements, self.block.attention.embed_dim, self.block.attention.in_proj_weight)
        if self.gather is None or self.inducing is None:
            return self.block(elements, elements, mask, aux)
        points = self.inducing.expand(*elements.shape[:-2], -1, -1)
        return self.block(elements, self.gather(points, elements, mask, None), None, aux)


class SetPool(nn.Module):
    r"""A set summarized by learned seeds attending to its elements.

    .. math::
        \mathrm{PMA}_k(Z) = \mathrm{MAB}(S, \mathrm{rFF}(Z))

    It is invariant: the order of elements does not change the outputs.

    Args:
        embed_dim: features of an element and of an output, a multiple of num_heads.
        num_heads: of the attention.
        num_seeds: k, the number of outputs.
        hidden_dim, layer_norm, score, normalizer, dropout_p, device, dtype: as for `SetAttention`.

    Raises:
        ArgumentError: heads that do not divide embed_dim, or sizes below 1.

    Source:
        Lee et al. 2019, equation 11 (https://arxiv.org/abs/1810.00825).

    >>> import torch
    >>> pool, elements = SetPool(8, 2), torch.randn(4, 6, 8)
    >>> torch.allclose(pool(elements), pool(elements.flip(1)), atol=1e-5)
    True
    """

    @reject_extra_kwargs
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        num_seeds: int = 1,
        hidden_dim: int | None = None,
        layer_norm: bool = True,
        score: str | scores.Score | scores.ScoreFunction = "scaled_dot",
        normalizer: normalizers.Normalizer | normalizers.NormalizerFunction | None = None,
        dropout_p: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes(num_seeds=num_seeds)
        sizes(none=True, hidden_dim=hidden_dim)
        more: dict[str, Any] = {"score": score, "normalizer": normalizer, "dropout_p": dropout_p}
        more |= {"device": device, "dtype": dtype}
        self.block = _Block(embed_dim, num_heads, hidden_dim, layer_norm, **more)
        self.feed_forward = _feed_forward(embed_dim, hidden_dim, {"device": device, "dtype": dtype})
        self.seeds = _learned(num_seeds, embed_dim, device, dtype)

    @reject_extra_kwargs
    def forward(self, elements: Tensor, *, mask: Mask | Tensor | None = None, aux: AuxRequest | None = None) -> Any:
        """Summarize a set.

        Args:
            elements: `(..., n, embed_dim)`.
            mask: False for padding, as for `SetAttention`. For an empty set, seeds attend to zeros.
            aux: as for `attend`.

        Returns:
            `(..., num_seeds, embed_dim)`. With aux, a pair of it and an `AuxOutput` with one entry a head.
        """
        features("elements", elements, self.block.attention.embed_dim, self.block.attention.in_proj_weight)
        seeds = self.seeds.expand(*elements.shape[:-2], -1, -1)
        return self.block(seeds, self.feed_forward(elements), mask, aux)


def _feed_forward(dim: int, hidden_dim: int | None, factory: dict[str, Any]) -> nn.Sequential:
    """rFF: two layers, applied to each element."""
    width = dim if hidden_dim is None else hidden_dim
    return nn.Sequential(nn.Linear(dim, width, **factory), nn.ReLU(), nn.Linear(width, dim, **factory))


def _learned(count: int, dim: int, device: torch.device | str | None, dtype: torch.dtype | None) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(count, dim, device=device, dtype=dtype)))
