"""Kernel regression: new points are queries, training points keys, answers values."""

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
from saccade.nn._checks import one_of

__all__ = ["KernelRegression"]

_Numbers = NDArray[np.float64]
_METRICS = ("scalar", "diagonal", "full")
_STEPS = 100  # of L-BFGS
_AT_ONCE = 1 << 16  # points in a block of predictions
_WEIGHTS_AT_ONCE = 1 << 22  # weights in a block


class KernelRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Nadaraya-Watson regression, an estimator for scikit-learn.

    .. math::
        \hat y(x) = \sum_i \frac{K(\lVert A (x - x_i) \rVert)}{\sum_j K(\lVert A (x - x_j) \rVert)} y_i

    If no training point is within a kernel's support, the prediction is the mean of all answers.

    Args:
        kernel: "gaussian", exp(−u²/2); "epanechnikov", "triangular" or "boxcar", as `scores.Kernel` has them.
        bandwidth: h in A = 1/h, in the units of X, or a number for each feature. "leave-one-out" is the h of smallest
            leave-one-out error. "gradient" minimizes that error over A by L-BFGS.
        metric: the form of A for "gradient". "scalar" is one h. "diagonal" is one h for each feature, large for
            features without information. "full" is a matrix, the learned weighting function.

    Attributes:
        transform_: A, `(features, features)`.
        bandwidth_: h, a number or `(features,)`; None of a full matrix.
        loo_error_: mean squared leave-one-out error, computed at the first access; nan of a single point.

    Source:
        Nadaraya 1964, "On estimating regression". Watson 1964, "Smooth regression analysis". Härdle,
        Marron 1985 for bandwidths by leave-one-out. Weinberger, Tesauro 2007, "Metric learning for kernel regression",
        for A by its gradient.

    Example:
        >>> x = np.linspace(0, 6, 60)[:, None]
        >>> model = KernelRegression().fit(x, np.sin(x[:, 0]))
        >>> float(abs(model.predict(x) - np.sin(x[:, 0])).max()) < 0.1
        True
        >>> low, high = model.predict_interval(x, coverage=0.9)
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
        """Tags for scikit-learn: there may be several outputs."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> "KernelRegression":
        """Keep points and answers, and find the bandwidth.

        A fit that raises changes nothing.

        Args:
            X: `(n, features)`, finite.
            y: `(n,)` or `(n, outputs)`, finite.

        Raises:
            ArgumentError: an unknown kernel, method or metric. A bandwidth outside 1e-12 to 1e12, or not one for each
                feature. A search for a bandwidth with one point. A kernel without a gradient, with "gradient".
            ValueError: values that are no finite numbers, or other shapes, in scikit-learn's words.
        """
        before = dict(self.__dict__)
        try:
            with torch.inference_mode(False):  # that mode would exclude gradients
                return self._fitted(X, y)
        except BaseException:
            self.__dict__ = before
            raise

    def _fitted(self, X: ArrayLike, y: ArrayLike) -> "KernelRegression":
        points, answers = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        kernels = ("gaussian", *scores.KERNELS)
        for name, value, choices in (("kernel", self.kernel, kernels), ("metric", self.metric, _METRICS)):
            one_of(name, value, choices)
        self._y_shape = answers.shape[1:]
        self._mean = answers.mean(0)
        # A copy: the caller's array may change, or be read-only.
        self._points = torch.tensor(points, device="cpu")
        self._centre = self._points.mean(0)
        self._points = self._points - self._centre  # so that points far from the origin lose no digits
        centred = np.ascontiguousarray(answers - self._mean, dtype=np.float64)
        self._answers = torch.from_numpy(centred.reshape(len(answers), -1))
        if isinstance(self.bandwidth, str) and len(points) < 2:
            got = f"{self.bandwidth!r}, 1 sample"
            raise ArgumentError(f"bandwidth: expected a number for a single point, got {got}")
        self.transform_ = self._fitted_transform(points.shape[1]).numpy()
        diagonal = np.diag(self.transform_)
        self.bandwidth_ = None
        if np.array_equal(self.transform_, np.diag(diagonal)):
            widths = 1 / abs(diagonal)  # no distance depends on the signs of A's rows
            self.bandwidth_ = widths if (widths != widths[0]).any() else float(widths[0])
        self._squared_errors: Tensor | None = None
        return self

    @property
    def loo_error_(self) -> float:
        """Mean squared leave-one-out error, n² pairs at first; nan of a single point."""
        check_is_fitted(self)
        return float(self._squares.mean()) if len(self._points) > 1 else math.nan

    @property
    def _squares(self) -> Tensor:
        """Squared leave-one-out errors of the answers."""
        if self._squared_errors is None:
            predictions = self._left_out(torch.from_numpy(self.transform_), self._answers)
            self._squared_errors = (self._answers - predictions).square()
        return self._squared_errors

    def predict(self, X: ArrayLike) -> _Numbers:
        """Return a prediction for each point.

        Args:
            X: `(m, features)`.

        Returns:
            `(m,)` or `(m, outputs)`, like y.
        """
        return self._predicted(self._queries(X))

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> tuple[_Numbers, _Numbers]:
        r"""Return intervals, predictions ± q σ(x), with the local error σ(x).

        .. math::
            \sigma^2(x) = \sum_i w_i(x) (y_i - \hat y_{-i}(x_i))^2

        The factor q is the jackknife's quantile: the share `coverage` of answers lies within the intervals of
        leave-one-out. Lei et al. 2018, "Distribution-free predictive inference for regression", section 5.2, scale
        residuals so. Without a training point near x, σ is the standard deviation of all answers.

        Args:
            X: `(m, features)`.
            coverage: the share of answers within the intervals, above 0 and below 1.

        Returns:
            The lower and the upper ends, with the shape of `predict`.

        Raises:
            ArgumentError: a coverage out of range, or a fit to a single point.
        """
        check_is_fitted(self)
        if not 0 < coverage < 1:
            raise ArgumentError(f"coverage: expected a share above 0 and below 1, got {coverage}")
        count = len(self._points)
        if count < 2:
            raise ArgumentError("predict_interval: expected a fit to 2 points or more, got 1")
        queries = self._queries(X)
        least = self._squares.mean(0).sqrt() * 1e-6 + 1e-300
        transform = torch.from_numpy(self.transform_)
        deviation = self._deviation(lambda values: self._left_out(transform, values)).maximum(least)
        factor = (self._squares.sqrt() / deviation).sort(0).values[_rank(count, coverage) - 1]
        sigma = self._deviation(lambda values: self._read(queries, values)).maximum(least)
        middle, width = self._predicted(queries), self._shaped(factor * sigma)
        return middle - width, middle + width

    def weights(self, X: ArrayLike) -> _Numbers:
        """Return weights of training points in predictions, `(m, n)`.

        Rows sum to 1, or to 0 without a point near.

        Args:
            X: `(m, features)`.
        """
        queries, keys = self._queries(X), self._scaled(self._points)
        table, size = np.empty((len(queries), len(keys))), max(1, _WEIGHTS_AT_ONCE // len(keys))
        for first in range(0, len(queries), size):
            block = slice(first, first + size)
            table[block] = weights(queries[block], keys, self.kernel).numpy()
        return table

    def _fitted_transform(self, features: int) -> Tensor:
        """A, from a bandwidth or from the method to find it."""
        if not isinstance(self.bandwidth, str):
            widths = np.asarray(self.bandwidth, dtype=np.float64)
            if widths.shape not in ((), (features,)) or not bool(((widths >= SMALLEST) & (widths <= LARGEST)).all()):
                expected = f"a number from {SMALLEST:g} to {LARGEST:g}, or {features}, one for each feature"
                raise ArgumentError(f"bandwidth: expected {expected}, got {self.bandwidth!r}")
            return torch.from_numpy(np.diag(1 / np.broadcast_to(widths, (features,))))
        if self.bandwidth not in ("leave-one-out", "gradient"):
            raise ArgumentError(f"bandwidth: expected numbers, 'leave-one-out' or 'gradient', got {self.bandwidth!r}")
        identity = torch.eye(features, dtype=torch.float64, device="cpu")
        start = identity / leave_one_out(self._points, self._answers, self.kernel)
        if self.bandwidth == "leave-one-out":
            return start
        if self.kernel == "boxcar":
            raise ArgumentError("kernel: expected a kernel with a gradient for bandwidth 'gradient', got 'boxcar'")
        return self._descended(start)

    def _descended(self, start: Tensor) -> Tensor:
        """A by the gradient of the leave-one-out error, from one h on.

        The search is over a factor of the first A, without a unit, since tolerances of L-BFGS have none.
        """
        full = self.metric == "full"
        factor = torch.eye(len(start), dtype=torch.float64, device="cpu")
        if not full:
            factor = factor.new_zeros(1 if self.metric == "scalar" else len(start))  # its logarithm
        factor.requires_grad_()

        def transform() -> Tensor:
            return factor @ start if full else start * factor.exp()

        search = torch.optim.LBFGS([factor], max_iter=_STEPS, line_search_fn="strong_wolfe")
        scale = self._answers.square().mean().clamp(min=1e-300)

        def error() -> Tensor:
            search.zero_grad()
            loss = (self._answers - self._left_out(transform(), self._answers)).square().mean() / scale
            loss.backward()
            return loss

        with torch.enable_grad():
            search.step(error)
        result = transform().detach()
        return result if bool(result.isfinite().all()) else start

    def _left_out(self, transform: Tensor, values: Tensor) -> Tensor:
        """Leave-one-out means of the training points' values."""
        return left_out(self._points @ transform.mT, values, self.kernel)

    def _queries(self, X: ArrayLike) -> Tensor:
        """New points as queries, after a check."""
        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, reset=False)
        return self._scaled(torch.tensor(points, device="cpu") - self._centre)

    def _read(self, queries: Tensor, values: Tensor) -> Tensor:
        """Weighted means of the training points' values."""
        keys = self._scaled(self._points)
        return torch.cat([means(block, keys, values, self.kernel) for block in queries.split(_AT_ONCE)])

    def _predicted(self, queries: Tensor) -> _Numbers:
        predictions: _Numbers = self._shaped(self._read(queries, self._answers)) + self._mean
        return predictions

    def _scaled(self, points: Tensor) -> Tensor:
        return points @ torch.from_numpy(self.transform_).mT

    def _deviation(self, read: Callable[[Tensor], Tensor]) -> Tensor:
        """Errors of answers near some points, or the deviation of all answers."""
        values = torch.cat([self._squares, torch.ones_like(self._squares[:, :1])], 1)
        near, total = read(values).split([self._squares.shape[1], 1], 1)
        squares = torch.where(total != 0, near, self._answers.square().mean(0))
        return squares.clamp(min=0).sqrt()

    def _shaped(self, values: Tensor) -> _Numbers:
        return values.numpy().reshape(-1, *self._y_shape)


def _rank(count: int, coverage: float) -> int:
    """Rank of the error that an interval reaches, ⌈(count + 1) · coverage⌉ ≤ count.

    It is that of split conformal prediction. The product is rounded first, since 100 · 0.55 > 55 in floats.
    """
    return max(1, min(count, math.ceil(round((count + 1) * coverage, 9))))
