"""Results beside the output: the weights, or their statistics in linear memory."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from saccade._definitions.checks import whole
from saccade._definitions.numerics import LOST
from saccade._definitions.structure import Definition, registered
from saccade.errors import ArgumentTypeError

__all__ = ["AuxOutput", "AuxRequest"]


@registered
@dataclass(frozen=True)
class AuxRequest(Definition):
    """Request for results of `attend` beside its output, as in flex_attention.

    Args:
        weights: the weights themselves, `(..., Lq, Lk)`. Only they take quadratic memory.
        lse: logsumexp of (scores + bias) / temperature over allowed keys; Softmax only.
        index: the key that a hard read took.
        log_prob: the log-probability of a Sample's draw.
        entropy: the entropy of each row of weights, in nats; for normalizers whose rows sum to one, without a gate.
        top: how many of the largest weights of each row.
        received: the weights summed over queries.

    Raises:
        ArgumentError: top below 0.

    >>> AuxRequest(lse=True).lse
    True
    """

    sizes: ClassVar[tuple[str, ...]] = ("top",)
    weights: bool = False
    lse: bool = False
    index: bool = False
    log_prob: bool = False
    entropy: bool = False
    top: int = 0
    received: bool = False

    def __post_init__(self) -> None:
        for name in AUX_FIELDS:
            if name != "top" and not isinstance(getattr(self, name), bool):
                raise ArgumentTypeError(f"{name}: expected True or False, got {getattr(self, name)!r}")
        whole("top", self.top, least=0)

    def names(self) -> list[str]:
        """Names of the requested fields, in their order."""
        return [name for name in AUX_FIELDS if getattr(self, name)]


AUX_FIELDS = ("weights", "lse", "index", "log_prob", "entropy", "top", "received")


@dataclass(frozen=True, eq=False)
class AuxOutput:
    """Results of an `AuxRequest`, None for other fields; a pytree of tensors.

    Statistics of half types are float32. All but `index` (and top's indices) are differentiable where the mathematics
    is.

    Args:
        weights: `(..., Lq, Lk)`, after the gate, before dropout and read. The output is computed from this tensor.
        lse: `(..., Lq)`, natural log, before gate and dropout; −inf for an empty row.
        index: `(..., Lq)`, int64; −1 for an empty row.
        log_prob: `(..., Lq)`; 0 for an empty row.
        entropy: `(..., Lq)`, nats; 0 for an empty row.
        top: (values, indices), each `(..., Lq, min(top, Lk))`, falling; index −1 where the weight is 0.
        received: `(..., Lk)`.

    >>> AuxOutput().weights is None
    True
    """

    weights: Tensor | None = None
    lse: Tensor | None = None
    index: Tensor | None = None
    log_prob: Tensor | None = None
    entropy: Tensor | None = None
    top: tuple[Tensor, Tensor] | None = None
    received: Tensor | None = None


def log_probability(weights: Tensor, index: Tensor) -> Tensor:
    """log (w_index / Σ w), and 0 for an empty row.

    No gradient passes if the sum has lost digits, as in `shares`.
    """
    if not weights.shape[-1]:
        return weights.new_zeros(index.shape)
    empty = index < 0
    lost = weights.detach().sum(-1, keepdim=True).abs() < LOST * torch.finfo(weights.dtype).tiny
    weights = torch.where(lost, weights.detach(), weights)
    picked = weights.gather(-1, index.clamp(min=0)[..., None])[..., 0]
    total = weights.sum(-1).masked_fill(empty, 1.0)
    return (picked.masked_fill(empty, 1.0).log() - total.log()).masked_fill(empty, 0.0)


def entropy(weights: Tensor) -> Tensor:
    """−Σ w log w in nats, 0 log 0 = 0 with derivative 0."""
    zero = weights <= 0
    return 0.0 - (weights * weights.masked_fill(zero, 1.0).log()).sum(-1)  # a row of zeros has 0, not -0


def top(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """The largest weights and their indices, −1 for a weight of 0."""
    return values, indices.masked_fill(values.detach() == 0, -1)


def _flatten(aux: AuxOutput) -> tuple[list[Any], tuple[str, ...]]:
    names = tuple(name for name in AUX_FIELDS if getattr(aux, name) is not None)
    return [getattr(aux, name) for name in names], names


def _flatten_with_keys(aux: AuxOutput) -> tuple[list[Any], tuple[str, ...]]:
    values, names = _flatten(aux)
    return [(torch.utils._pytree.GetAttrKey(name), value) for name, value in zip(names, values, strict=True)], names


torch.utils._pytree.register_pytree_node(
    AuxOutput,
    _flatten,
    lambda values, names: AuxOutput(**dict(zip(names, values, strict=True))),
    serialized_type_name="saccade.AuxOutput",
    to_dumpable_context=list,
    from_dumpable_context=tuple,
    flatten_with_keys_fn=_flatten_with_keys,
)
