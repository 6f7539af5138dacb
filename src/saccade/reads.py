"""Reads of values by weights: their expectation (soft), or one of them (hard).

All reads choose among allowed keys only, and ties go to the lower index. A row without weight counts as empty: its
output is 0 and its index −1. A row is without weight if all its weights are 0. `Sample` and `TopK` divide by the row's
sum, so a row is empty for them if its sum is 0.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from saccade._definitions.checks import ensure, per_position, whole
from saccade._definitions.numerics import broadcast_shapes, shares
from saccade._definitions.structure import Axes, Definition, Extent, registered
from saccade.errors import ArgumentError, ArgumentTypeError

__all__ = ["Argmax", "Read", "Sample", "Soft", "TopK"]


class Read(Definition):
    """Base of the reads, a closed set: a new read is a new class here."""

    def check(self, extent: Extent) -> None:
        """Raise a `SaccadeError` if the read's tensors do not fit the call."""

    def index(self, weights: Tensor, mask: Tensor | None) -> Tensor:
        """Index of the key, `(..., Lq)`, −1 for an empty row; for hard reads."""
        raise TypeError(f"{type(self).__name__} reads no single key")

    def __call__(
        self, weights: Tensor, value: Tensor, mask: Tensor | None = None, index: Tensor | None = None
    ) -> Tensor:
        """The output `(..., Lq, Dv)`.

        Args:
            weights, mask: `(..., Lq, Lk)`.
            value: `(..., Lk, Dv)`.
            index: of a hard read, `(..., Lq)`.
        """
        raise ArgumentTypeError("read: expected one of saccade.reads, got the base class Read")

    chooses: ClassVar[bool] = False
    """Whether it reads one key a row, so that `aux.index` is defined."""

    @property
    def differentiable(self) -> bool:
        """Whether gradients pass from the output to the weights."""
        return True

    @property
    def sparse(self) -> bool:
        """Whether output and gradients need the values of few keys alone."""
        return False


@registered
@dataclass(frozen=True)
class Soft(Read):
    """output_i = Σ_j w_ij v_j, the expectation of the value.

    Bahdanau et al. 2015, equation 5.

    >>> import torch
    >>> Soft()(torch.tensor([[0.5, 0.5]]), torch.tensor([[2.0], [4.0]])).tolist()
    [[3.0]]
    """

    def __call__(
        self, weights: Tensor, value: Tensor, mask: Tensor | None = None, index: Tensor | None = None
    ) -> Tensor:
        return weights @ value


def pick(value: Tensor, index: Tensor) -> Tensor:
    """v[index], and 0 where the index is −1: value `(..., Lk, Dv)`, index `(..., Lq)`."""
    batch = broadcast_shapes(value.shape[:-2], index.shape[:-1])
    if not value.shape[-2]:
        return value.new_zeros(*batch, index.shape[-1], value.shape[-1])
    index = index.expand(*batch, index.shape[-1])[..., None]
    rows = value.expand(*batch, *value.shape[-2:]).gather(
        -2, index.clamp(min=0).expand(*index.shape[:-1], value.shape[-1])
    )
    return rows.masked_fill(index < 0, 0.0)


class Hard(Read):
    """Base of reads of one key, without a gradient to the weights or straight-through."""

    chooses: ClassVar[bool] = True
    estimator: str | None

    @property
    def differentiable(self) -> bool:
        return self.estimator == "straight_through"

    @property
    def sparse(self) -> bool:
        return not self.differentiable

    def __call__(
        self, weights: Tensor, value: Tensor, mask: Tensor | None = None, index: Tensor | None = None
    ) -> Tensor:
        assert index is not None
        picked = pick(value, index)
        if not self.differentiable:
            return picked
        soft = weights @ value
        return picked.detach() + (soft - soft.detach())  # the value is the drawn one, the gradient that of the mean


