"""Base class of models that average the answers of training points."""

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from saccade.models.padded import Padded
from saccade.models.regressor import Predicted, Regressor, Sizes, TrainingData

__all__ = ["KnownPoints"]

_LEAST = 1e-6  # variance, as a share of the variance of the answers


class KnownPoints(Regressor):
    r"""Weighted means and standard deviations of the answers of training points.

    .. math::
        f(z) = \sum_i w_i(z) y_i, \qquad s^2(z) = \sum_i w_i(z) y_i^2 - f(z)^2

    In training a mask sets the weight of a point for itself to 0. All weights are 0 if no training point is within the
    support of a kernel. Mean and deviation are then those of all training answers.

    Args:
        sizes: sizes of the data, with the number of training points.

    Source:
        Nadaraya 1964 and Watson 1964 for the mean. Rosenblatt 1969, "Conditional probability density and regression
        estimators", for the conditional distribution and its variance.
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
        """Return weighted means of values of the training points.

        Args:
            points: standardized queries, `(batch, features)`.
            values: values of the training points, `(points, any)`.
            mask: booleans `(batch, points)`, True for points to attend to. None: all points.
        """

    def read(self, points: Padded, indices: Tensor | None = None) -> Predicted:
        """Return weighted means and deviations of the training answers."""
        mask, outputs = None, self.sizes.outputs
        if indices is not None:
            mask = torch.arange(len(self.points), device=indices.device) != indices[:, None]
        values = torch.cat([self.answers, self.answers.square(), torch.ones_like(self.answers[:, :1])], 1)
        mean, square, total = self.attended(points.values, values, mask).split([outputs, outputs, 1], 1)
        variance = (square - mean.square()).clamp(min=_LEAST)
        # If no point has weight, mean and variance are those of all standardized answers, 0 and 1.
        return Predicted(mean, variance.where(total != 0, 1.0).sqrt())

    def weights(self, points: Padded) -> Tensor:
        """Return the weight of each training point, `(batch, 1, points)`."""
        identity = torch.eye(len(self.points), device=self.points.device)
        return self.attended(self.standardized(points).values, identity, None)[:, None]

    @property
    def places(self) -> Tensor:
        """Training points in the units of the data, `(points, features)`, float64."""
        return self.points.double() * self.input_std + self.input_mean

    @property
    def heights(self) -> Tensor:
        """Training answers in the units of the data, `(points, outputs)`, float64."""
        return self.answers.double() * self.output_std + self.output_mean
