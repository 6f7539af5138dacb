"""Scores: how well each query fits each key.

Every score is a frozen dataclass that is called with `(query, key)` and returns `(..., Lq, Lk)`. Tensors in it are
ordinary differentiable arguments. The call is the definition. Backends may compute the numbers another way.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from saccade._definitions.checks import number, parameter, per_query, positive, positive_number
from saccade._definitions.numerics import bounded, expanded_square, like, recorded, root, squared_distance, unit, wide
from saccade._definitions.structure import Axes, Definition, Extent, registered
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError

__all__ = [
    "Additive", "Cosine", "Dot", "Gaussian", "General", "Kernel", "Location", "ScaledDot", "Score", "ScoreFunction",
]  # fmt: skip

ScoreFunction = Callable[..., Tensor]
"""`(query, key)` or `(query, key, positions)` to scores."""


class Score(Definition):
    """Base of the built-in scores; any `(query, key) -> (..., Lq, Lk)` is one too."""

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        """Scores `(..., Lq, Lk)` of query `(..., Lq, Dq)` against key `(..., Lk, Dk)`."""
        raise ArgumentTypeError("score: expected one of saccade.scores or a callable, got the base class Score")

    def check(self, extent: Extent) -> None:
        """Raise a `SaccadeError` if sizes or tensors do not fit the call."""
        if extent.q_dim != extent.k_dim:
            raise ShapeError(
                f"key: expected last dimension {extent.q_dim}, that of query, for scores.{type(self).__name__}, got "
                f"{extent.k_dim}. Project one of them, or use scores.General with a (Dq, Dk) weight."
            )

    def query_dim(self, k_dim: int) -> int:
        """Features of a query if keys have `k_dim`."""
        return k_dim

    def as_dot(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float] | None:
        """`(query', key', scale)` of scale · query' · key'; None of no dot product."""
        return None

    def prepare(self, key: Tensor) -> tuple["Score", Tensor, Tensor | None]:
        """Equivalent `(score', key', cache)`, all work on keys alone being done.

        The cache `(..., Lk, D')` speeds a backend up and carries no gradient. The reference does without it.
        """
        return self, key, None

    axes: ClassVar[dict[str, Axes]] = {}
    mixes_keys: ClassVar[bool] = False
    """Whether one key changes the scores of other keys, through rounding."""


@registered
@dataclass(frozen=True)
class Dot(Score):
    """Dot product, scores[i, j] = q_i · k_j (Luong et al. 2015, section 3.1).

    >>> import torch
    >>> Dot()(torch.eye(2), torch.tensor([[3.0, 4.0]])).tolist()
    [[3.0], [4.0]]
    """

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.mT

    def as_dot(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float] | None:
        return query, key, 1.0


@registered
@dataclass(frozen=True)
class ScaledDot(Score):
    """Scaled dot product, scores[i, j] = scale · q_i · k_j.

    Args:
        scale: the factor, a float or a tensor that broadcasts against `(..., Lq, 1)`, such as one a head `(H, 1, 1)`
            that learns. None means 1/√D (Vaswani et al. 2017, equation 1).
        softcap: c from 1e-12 to 1e12, a float or a tensor as for scale. Scores s become c · tanh(s / c), within (−c, c)
            (Gemma 2, section 2). None does not bound them. Values of a tensor are checked as those of a temperature.

    Raises:
        ArgumentError: softcap is outside its range.

    >>> import torch
    >>> ScaledDot()(torch.ones(1, 4), torch.ones(2, 4)).tolist()
    [[2.0, 2.0]]
    >>> ScaledDot(scale=torch.tensor([[[1.0]], [[2.0]]]))(torch.ones(2, 1, 4), torch.ones(2, 1, 4)).flatten().tolist()
    [4.0, 8.0]
    """

    axes: ClassVar[dict[str, Axes]] = {"scale": ("q", "1"), "softcap": ("q", "1")}
    scale: float | Tensor | None = None
    softcap: float | Tensor | None = None

    def __post_init__(self) -> None:
        number("scale", self.scale, finite=True, tensor=True, none=True)
        positive_number("softcap", self.softcap, tensor=True, none=True)

    def _scaled(self, query: Tensor) -> Tensor:
        return query * (max(query.shape[-1], 1) ** -0.5 if self.scale is None else like(self.scale, query))

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        scores = self._scaled(query) @ key.mT
        if self.softcap is None:
            return scores
        softcap = bounded(self.softcap, scores)
        return softcap * torch.tanh(scores / softcap)

    def check(self, extent: Extent) -> None:
        super().check(extent)
        per_query("scale of scores.ScaledDot", self.scale, extent)
        positive("softcap of scores.ScaledDot", self.softcap, extent)

    def as_dot(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float] | None:
        if self.softcap is not None:
            return None
        if isinstance(self.scale, Tensor):
            return self._scaled(query), key, 1.0
        return query, key, max(query.shape[-1], 1) ** -0.5 if self.scale is None else self.scale


@registered
@dataclass(frozen=True)
class Cosine(Score):
    """Cosine similarity, scores[i, j] = β cos(q_i, k_j), 0 for a zero vector.

    Graves, Wayne, Danihelka 2014, equations 5-6.

    Args:
        beta: the key strength β, a float or a tensor `(..., Lq, 1)`.

    >>> import torch
    >>> Cosine(beta=2.0)(torch.tensor([[3.0, 0.0]]), torch.tensor([[5.0, 0.0], [0.0, 1.0]])).tolist()
    [[2.0, 0.0]]
    """

    axes: ClassVar[dict[str, Axes]] = {"beta": ("q", "1")}
    beta: float | Tensor = 1.0

    def __post_init__(self) -> None:
        number("beta", self.beta, finite=True, tensor=True)

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return (unit(query) * like(self.beta, query)) @ self._units(key).mT

    def check(self, extent: Extent) -> None:
        super().check(extent)
        per_query("beta", self.beta, extent)

    def as_dot(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float] | None:
        if isinstance(self.beta, Tensor):
            return unit(query) * like(self.beta, query), self._units(key), 1.0
        return unit(query), self._units(key), self.beta

    def _units(self, key: Tensor) -> Tensor:
        return unit(key)

    def prepare(self, key: Tensor) -> tuple[Score, Tensor, Tensor | None]:
        return UnitKeyCosine(self.beta), unit(key), None


@registered
@dataclass(frozen=True)
class UnitKeyCosine(Cosine):
    """`Cosine` against keys of unit length, made by `Cosine.prepare`."""

    def _units(self, key: Tensor) -> Tensor:
        return key


@registered
@dataclass(frozen=True)
class General(Score):
    """Bilinear score, scores[i, j] = q_iᵀ W k_j (Luong et al. 2015, section 3.1).

    Args:
        weight: W, `(..., Dq, Dk)`, in the dtype of query.

    >>> import torch
    >>> General(torch.tensor([[0.0, 1.0]]))(torch.ones(1, 1), torch.tensor([[5.0, 7.0]])).tolist()
    [[7.0]]
    """

    axes: ClassVar[dict[str, Axes]] = {"weight": ("a", "b")}
    weight: Tensor

    def query_dim(self, k_dim: int) -> int:
        return self.weight.shape[-2] if isinstance(self.weight, Tensor) and self.weight.ndim > 1 else k_dim

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return (query @ self.weight.to(query.dtype)) @ key.mT

    def check(self, extent: Extent) -> None:
        parameter("weight", self, self.weight, (extent.q_dim, extent.k_dim), "(..., Dq, Dk)", extent)

    def as_dot(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float] | None:
        return query @ self.weight.to(query.dtype), key, 1.0

    def prepare(self, key: Tensor) -> tuple[Score, Tensor, Tensor | None]:
        return Dot(), key @ self.weight.mT, None


@registered
@dataclass(frozen=True)
class Additive(Score):
    """Additive score, scores[i, j] = vᵀ tanh(q_i + k_j).

    Query and key are W_a s and U_a h of Bahdanau, Cho, Bengio 2015, appendix A.1.2: projections to D features.

    Args:
        v: `(..., D)`, in the dtype of query.

    >>> import torch
    >>> Additive(torch.ones(3))(torch.zeros(1, 3), torch.zeros(2, 3)).tolist()
    [[0.0, 0.0]]
    """

    axes: ClassVar[dict[str, Axes]] = {"v": ("d",)}
    v: Tensor

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        terms = torch.tanh(query[..., :, None, :] + key[..., None, :, :])
        v = self.v.to(query.dtype)
        return (terms @ v) if v.ndim == 1 else (terms @ v[..., None, :, None])[..., 0]

    def check(self, extent: Extent) -> None:
        super().check(extent)
        parameter("v", self, self.v, (extent.q_dim,), "(..., D)", extent)

    def prepare(self, key: Tensor) -> tuple[Score, Tensor, Tensor | None]:
        powers = exponentials(wide(key.detach()))
        return self, key, powers if key.is_cpu else by_key(powers)


#: The largest |x|, by dtype, for which e^{2x} is a normal number.
EXPONENT_LIMIT = {torch.float32: 43.0, torch.float64: 350.0}


def exponentials(projected: Tensor) -> Tensor:
    """e^{2x}, or NaN beyond the limit: there kernels compute the tanh itself."""
    limit = EXPONENT_LIMIT[projected.dtype]
    return torch.exp(2 * projected).masked_fill_(~(projected.abs() <= limit), torch.nan)


def by_key(powers: Tensor) -> Tensor:
    """Exponentials `(..., S, D)` with keys contiguous in memory, for a GPU's lanes."""
    return powers.mT.contiguous().mT


