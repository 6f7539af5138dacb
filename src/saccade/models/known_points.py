"""Models that keep training points and answer by a weighted mean of their answers; each has weights of its own."""

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from saccade.models.padded import Padded
from saccade.models.regressor import Predicted, Regressor, Sizes, TrainingData

__all__ = ["KnownPoints"]

_LEAST = 1e-6  # of a variance, in those of answers


class KnownPoints(Regressor):
    r"""Answers are means of known answers, their deviations those of the same weights.

    .. math::
        f(z) = \sum_i w_i(z) y_i, \qquad s^2(z) = \sum_i w_i(z) y_i^2 - f(z)^2

    In training each point is answered by all others: its own weight is 0, by a mask. Where all weights are 0, since a
    kernel of bounded reach finds no known point, the mean and the deviation are those of all answers of training.

    Args:
        sizes: what it is made for, with the number of points that are kept.

    Source:
        Nadaraya 1964, Watson 1964 for the mean; Rosenblatt 1969, "Conditional probability density and regression
        estimators", for the distribution whose mean and variance these are.
    """

    attends: ClassVar[bool] = True
    keeps: ClassVar[bool] = True
    points: Tensor
    answers: Tensor

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.register_buffer("points", torch.zeros(sizes.points, sizes.features))
        self.register_buffer("answers", torch.zeros(sizes.points, sizes.outputs))

    def begin(self, data: TrainingData) -> None:
        """Keep the points and their answers, standardized."""
        super().begin(data)
        self.points.copy_((data.points - self.input_mean) / self.input_std)
        self.answers.copy_((data.answers - self.output_mean) / self.output_std)

    @abstractmethod
    def attended(self, points: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Return means of what known points have.

        Args:
            points: standardized, `(batch, features)`.
            values: of the known points, `(points, any)`.
            mask: which of them may be attended to, `(batch, points)`; None for all.
        """

    def read(self, points: Padded, places: Tensor | None = None) -> Predicted:
        """Return the means and deviations of known answers."""
        mask, outputs = None, self.sizes.outputs
        if places is not None:
            mask = torch.arange(len(self.points), device=places.device) != places[:, None]
        values = torch.cat([self.answers, self.answers.square(), torch.ones_like(self.answers[:, :1])], 1)
        mean, square, total = self.attended(points.values, values, mask).split([outputs, outputs, 1], 1)
        variance = (square - mean.square()).clamp(min=_LEAST)
        # Where no point has weight the mean is 0, that of all standardized answers; their variance is 1.
        return Predicted(mean, variance.where(total != 0, 1.0).sqrt())

    def weights(self, points: Padded) -> Tensor:
        """Return the weight of each known point, `(batch, 1, points)`."""
        each = torch.eye(len(self.points), device=self.points.device)
        return self.attended(self.standardized(points).values, each, None)[:, None]

    @property
    def places(self) -> Tensor:
        """The known points in the units of the data, `(points, features)`, float64."""
        return self.points.double() * self.input_std + self.input_mean

    @property
    def heights(self) -> Tensor:
        """Their answers in the units of the data, `(points, outputs)`, float64."""
        return self.answers.double() * self.output_std + self.output_mean
