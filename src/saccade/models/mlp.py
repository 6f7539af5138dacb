"""A multilayer perceptron without attention; sets are pooled (Zaheer et al. 2017)."""

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor, nn

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.models.regressor import EARLY, Predicted, Regressor, Sizes, Spread

__all__ = ["MLP", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of the layers, and the pooling of sets.

    >>> Options(pool="mean").layers
    2
    """

    hidden_dim: int = 64
    """Features of the hidden layers."""

    layers: int = 2
    """Hidden layers. For sets, as many before the pooling as after it."""

    pool: Literal["max", "mean", "sum"] = "max"
    """Pooling of a set's elements."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(self, (("hidden_dim", 1, 100_000), ("layers", 1, 100)))
        if self.pool not in ("max", "mean", "sum"):
            raise ArgumentError(f"--pool: expected max, mean or sum, got {self.pool}")


_DEFAULT = Options()


class MLP(Regressor):
    r"""Hidden layers, with pooling for sets.

    .. math:: f(z) = W g(z) + b \qquad f(\{z_i\}) = W g\big(\operatorname{pool}_i h(z_i)\big) + b

    Args:
        sizes: sizes of the data.
        options: sizes of the layers, and the pool.

    Source:
        Zaheer et al. 2017, "Deep Sets", theorem 2 (https://arxiv.org/abs/1703.06114), for sets. Lee et al. 2019,
        table 1, for the kinds of pooling.

    Example:
        >>> model, order = MLP(Sizes(0, 1)).eval(), torch.tensor([2, 0, 1])
        >>> points = Padded(torch.randn(4, 3).double(), torch.tensor([3, 3, 3, 3]))
        >>> other = Padded(points.values[:, order], points.lengths)
        >>> torch.allclose(model(points).mean, model(other).mean)
        True
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "sine": {"learning_rate": 3e-3, "max_steps": 2000, "warmup_steps": 100},
        "heteroscedastic": {"learning_rate": 3e-3, "max_steps": 2000, "warmup_steps": 100},
        "maximum": {"learning_rate": 3e-3, "max_steps": 10_000, "schedule": "linear", "schedule_steps": 10_000},
        "files": {"learning_rate": 3e-3, "max_steps": 3000, "warmup_steps": 100, **EARLY},
    }

    def __init__(self, sizes: Sizes, options: Options = _DEFAULT) -> None:
        super().__init__(sizes)
        self.options, hidden = options, options.hidden_dim
        self.elements = _layers(1, hidden, options.layers) if sizes.sets else None
        self.layers = _layers(hidden if sizes.sets else sizes.features, hidden, options.layers)
        self.output = nn.Linear(hidden, sizes.outputs)
        self.spread = Spread(hidden, sizes.outputs)

    def read(self, points: Padded, indices: Tensor | None = None) -> Predicted:
        """Return the outputs of the last layer."""
        features = self.layers(points.values if self.elements is None else self._pooled(points))
        return Predicted(self.output(features), self.spread(features))

    def _pooled(self, points: Padded) -> Tensor:
        assert self.elements is not None
        features, within = self.elements(points.values[..., None]), points.within[..., None]
        if self.options.pool == "max":
            largest: Tensor = torch.where(within, features, -torch.inf).amax(1)
            return largest
        total = torch.where(within, features, 0.0).sum(1)
        return total / points.lengths[:, None] if self.options.pool == "mean" else total


def _layers(inputs: int, hidden: int, count: int) -> nn.Sequential:
    widths = [inputs, *[hidden] * count]
    pairs = itertools.pairwise(widths)
    return nn.Sequential(*(part for pair in pairs for part in (nn.Linear(*pair), nn.ReLU())))