@registered
@dataclass(frozen=True)
class Location(Score):
    """Location-based score, scores[i, j] = (W q_i)_j.

    The contents of keys play no part. Luong et al. 2015, equation 8.

    Args:
        weight: W, `(..., Lmax, Dq)`. More than Lmax keys are an error.

    >>> import torch
    >>> Location(torch.tensor([[1.0], [2.0], [3.0]]))(torch.ones(1, 1), torch.zeros(2, 5)).tolist()
    [[1.0, 2.0]]
    """

    axes: ClassVar[dict[str, Axes]] = {"weight": ("m", "d")}
    weight: Tensor

    def query_dim(self, k_dim: int) -> int:
        return self.weight.shape[-1] if isinstance(self.weight, Tensor) and self.weight.ndim else k_dim

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ self.weight[..., : key.shape[-2], :].mT.to(query.dtype)

    def check(self, extent: Extent) -> None:
        parameter("weight", self, self.weight, (None, extent.q_dim), "(..., Lmax, Dq)", extent)
        if extent.k_len > (rows := self.weight.shape[-2]):
            raise ShapeError(
                f"weight of scores.Location: expected at least {extent.k_len} rows, one for each key, got {rows}. "
                "Make it longer (max_length of a layer), or shorten the keys."
            )


NEAR = 256.0
"""Largest ‖x‖² / h² with an error of 10⁻⁵ in float32: 64 normal features."""


