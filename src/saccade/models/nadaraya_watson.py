"""Nadaraya-Watson: the mean of training targets, weighted by distance.

Nadaraya 1964, "On estimating regression"; Watson 1964, "Smooth regression analysis".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor, nn

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.known_points import KnownPoints
from saccade.models.regressor import EARLY, Sizes, TrainingData
from saccade.nn._bandwidth import LeftOut, leave_one_out, means

__all__ = ["NadarayaWatson", "Options"]

_KERNELS = ("gaussian", "epanechnikov", "triangular")
_DECADES, _CANDIDATES = 1.5, 41  # bandwidths of the plot: decades to both sides of the current one, and their number


@dataclass(frozen=True, kw_only=True)
class Options:
    """Kernel and bandwidths of Nadaraya-Watson regression.

    >>> Options(metric="scalar").kernel
    'gaussian'
    """

    kernel: Literal["gaussian", "epanechnikov", "triangular"] = "gaussian"
    """Kernel of the weights. All but the Gaussian are 0 beyond the bandwidth."""

    bandwidth: float | None = None
    """Initial bandwidth, in standard deviations of the features.
    Default: the minimum of the leave-one-out error."""

    metric: Literal["scalar", "diagonal"] = "diagonal"
    """Trained bandwidths: one (scalar), or one per feature (diagonal)."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        if self.kernel not in _KERNELS:
            raise ArgumentError(f"--kernel: expected one of {', '.join(_KERNELS)}, got {self.kernel}")
        if self.metric not in ("scalar", "diagonal"):
            raise ArgumentError(f"--metric: expected scalar or diagonal, got {self.metric}")
        if self.bandwidth is not None:
            in_ranges(self, (("bandwidth", 1e-6, 1e6),))


_DEFAULT = Options()


class NadarayaWatson(KnownPoints):
    r"""Kernel regression over the training points, with learned bandwidths.

    .. math::
        f(z) = \sum_i \frac{K(\lVert (z - z_i) / h \rVert)}{\sum_j K(\lVert (z - z_j) / h \rVert)} y_i

    The initial h minimizes the leave-one-out error (`saccade.nn._bandwidth`). Training follows the gradient of that
    error.

    Args:
        sizes: of the data.
        options: kernel and bandwidth.

    Source:
        Nadaraya 1964; Watson 1964. Härdle, Marron 1985, for bandwidths by leave-one-out.

    Example:
        >>> from saccade.models.padded import Padded
        >>> model = NadarayaWatson(Sizes(1, 1, 3), Options(bandwidth=0.01))
        >>> points, answers = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[1.0], [4.0], [9.0]])
        >>> mean, std = torch.zeros(1), torch.ones(1)
        >>> model.begin(TrainingData(mean, std, mean, std, points, answers))
        >>> [[prediction]] = model(Padded(torch.tensor([[2.0]]).double(), torch.tensor([1]))).mean.tolist()
        >>> round(prediction, 4)
        4.0
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "sine": {"learning_rate": 1e-2, "max_steps": 500, "warmup_steps": 50},
        "heteroscedastic": {"learning_rate": 1e-2, "max_steps": 500, "warmup_steps": 50},
        "maximum": {},
        "files": {"learning_rate": 1e-2, "max_steps": 500, "warmup_steps": 50, **EARLY, "weight_decay": 0.0},
    }

    def __init__(self, sizes: Sizes, options: Options = _DEFAULT) -> None:
        super().__init__(sizes)
        self.options = options
        widths = sizes.features if options.metric == "diagonal" else 1
        self.log_bandwidth = nn.Parameter(torch.zeros(widths))

    def begin(self, data: TrainingData) -> None:
        """Keep the points and initialize the bandwidths."""
        super().begin(data)
        bandwidth = self.options.bandwidth
        if bandwidth is None:
            bandwidth = leave_one_out(self.points.double(), self.answers.double(), self.options.kernel)
        with torch.no_grad():
            self.log_bandwidth.fill_(bandwidth).log_()

    @property
    def bandwidth(self) -> Tensor:
        """h in standard deviations, of each feature or of all together."""
        return self.log_bandwidth.exp()

    def attended(self, points: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Return means of the points' values, weighted by the kernel."""
        return self.at(self.bandwidth, points, values, mask)

    def at(self, bandwidth: Tensor, points: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Return the means of `attended` for another bandwidth."""
        return means(points / bandwidth, self.points / bandwidth, values, self.options.kernel, mask)

    def tried(self, features: Sequence[str]) -> tuple[Tensor, Tensor, float, str]:
        """Return leave-one-out errors around the current bandwidth, for a plot.

        Bandwidths of one feature are in its units. Those of several features are scaled together, and the current ones
        are at 1. Errors are mean squares, in the squared units of a single answer or in variances of several answers.

        Args:
            features: their names.

        Returns:
            Bandwidths, their errors, the current bandwidth, and the label of the axis.
        """
        width = self.bandwidth.detach()
        factors = torch.logspace(-_DECADES, _DECADES, _CANDIDATES, device=self.points.device)
        error = LeftOut.of((self.points / width).double(), self.answers.double(), self.options.kernel)
        errors = torch.tensor([error.of_width(float(factor)) for factor in factors])
        if len(self.output_std) == 1:
            errors *= self.output_std.cpu().square()
        if len(features) > 1:
            return factors, errors, 1.0, "all bandwidths, as multiples of the current ones"
        current = float(width[0] * self.input_std[0])
        return factors.double() * current, errors, current, f"bandwidth, in the units of {features[0]}"
