"""Kernel regression as attention: a prediction is a mean of known answers, weighed by how near their points are.

    predict(x) = Σᵢ wᵢ(x) yᵢ,   wᵢ(x) = K(‖A(x − xᵢ)‖) / Σⱼ K(‖A(x − xⱼ)‖)

Points asked for are queries, known points keys, their answers values. The Gaussian kernel is the softmax of
`scores.Gaussian`, kernels of compact support are `scores.Kernel` by `normalizers.Sum`. What K's width should be is told
by leaving out: each known answer is predicted by all others, which is one call of `attend` whose mask allows all pairs
but the diagonal's.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from saccade import scores
from saccade._definitions.numerics import LARGEST, SMALLEST
from saccade.errors import ArgumentError
from saccade.nn._bandwidth import leave_one_out, left_out, means, weights

__all__ = ["KernelRegression"]

_Numbers = NDArray[np.float64]
_METRICS = ("scalar", "diagonal", "full")
_STEPS = 100  # of L-BFGS
_AT_ONCE = 1 << 16  # points that are predicted together
_WEIGHTS_AT_ONCE = 1 << 22  # weights that are computed together


class KernelRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Regression by a weighted mean of known answers (Nadaraya-Watson), an estimator as scikit-learn has them.

    .. math::
        \hat y(x) = \sum_i \frac{K(\lVert A (x - x_i) \rVert)}{\sum_j K(\lVert A (x - x_j) \rVert)} y_i

    Where no known point is within a kernel's support the mean of all answers is predicted.

    Args:
        kernel: "gaussian", exp(−u²/2); "epanechnikov", "triangular" or "boxcar", as `scores.Kernel` has them.
        bandwidth: h in A = 1/h, in the units of X; a number for each feature; "leave-one-out" for the one h that
            predicts each known answer best by all others; or "gradient" for an A that does, found by L-BFGS.
        metric: what "gradient" finds: "scalar", one h; "diagonal", one for each feature, so that features that tell
            nothing are left out by large ones; "full", a matrix, the learned weighting function.

    Attributes:
        transform_: A, `(features, features)`.
        bandwidth_: h, a number or `(features,)`; None of a full matrix.
        loo_error_: mean squared error of known answers by all others, computed when it is first asked for; nan of a
            single point.

    Source:
        Nadaraya 1964, "On estimating regression"; Watson 1964, "Smooth regression analysis"; Härdle,
        Marron 1985 for bandwidths by leave-one-out; Weinberger, Tesauro 2007, "Metric learning for kernel regression",
        for A by its gradient.

    Example:
        >>> x = np.linspace(0, 6, 60)[:, None]
        >>> known = KernelRegression().fit(x, np.sin(x[:, 0]))
        >>> float(abs(known.predict(x) - np.sin(x[:, 0])).max()) < 0.1
        True
        >>> low, high = known.predict_interval(x, coverage=0.9)
        >>> bool((low <= high).all())
        True
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        bandwidth: float | Sequence[float] | Literal["leave-one-out", "gradient"] = "leave-one-out",
        metric: Literal["scalar", "diagonal", "full"] = "diagonal",
    ) -> None:
        self.kernel, self.bandwidth, self.metric = kernel, bandwidth, metric

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn that answers may be several numbers."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> "KernelRegression":
        """Keep points and answers, and find the bandwidth; a fit that is refused leaves all as it was.

        Args:
            X: `(n, features)`, finite.
            y: `(n,)` or `(n, outputs)`, finite.

        Raises:
            ArgumentError: an unknown kernel, method or metric; a bandwidth outside 1e-12 to 1e12, or not one for each
                feature; a bandwidth to be found from one point; a kernel without a gradient everywhere by "gradient".
            ValueError: numbers that are none, not finite, or of other shapes, in scikit-learn's words.
        """
        before = dict(self.__dict__)
        try:
            with torch.inference_mode(False):  # of what is made in that mode there are no gradients
                return self._fitted(X, y)
        except BaseException:
            self.__dict__ = before
            raise

    def _fitted(self, X: ArrayLike, y: ArrayLike) -> "KernelRegression":
        points, answers = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        _check_words(self.kernel, self.metric)
        self._y_shape = answers.shape[1:]
        self._mean = answers.mean(0)
        # A copy: what is given may be changed, or not be writable.
        self._points = torch.tensor(points, device="cpu")
        self._centre = self._points.mean(0)
        self._points = self._points - self._centre  # so that what A makes of points far away loses nothing
        centred = np.ascontiguousarray(answers - self._mean, dtype=np.float64)
        self._answers = torch.from_numpy(centred.reshape(len(answers), -1))
        if isinstance(self.bandwidth, str) and len(points) < 2:
            got = f"{self.bandwidth!r}, 1 sample"
            raise ArgumentError(f"bandwidth: expected a number where there is one point, got {got}")
        self.transform_ = self._found(points.shape[1]).numpy()
        diagonal = np.diag(self.transform_)
        self.bandwidth_ = None
        if np.array_equal(self.transform_, np.diag(diagonal)):
            widths = 1 / abs(diagonal)  # no distance depends on the signs of A's rows
            self.bandwidth_ = widths if (widths != widths[0]).any() else float(widths[0])
        self._missed: Tensor | None = None
        return self

    @property
    def loo_error_(self) -> float:
        """Mean squared error of known answers by all others, n² pairs when it is first asked for; nan of one point."""
        check_is_fitted(self)
        return float(self._squares.mean()) if len(self._points) > 1 else math.nan

    @property
    def _squares(self) -> Tensor:
        """By how much each known answer is missed by all others, squared."""
        if self._missed is None:
            left_out = self._left_out(torch.from_numpy(self.transform_))
            self._missed = (self._answers - left_out).square()
        return self._missed

    def predict(self, X: ArrayLike) -> _Numbers:
        """Return a prediction for each point.

        Args:
            X: `(m, features)`.

        Returns:
            `(m,)`, or `(m, outputs)` as y was.
        """
        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, reset=False)
        found: _Numbers = self._shaped(self._read(points, self._answers)) + self._mean
        return found

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> tuple[_Numbers, _Numbers]:
        r"""Return intervals, predictions ± q σ(x), with σ(x) the error at known points near x.

        .. math::
            \sigma^2(x) = \sum_i w_i(x) (y_i - \hat y_{-i}(x_i))^2

        and q such that the share `coverage` of the known answers lies within their own, those of leave-one-out:
        the jackknife's quantile (Lei et al. 2018, "Distribution-free predictive inference for regression", section
        5.2, scale residuals so). Where no known point is near, σ is the standard deviation of all known answers.

        Args:
            X: `(m, features)`.
            coverage: the share of answers that are to lie within, above 0 and below 1.

        Returns:
            The lower and the upper ends, each shaped as `predict` has it.

        Raises:
            ArgumentError: if coverage is no such share, or one point alone was fitted.
        """
        check_is_fitted(self)
        if not 0 < coverage < 1:
            raise ArgumentError(f"coverage: expected a share above 0 and below 1, got {coverage}")
        count = len(self._points)
        if count < 2:
            raise ArgumentError("predict_interval: expected 2 points or more to be fitted, got 1")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        least = self._squares.mean(0).sqrt() * 1e-6 + 1e-300
        transform = torch.from_numpy(self.transform_)
        own = self._missed_by(lambda values: self._left_out(transform, values)).maximum(least)
        factor = (self._squares.sqrt() / own).sort(0).values[_rank(count, coverage) - 1]
        sigma = self._missed_by(lambda values: self._read(points, values)).maximum(least)
        middle, width = self.predict(X), self._shaped(factor * sigma)
        return middle - width, middle + width

    def weights(self, X: ArrayLike) -> _Numbers:
        """Return the weight of each known point in each prediction, `(m, n)`: rows sum to 1, or to 0 of none near.

        Args:
            X: `(m, features)`.
        """
        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, reset=False)
        keys, found = self._scaled(self._points), np.empty((len(points), len(self._points)))
        size = max(1, _WEIGHTS_AT_ONCE // len(self._points))
        for first in range(0, len(points), size):
            found[first : first + size] = weights(self._asked(points[first : first + size]), keys, self.kernel).numpy()
        return found

    def _found(self, features: int) -> Tensor:
        """A, by the bandwidth that is given or the method that finds it."""
        if not isinstance(self.bandwidth, str):
            widths = np.asarray(self.bandwidth, dtype=np.float64)
            if widths.shape not in ((), (features,)) or not bool(((widths >= SMALLEST) & (widths <= LARGEST)).all()):
                expected = f"a number from {SMALLEST:g} to {LARGEST:g}, or {features}, one for each feature"
                raise ArgumentError(f"bandwidth: expected {expected}, got {self.bandwidth!r}")
            return torch.from_numpy(np.diag(1 / np.broadcast_to(widths, (features,))))
        if self.bandwidth not in ("leave-one-out", "gradient"):
            raise ArgumentError(f"bandwidth: expected numbers, 'leave-one-out' or 'gradient', got {self.bandwidth!r}")
        one = torch.eye(features, dtype=torch.float64, device="cpu")
        start = one / leave_one_out(self._points, self._answers, self.kernel)
        if self.bandwidth == "leave-one-out":
            return start
        if self.kernel == "boxcar":
            raise ArgumentError("kernel: expected one with a gradient for bandwidth 'gradient', got 'boxcar'")
        return self._descended(start)

    def _descended(self, start: Tensor) -> Tensor:
        """A by the gradient of the error of leave-one-out, from one h on.

        What is searched for is a factor of that A, a number without a unit, as the tolerances of L-BFGS are.
        """
        full = self.metric == "full"
        given = torch.eye(len(start), dtype=torch.float64, device="cpu")
        if not full:
            given = given.new_zeros(1 if self.metric == "scalar" else len(start))  # its logarithm
        given.requires_grad_()

        def transform() -> Tensor:
            return given @ start if full else start * given.exp()

        search = torch.optim.LBFGS([given], max_iter=_STEPS, line_search_fn="strong_wolfe")
        scale = self._answers.square().mean().clamp(min=1e-300)

        def error() -> Tensor:
            search.zero_grad()
            loss = (self._answers - self._left_out(transform())).square().mean() / scale
            loss.backward()
            return loss

        with torch.enable_grad():
            search.step(error)
        found = transform().detach()
        return found if bool(found.isfinite().all()) else start

    def _left_out(self, transform: Tensor, values: Tensor | None = None) -> Tensor:
        """What all other points have for each known one."""
        return left_out(self._points @ transform.mT, self._answers if values is None else values, self.kernel)

    def _read(self, points: _Numbers, values: Tensor) -> Tensor:
        """Means of what known points have, for other points."""
        keys, blocks = self._scaled(self._points), range(0, len(points), _AT_ONCE)
        asked = (self._asked(points[first : first + _AT_ONCE]) for first in blocks)
        return torch.cat([means(one, keys, values, self.kernel) for one in asked])

    def _asked(self, points: _Numbers) -> Tensor:
        """Points from outside as queries."""
        return self._scaled(torch.tensor(points, device="cpu") - self._centre)

    def _scaled(self, points: Tensor) -> Tensor:
        return points @ torch.from_numpy(self.transform_).mT

    def _missed_by(self, read: Callable[[Tensor], Tensor]) -> Tensor:
        """What known answers near some points are missed by; where none is near, the deviation of all answers."""
        values = torch.cat([self._squares, torch.ones_like(self._squares[:, :1])], 1)
        near, total = read(values).split([self._squares.shape[1], 1], 1)
        squares = torch.where(total != 0, near, self._answers.square().mean(0))
        return squares.clamp(min=0).sqrt()

    def _shaped(self, values: Tensor) -> _Numbers:
        return values.numpy().reshape(-1, *self._y_shape)


def _rank(count: int, coverage: float) -> int:
    """Which of so many misses, from the least on, an interval reaches: ⌈(count + 1) · coverage⌉, and at most the last.

    That is as split conformal prediction has it. The product is rounded first: of 100 · 0.55 floats make more than 55.

    >>> _rank(99, 0.55), _rank(99, 0.551), _rank(99, 0.999)
    (55, 56, 99)
    """
    return max(1, min(count, math.ceil(round((count + 1) * coverage, 9))))


def _check_words(kernel: str, metric: str) -> None:
    known = ("gaussian", *scores.KERNELS)
    if kernel not in known:
        raise ArgumentError(f"kernel: expected one of {', '.join(known)}, got {kernel!r}")
    if metric not in _METRICS:
        raise ArgumentError(f"metric: expected one of {', '.join(_METRICS)}, got {metric!r}")