class Bandwidth(Score):
    """Base of the scores of distances in bandwidths."""

    axes: ClassVar[dict[str, Axes]] = {"bandwidth": ("q", "1")}
    bandwidth: float | Tensor

    def __post_init__(self) -> None:
        positive_number("bandwidth", self.bandwidth, tensor=True)

    def check(self, extent: Extent) -> None:
        super().check(extent)
        positive("bandwidth", self.bandwidth, extent)


@registered
@dataclass(frozen=True)
class Gaussian(Bandwidth):
    """Gaussian kernel as a score, scores[i, j] = −‖q_i − k_j‖² / 2h².

    Its softmax is kernel regression (Nadaraya 1964, Watson 1964). The square is expanded into dot products about the
    keys' mean, so that points far from the origin lose nothing to cancellation. The product is in float64, unless an
    eager call on a CPU finds all points within 16 bandwidths of the mean.

    Args:
        bandwidth: h from 1e-12 to 1e12 in the units of query and key, a float or a tensor that broadcasts against
            `(..., Lq, 1)`, whose values are checked as those of a temperature.

    >>> import torch
    >>> Gaussian(1.0)(torch.zeros(1, 1), torch.tensor([[2.0]])).item()
    -2.0
    """

    mixes_keys: ClassVar[bool] = True
    bandwidth: float | Tensor

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        if not key.shape[-2]:
            return query @ key.mT
        center = key.detach().mean(-2, keepdim=True, dtype=torch.float64)
        near = query - center.to(query.dtype), key - center.to(key.dtype)
        if query.dtype == torch.float64 or self._fits(*near):
            return expanded_square(*near, -0.5 / bounded(self.bandwidth, query) ** 2)
        far = query.double() - center, key.double() - center
        scores = expanded_square(*far, -0.5 / bounded(self.bandwidth, far[0]) ** 2)
        return scores.clamp(min=torch.finfo(query.dtype).min).to(query.dtype)

    def _fits(self, query: Tensor, key: Tensor) -> bool:
        """Whether the dtype has enough digits for points this near to the center."""
        if query.device.type != "cpu" or recorded() or not query.numel():
            return False
        query, key, limit = query.detach(), key.detach(), NEAR * bounded(self.bandwidth, query.detach()) ** 2
        near = query.square().sum(-1, keepdim=True) <= limit
        return bool(near.all() and (key.square().sum(-1).amax() <= limit).all())


KERNELS: dict[str, Callable[[Tensor], Tensor]] = {
    "boxcar": lambda squared: 0.5 * (squared <= 1).to(squared.dtype),
    "epanechnikov": lambda squared: 0.75 * (1 - squared).clamp(min=0),
    "triangular": lambda squared: (1 - root(squared)).clamp(min=0),
}


@registered
@dataclass(frozen=True)
class Kernel(Bandwidth):
    """Kernel of compact support, scores[i, j] = K(u), u = ‖q_i − k_j‖ / h.

    With `normalizers.Sum` it is kernel regression (Nadaraya 1964, Watson 1964, Epanechnikov 1969).
    boxcar ½[u ≤ 1] · epanechnikov ¾(1 − u²)₊ · triangular (1 − u)₊

    Args:
        name: "boxcar", "epanechnikov" or "triangular".
        bandwidth: h, as for `Gaussian`.

    Raises:
        ArgumentError: an unknown name, a bandwidth outside its range.

    >>> import torch
    >>> Kernel("triangular", 2.0)(torch.zeros(1, 1), torch.tensor([[1.0], [9.0]])).tolist()
    [[0.5, 0.0]]
    """

    name: str
    bandwidth: float | Tensor

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in KERNELS:
            raise ArgumentError(f"name: expected one of {', '.join(map(repr, KERNELS))}, got {self.name!r}")
        super().__post_init__()

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return KERNELS[self.name](squared_distance(query, key) / bounded(self.bandwidth, query) ** 2)
