"""What every model that answers with numbers is: standardized inside, with a deviation beside each answer.

    z = (x − μₓ) / σₓ        ŷ = μ_y + σ_y f(z)        interval: ŷ ± q σ_y s(z)

with the means and deviations of what is trained on, which the model's state keeps. Where f is a weighted mean of known
answers, s comes from the same weights; else s is learned beside f, which it does not change.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from saccade.errors import ArgumentError
from saccade.models.padded import Padded

__all__ = ["EARLY", "Known", "Options", "Predicted", "Regressor", "Sizes", "Spread"]

#: Of recipes for data that may be few: the model of the best validation is taken, and training ends soon behind it.
EARLY: dict[str, Any] = {"validation_steps": 50, "checkpoint_steps": 50, "patience": 6, "weight_decay": 0.01}

_LEAST = 1e-4  # deviations of answers: no interval is narrower
_NORMAL = math.sqrt(math.pi / 2)  # deviation of a normal error over the mean of its absolute value
_FLOOR = 1e-12  # of a feature: what has no deviation is not scaled up


class Sizes(NamedTuple):
    """What a model is made for.

    >>> Sizes(1, 1).sets
    False
    """

    features: int
    """Numbers of a row; 0 of sets, whose elements are one number each."""
    outputs: int
    """Numbers of an answer."""
    points: int = 0
    """Training points that a model may keep."""

    @property
    def sets(self) -> bool:
        """Whether sets are asked, of any size."""
        return self.features == 0


class Known(NamedTuple):
    """What is known before training, in the units of the data.

    Args:
        mean, std: of each feature, `(features,)`, or of all elements of sets, `(1,)`.
        answers_mean, answers_std: of each answer, `(outputs,)`.
        points: training points, `(points, features)`; none of sets.
        answers: theirs, `(points, outputs)`.
    """

    mean: Tensor
    std: Tensor
    answers_mean: Tensor
    answers_std: Tensor
    points: Tensor
    answers: Tensor


class Predicted(NamedTuple):
    """Answers and how far they may be off, both `(batch, outputs)`; standardized or in the units of the data."""

    mean: Tensor
    deviation: Tensor


@dataclass(frozen=True, kw_only=True)
class Options:
    """A model that has no options of its own."""


class Regressor(nn.Module, ABC):
    """A model of numbers; what it computes is standardized, what it takes and gives is not.

    Args:
        sizes: what it is made for.
    """

    recipes: ClassVar[dict[str, dict[str, Any]]] = {"sine": {}, "heteroscedastic": {}, "maximum": {}, "files": {}}
    attends: ClassVar[bool] = False
    """Whether it weighs known points, or the elements of a set."""
    keeps: ClassVar[bool] = False
    """Whether it keeps training points."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        inputs = sizes.features or 1
        for name, size in (("input", inputs), ("output", sizes.outputs)):
            self.register_buffer(f"{name}_mean", torch.zeros(size, dtype=torch.float64))
            self.register_buffer(f"{name}_std", torch.ones(size, dtype=torch.float64))

    input_mean: Tensor
    input_std: Tensor
    output_mean: Tensor
    output_std: Tensor

    @classmethod
    def check(cls, sizes: Sizes, name: str) -> None:
        """Refuse what the model cannot be made for.

        Args:
            sizes: of the data.
            name: what the model is called.

        Raises:
            ArgumentError: if it reads no sets, and sets are asked.
        """
        if cls.keeps and sizes.sets:
            way_out = "--model set-transformer, mlp and mean read them"
            raise ArgumentError(f"--model: expected one that reads sets of any size, got {name}; {way_out}")

    def begin(self, known: Known) -> None:
        """Take over what is known before training."""
        self.input_mean.copy_(known.mean)
        self.input_std.copy_(known.std.where(known.std > _FLOOR, 1.0))
        self.output_mean.copy_(known.answers_mean)
        self.output_std.copy_(known.answers_std.where(known.answers_std > _FLOOR, 1.0))

    def standardized(self, points: Padded) -> Padded:
        """Return numbers, `(batch, numbers)`, with mean 0 and deviation 1 as in training, in float32."""
        return Padded(((points.values - self.input_mean) / self.input_std).float(), points.lengths)

    @abstractmethod
    def read(self, points: Padded, places: Tensor | None = None) -> Predicted:
        """Return standardized answers to standardized numbers.

        Args:
            points: `(batch, numbers)`.
            places: which of the known points each is, `(batch,)`, -1 for none: no point is answered by itself. None:
                nothing is left out.
        """

    def forward(self, points: Padded) -> Predicted:
        """Return answers, and how far they may be off, in the units of the data, float64."""
        found = self.read(self.standardized(points))
        return Predicted(self.output_mean + self.output_std * found.mean, self.output_std * found.deviation)

    def loss(self, points: Padded, answers: Tensor, places: Tensor, kind: str) -> Tensor:
        r"""Return the error of standardized answers; where deviations are learned, with what teaches them.

        .. math:: \ell(f(z), y) + \log s(z) + \sqrt{\pi / 2}\, |y - f(z)| / s(z)

        The second part has no gradient in f. Where errors are normal it is least if s is their deviation, since the
        mean of |e| is then √(2 / π) times that; of squared errors (Nix, Weigend 1994) a single large one would be most
        of a batch's gradient.

        Args:
            points: `(batch, numbers)`, as they are.
            answers: `(batch, outputs)`, as they are.
            places: which of the known points each is.
            kind: "squared" or "absolute".
        """
        wanted = ((answers - self.output_mean) / self.output_std).float()
        found = self.read(self.standardized(points), places)
        error = wanted - found.mean.float()
        loss = error.square().mean() if kind == "squared" else error.abs().mean()
        if self.keeps:  # whose deviations follow from the same weights
            return loss
        deviation = found.deviation.float()
        return loss + (deviation.log() + _NORMAL * error.detach().abs() / deviation).mean()

    def weights(self, points: Padded) -> Tensor | None:
        """Return what was attended to, `(batch, heads, points or elements)`; None of a model without attention."""
        return None


class Spread(nn.Module):
    """A deviation read off what a model makes its answer of, without changing that.

    Args:
        dim: features.
        outputs: numbers of an answer.

    Example:
        >>> Spread(3, 2)(torch.zeros(5, 3)).shape
        torch.Size([5, 2])
    """

    def __init__(self, dim: int, outputs: int) -> None:
        super().__init__()
        self.log = nn.Linear(dim, outputs)
        nn.init.zeros_(self.log.weight)
        nn.init.zeros_(self.log.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Return deviations `(batch, outputs)`, above 0, of features `(batch, dim)`."""
        even = functional.layer_norm(features.detach(), features.shape[-1:])
        found: Tensor = self.log(even).clamp(-9, 9).exp()
        return found + _LEAST