@registered
@dataclass(frozen=True)
class Sample(Hard):
    """One key drawn with probability w_ij / Σ_j w_ij.

    It is the first key with a cumulative weight above u · Σ_j w_ij. The uniform u, one a row, is drawn outside every
    kernel, so that one u gives one index on every backend.
    With estimator "reinforce" the draw passes no gradient to the scores, `aux.log_prob` does (Williams 1992, and Xu et
    al. 2015, equation 12). With "straight_through" the forward is the draw and the backward is Soft's (Bengio, Léonard,
    Courville 2013).

    Args:
        estimator: "reinforce" or "straight_through".
        generator: the source of uniforms; None is torch's default.
        uniform: u itself, `(..., Lq)` in [0, 1): under vmap, compile and export, or to repeat a draw. It excludes a
            generator.

    Raises:
        ArgumentError: an unknown estimator, both generator and uniform.

    >>> import torch
    >>> draw = Sample(uniform=torch.tensor([0.7]))
    >>> draw.index(torch.tensor([[0.5, 0.5]]), None).tolist()
    [1]
    """

    axes: ClassVar[dict[str, Axes]] = {"uniform": ("q",)}
    estimator: str = "reinforce"
    generator: torch.Generator | None = None
    uniform: Tensor | None = None

    def __post_init__(self) -> None:
        if self.estimator not in ("reinforce", "straight_through"):
            raise ArgumentError(f"estimator: expected 'reinforce' or 'straight_through', got {self.estimator!r}")
        if not isinstance(self.generator, torch.Generator | None):
            raise ArgumentTypeError(
                f"generator: expected a torch.Generator or None, got {type(self.generator).__name__}"
            )
        if self.generator is not None and self.uniform is not None:
            raise ArgumentError("uniform: expected either uniform= or generator=, got both. Leave one out.")

    def check(self, extent: Extent) -> None:
        if self.uniform is None:
            return
        if not isinstance(self.uniform, Tensor) or not self.uniform.is_floating_point():
            got = self.uniform.dtype if isinstance(self.uniform, Tensor) else type(self.uniform).__name__
            raise ArgumentTypeError(f"uniform of reads.Sample: expected a floating tensor (..., Lq), got {got}")
        per_position("uniform of reads.Sample", self.uniform, extent.q_len, "Lq", extent)
        inside = (self.uniform >= 0) & (self.uniform < 1)
        ensure(inside, "uniform of reads.Sample: expected values in [0, 1), got some outside", values=extent.values)

    def drawn(self, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> "Sample":
        """This read with uniforms `(..., Lq)`: its own, or newly drawn ones."""
        if self.uniform is not None:
            return self
        return Sample(self.estimator, uniform=torch.rand(shape, generator=self.generator, dtype=dtype, device=device))

    def index(self, weights: Tensor, mask: Tensor | None) -> Tensor:
        if self.uniform is None:
            raise ArgumentError(
                "uniform of reads.Sample: expected the uniforms, got None. Call drawn(shape, dtype, device) first."
            )
        weights = weights.detach()
        if not weights.shape[-1]:
            return torch.full(weights.shape[:-1], -1, device=weights.device)
        cumulative = weights.cumsum(-1)
        total = cumulative[..., -1:]
        exceeds = cumulative > self.uniform.to(weights.dtype)[..., None] * total
        # u · total may round up to total: then the last key with weight
        last = weights.shape[-1] - 1 - (weights > 0).flip(-1).to(torch.uint8).argmax(-1)
        first = torch.where(exceeds.any(-1), exceeds.to(torch.uint8).argmax(-1), last)
        return first.masked_fill(~(total[..., 0] > 0), -1)


@registered
@dataclass(frozen=True)
class Argmax(Hard):
    """output_i = v_j, j the allowed key of the largest weight, the first of a tie.

    Args:
        estimator: None passes no gradient to the scores. With "straight_through" the forward is the choice and the
            backward is Soft's, to scores and values (Bengio, Léonard, Courville 2013).

    Raises:
        ArgumentError: an unknown estimator.

    >>> import torch
    >>> Argmax().index(torch.tensor([[0.4, 0.4, 0.2]]), None).tolist()
    [0]
    """

    estimator: str | None = None

    def __post_init__(self) -> None:
        if self.estimator not in (None, "straight_through"):
            raise ArgumentError(f"estimator: expected 'straight_through' or None, got {self.estimator!r}")

    def index(self, weights: Tensor, mask: Tensor | None) -> Tensor:
        if not weights.shape[-1]:
            return torch.full(weights.shape[:-1], -1, device=weights.device)
        weights = weights.detach()
        weighed = weights if mask is None else weights.masked_fill(~mask, 0.0)
        largest = weights if mask is None else weights.masked_fill(~mask, -torch.inf)
        return largest.argmax(-1).masked_fill(~weighed.any(-1), -1)


@registered
@dataclass(frozen=True)
class TopK(Read):
    """The expectation over the k largest weights alone, renormalized.

    Shazeer et al. 2017, equation 5, on weights.

    Args:
        k: the number of keys, ≥ 1; more than Lk is Lk.

    Raises:
        ArgumentError: k below 1.

    >>> import torch
    >>> TopK(1)(torch.tensor([[0.2, 0.8]]), torch.tensor([[2.0], [4.0]])).tolist()
    [[4.0]]
    """

    sizes: ClassVar[tuple[str, ...]] = ("k",)
    k: int

    def __post_init__(self) -> None:
        whole("k", self.k, least=1)

    @property
    def sparse(self) -> bool:
        return True

    def __call__(
        self, weights: Tensor, value: Tensor, mask: Tensor | None = None, index: Tensor | None = None
    ) -> Tensor:
        _, indices = largest(weights, self.k, mask)
        keep = torch.zeros_like(weights, dtype=torch.bool).scatter(-1, indices.clamp(min=0), True)
        kept = weights.masked_fill(~keep, 0.0)
        return shares(kept) @ value


def largest(weights: Tensor, k: int, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The k largest weights of a row among allowed keys, falling, and their indices.

    Both are `(..., Lq, min(k, Lk))`. Ties go to the lower index. Beyond the allowed keys the weight is 0 and the index
    −1. torch.topk promises no order among equals, so k rounds of argmax do it, or a stable sort if k is large.
    """
    k = min(k, weights.shape[-1])
    rest = weights.detach() if mask is None else weights.detach().masked_fill(~mask, -torch.inf)
    if k > 8 or not k:
        ordered, indices = rest.sort(dim=-1, descending=True, stable=True)
        values, indices = ordered[..., :k], indices[..., :k]
    else:
        rounds = []
        for _ in range(k):
            index = rest.argmax(-1, keepdim=True)
            rounds.append((rest.gather(-1, index), index))
            rest = rest.scatter(-1, index, -torch.inf)
        values, indices = (torch.cat(side, -1) for side in zip(*rounds, strict=True))
    beyond = values == -torch.inf
    return weights.gather(-1, indices).masked_fill(beyond, 0.0), indices.masked_fill(beyond, -1)
