"""`AttentionPool`: learned queries, called fixed attention in the literature."""

from typing import Any

import torch
from torch import Tensor, nn

from saccade import normalizers, scores
from saccade._definitions.argument_hints import reject_extra_kwargs
from saccade.auxiliary import AuxOutput, AuxRequest
from saccade.biases import Factor
from saccade.masks import Mask
from saccade.nn._checks import sizes
from saccade.nn.attention import Attention


class AttentionPool(nn.Module):
    """A sequence pooled by learned queries q.

        output_n = Σ_j softmax_j(score(q_n, k_j)) v_j

    With score "dot" the query is a learned vector. With "additive" the score is an MLP of the key, vᵀ tanh(W k_j + q_n)
    (Yang et al. 2016, equations 5-7, with q as bias). Several queries share v and W. In Lin et al. 2017, equation 6,
    each query is a v, and they share W. With `own_projections` each query n has a W_n and v_n of its own,
    v_nᵀ tanh(W_n k_j + q_n). Then mask, bias and gate have one row for all queries.

    Args:
        key_dim: features of the sequence.
        value_dim: features of value; None is key_dim.
        num_queries: the number of learned queries and outputs.
        hidden_dim: features of projected keys. None is key_dim for "additive", and no projection for other scores.
        own_projections: whether each query has the parameters of a score to itself.
        score, normalizer, max_length, dropout_p, device, dtype: as for `Attention`.

    >>> import torch
    >>> from saccade import masks
    >>> pool = AttentionPool(8, num_queries=2)
    >>> pool(torch.randn(3, 5, 8), mask=masks.Lengths(torch.tensor([5, 2, 1]))).shape
    torch.Size([3, 2, 8])
    """

    @reject_extra_kwargs
    def __init__(
        self,
        key_dim: int,
        value_dim: int | None = None,
        *,
        num_queries: int = 1,
        hidden_dim: int | None = None,
        own_projections: bool = False,
        score: str | scores.Score | scores.ScoreFunction = "dot",
        normalizer: normalizers.Normalizer | normalizers.NormalizerFunction | None = None,
        max_length: int | None = None,
        dropout_p: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes(num_queries=num_queries)
        self.pools: nn.ModuleList | None = None
        if own_projections:
            options: dict[str, Any] = {"hidden_dim": hidden_dim, "score": score, "normalizer": normalizer}
            options |= {"max_length": max_length, "dropout_p": dropout_p, "device": device, "dtype": dtype}
            self.pools = nn.ModuleList(AttentionPool(key_dim, value_dim, **options) for _ in range(num_queries))
            return
        width = hidden_dim if hidden_dim is not None else key_dim
        self.attention = Attention(
            key_dim,
            key_dim,
            value_dim,
            hidden_dim=hidden_dim,
            score=score,
            normalizer=normalizer,
            max_length=max_length,
            dropout_p=dropout_p,
            device=device,
            dtype=dtype,
        )
        self.attention.query_projection = nn.Identity()  # learned queries need no projection
        self.attention.query_dim = width
        self.queries = nn.Parameter(torch.randn(num_queries, width, device=device, dtype=dtype) * width**-0.5)

    @reject_extra_kwargs
    def forward(
        self,
        key: Tensor,
        value: Tensor | None = None,
        *,
        mask: Mask | Tensor | None = None,
        bias: Factor | Tensor | None = None,
        gate: Factor | Tensor | None = None,
        aux: AuxRequest | None = None,
    ) -> Any:
        """Pool a sequence.

        Args:
            key: `(..., Lk, key_dim)`.
            value: `(..., Lk, value_dim)`; None is key.
            mask, bias, gate, aux: as for `attend`.

        Returns:
            `(..., num_queries, value_dim)`; with aux a pair of it and an `AuxOutput`.
        """
        options = {"mask": mask, "bias": bias, "gate": gate, "aux": aux}
        if self.pools is None:
            return self.attention(self.queries, key, value, **options)
        results = [pool(key, value, **options) for pool in self.pools]
        if aux is None:
            return torch.cat(results, -2)
        return torch.cat([output for output, _ in results], -2), _joined([statistics for _, statistics in results])


def _joined(parts: list[AuxOutput]) -> AuxOutput:
    """Statistics of several queries from those of each."""

    def rows(name: str, dim: int) -> Tensor | None:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else torch.cat(values, dim)

    tops = [part.top for part in parts if part.top is not None]
    received = [part.received for part in parts if part.received is not None]
    return AuxOutput(
        weights=rows("weights", -2),
        **{name: rows(name, -1) for name in ("lse", "index", "log_prob", "entropy")},
        top=(torch.cat([top[0] for top in tops], -2), torch.cat([top[1] for top in tops], -2)) if tops else None,
        received=sum(received[1:], received[0]) if received else None,
    )
