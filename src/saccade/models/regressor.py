"""Base class of regressors: standardized numbers, and a deviation of each answer.

    z = (x − μₓ) / σₓ        ŷ = μ_y + σ_y f(z)        interval: ŷ ± q σ_y s(z)

The means μ and deviations σ are those of the training data, and are part of the model's state. If f is a weighted mean
of training answers, s comes from the same weights. Otherwise s is trained beside f, without a gradient into f. A start
is a fitted function, for example ridge regression. It is added to ŷ, so that f learns its errors.
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

__all__ = ["EARLY", "Options", "Predicted", "Regressor", "Sizes", "Spread", "TrainingData"]

#: Early stopping of recipes for small data.
EARLY: dict[str, Any] = {"validation_steps": 50, "checkpoint_steps": 50, "patience": 6, "weight_decay": 0.01}

_LEAST = 1e-4  # smallest deviation of a standardized answer
_NORMAL = math.sqrt(math.pi / 2)  # deviation of a normal error over the mean of its absolute value
_FLOOR = 1e-12  # a feature with a smaller deviation is not scaled


class Sizes(NamedTuple):
    """Sizes of the data of a regressor.

    >>> Sizes(1, 1).sets
    False
    """

    features: int
    """Numbers of a row. 0 for sets, with one number per element."""
    outputs: int
    """Numbers of an answer."""
    points: int = 0
    """Number of training points."""

    @property
    def sets(self) -> bool:
        """Whether inputs are sets of any size."""
        return self.features == 0


class TrainingData(NamedTuple):
    """Statistics, points and answers of the training data, in its units.

    Args:
        mean, std: of each feature, `(features,)`, or of all elements of sets, `(1,)`.
        answers_mean, answers_std: of each answer, `(outputs,)`.
        points: training points, `(points, features)`, empty for sets.
        answers: of the points, `(points, outputs)`. With a start, its errors at these points.
        start: function whose errors are the answers of the model, or None.
    """

    mean: Tensor
    std: Tensor
    answers_mean: Tensor
    answers_std: Tensor
    points: Tensor
    answers: Tensor
    start: nn.Module | None = None


class Predicted(NamedTuple):
    """Answers and their standard deviations, both `(batch, outputs)`."""

    mean: Tensor
    deviation: Tensor


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a model without any."""


class Regressor(nn.Module, ABC):
    """Base of regressors. It standardizes inputs and answers.

    Args:
        sizes: of the data.
    """

    recipes: ClassVar[dict[str, dict[str, Any]]] = {"sine": {}, "heteroscedastic": {}, "maximum": {}, "files": {}}
    attends: ClassVar[bool] = False
    """Whether it attends to training points or to elements of a set."""
    keeps: ClassVar[bool] = False
    """Whether it keeps the training points."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.start: nn.Module | None = None
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
        """Reject data that the model does not read.

        Args:
            sizes: of the data.
            name: of the model.

        Raises:
            ArgumentError: sets, if the model keeps training points.
        """
        if cls.keeps and sizes.sets:
            way_out = "--model set-transformer, mlp and mean read them"
            raise ArgumentError(f"--model: expected one that reads sets of any size, got {name}; {way_out}")

    @property
    def is_fitted(self) -> bool:
        """Whether the model is useful before its first step."""
        return self.start is not None

    def begin(self, data: TrainingData) -> None:
        """Copy the statistics and the start of the training data."""
        self.start = data.start
        if data.start is not None and isinstance(output := getattr(self, "output", None), nn.Linear):
            nn.init.zeros_(output.weight)
            nn.init.zeros_(output.bias)
        self.input_mean.copy_(data.mean)
        self.input_std.copy_(data.std.where(data.std > _FLOOR, 1.0))
        self.output_mean.copy_(data.answers_mean)
        self.output_std.copy_(data.answers_std.where(data.answers_std > _FLOOR, 1.0))

    def standardized(self, points: Padded) -> Padded:
        """Return standardized inputs, `(batch, numbers)`, float32."""
        return Padded(((points.values - self.input_mean) / self.input_std).float(), points.lengths)

    @abstractmethod
    def read(self, points: Padded, indices: Tensor | None = None) -> Predicted:
        """Return standardized answers for standardized inputs.

        Args:
            points: `(batch, numbers)`.
            indices: of the inputs among the training points, `(batch,)`, -1 for others. A point does not attend to
                itself. None: there is no mask.
        """

    def forward(self, points: Padded) -> Predicted:
        """Return answers and deviations in the units of the data, float64."""
        mean, deviation = self.read(self.standardized(points))
        mean = self.output_mean + self.output_std * mean
        return Predicted(mean if self.start is None else mean + self.start(points.values), self.output_std * deviation)

    def loss(
        self, points: Padded, answers: Tensor, indices: Tensor, kind: str, started: Tensor | None = None
    ) -> Tensor:
        r"""Return the loss of standardized answers and of trained deviations.

        .. math:: \ell(f(z), y) + \log s(z) + \sqrt{\pi / 2}\, |y - f(z)| / s(z)

        The terms of s have no gradient in f. For normal errors e they are smallest if s is the standard deviation,
        since the mean of |e| is √(2 / π) times it. With squared errors (Nix, Weigend 1994) one large error could
        dominate the gradient of a batch.

        Args:
            points: `(batch, numbers)`, in the units of the data.
            answers: `(batch, outputs)`, in the units of the data.
            indices: of the points among the training points.
            kind: "squared" or "absolute".
            started: predictions of the start without the points themselves, `(batch, outputs)`. Default, also in place
                of NaN: those of the start.
        """
        if self.start is not None:
            if started is None or bool(started.isnan().any()):
                current = self.start(points.values)
                started = current if started is None else torch.where(started.isnan(), current, started)
            answers = answers - started
        target = ((answers - self.output_mean) / self.output_std).float()
        prediction = self.read(self.standardized(points), indices)
        error = target - prediction.mean.float()
        loss = error.square().mean() if kind == "squared" else error.abs().mean()
        if self.keeps:  # deviations follow from the weights of f
            return loss
        deviation = prediction.deviation.float()
        return loss + (deviation.log() + _NORMAL * error.detach().abs() / deviation).mean()

    def weights(self, points: Padded) -> Tensor | None:
        """Return weights `(batch, heads, points or elements)`, None without attention."""
        return None


class Spread(nn.Module):
    """Standard deviation predicted from detached features of a model.

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
        """Return positive deviations `(batch, outputs)` of features `(batch, dim)`."""
        normalized = functional.layer_norm(features.detach(), features.shape[-1:])
        deviation: Tensor = self.log(normalized).clamp(-9, 9).exp()
        return deviation + _LEAST
