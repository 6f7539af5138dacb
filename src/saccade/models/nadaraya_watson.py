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
from saccade.models.regressor import Known, Sizes
from saccade.nn._bandwidth import LeftOut, leave_one_out, means

__all__ = ["NadarayaWatson", "Options"]

_KERNELS = ("gaussian", "epanechnikov", "triangular")
_APART, _TRIED = 1.5, 41  # powers of ten about the bandwidth, and how many are tried, where they are drawn


@dataclass(frozen=True, kw_only=True)
class Options:
    """The kernel, and what its width is.

    >>> Options(metric="scalar").kernel
    'gaussian'
    """

    kernel: Literal["gaussian", "epanechnikov", "triangular"] = "gaussian"
    """Kernel of the weights. All but the Gaussian are 0 beyond the bandwidth."""

    bandwidth: float | None = None
    """Initial bandwidth, in standard deviations of the features. Default: the minimum of the leave-one-out error."""

    metric: Literal["scalar", "diagonal"] = "diagonal"
    """Trained bandwidths: one (scalar), or one per feature (diagonal)."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        if self.kernel not in _KERNELS:
            raise ArgumentError(f"--kernel: expected one of {', '.join(_KERNELS)}, got {self.kernel}")
        if self.metric not in ("scalar", "diagonal"):
            raise ArgumentError(f"--metric: expected scalar or diagonal, got {self.metric}")
        if self.bandwidth is not None:
            in_ranges(self, (("bandwidth", 1e-6, 1e6),))


_DEFAULT = Options()


class NadarayaWatson(KnownPoints):
    r"""Attention over known points whose only parameters are bandwidths.

    .. math::
        f(z) = \sum_i \frac{K(\lVert (z - z_i) / h \rVert)}{\sum_j K(\lVert (z - z_j) / h \rVert)} y_i

    h begins at the number with the least leave-one-out error (`saccade.nn._bandwidth` searches it). Training follows
    the gradient of that error.

    Args:
        sizes: what it is made for.
        options: kernel and bandwidth.

    Source:
        Nadaraya 1964; Watson 1964; Härdle, Marron 1985 for bandwidths by leave-one-out.

    Example:
        >>> from saccade.models.padded import Padded
        >>> model = NadarayaWatson(Sizes(1, 1, 3), Options(bandwidth=0.01))
        >>> points, answers = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[1.0], [4.0], [9.0]])
        >>> zero, one = torch.zeros(1), torch.ones(1)
        >>> model.begin(Known(zero, one, zero, one, points, answers))
        >>> [[found]] = model(Padded(torch.tensor([[2.0]]).double(), torch.tensor([1]))).mean.tolist()
        >>> round(found, 4)
        4.0
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "sine": {"learning_rate": 1e-2, "max_steps": 500, "warmup_steps": 50},
        "heteroscedastic": {"learning_rate": 1e-2, "max_steps": 500, "warmup_steps": 50},
        "maximum": {},
        "files": {"learning_rate": 1e-2, "max_steps": 500, "warmup_steps": 50},
    }

    def __init__(self, sizes: Sizes, options: Options = _DEFAULT) -> None:
        super().__init__(sizes)
        self.options = options
        widths = sizes.features if options.metric == "diagonal" else 1
        self.log_bandwidth = nn.Parameter(torch.zeros(widths))

    def begin(self, known: Known) -> None:
        """Keep the points, and find the bandwidth."""
        super().begin(known)
        given = self.options.bandwidth
        found = given or leave_one_out(self.points.double(), self.answers.double(), self.options.kernel)
        with torch.no_grad():
            self.log_bandwidth.fill_(found).log_()

    @property
    def bandwidth(self) -> Tensor:
        """h, of each feature or of all, in deviations of the features."""
        return self.log_bandwidth.exp()

    def attended(self, points: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Return means of what known points have, weighed by the kernel."""
        return self.at(self.bandwidth, points, values, mask)

    def at(self, bandwidth: Tensor, points: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Return the same by another bandwidth."""
        return means(points / bandwidth, self.points / bandwidth, values, self.options.kernel, mask)

    def tried(self, features: Sequence[str]) -> tuple[Tensor, Tensor, float, str]:
        """Return bandwidths, the error of leave-one-out by each, the one that is taken, and what they are called.

        Of one feature they are in its units; of several all are scaled together, and 1 is what is taken. Errors are
        squares of the answer's units; of several answers, of the deviations of each, whose mean is what is least.

        Args:
            features: what they are called.
        """
        width = self.bandwidth.detach()
        factors = torch.logspace(-_APART, _APART, _TRIED, device=self.points.device)
        error = LeftOut.of((self.points / width).double(), self.answers.double(), self.options.kernel)
        errors = torch.tensor([error.of_width(float(one)) for one in factors])
        if len(self.output_std) == 1:
            errors *= self.output_std.cpu().square()
        if len(features) > 1:
            return factors, errors, 1.0, "all bandwidths, in times of those that are taken"
        taken = float(width[0] * self.input_std[0])
        return factors.double() * taken, errors, taken, f"bandwidth, in the units of {features[0]}"
