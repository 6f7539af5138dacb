"""Ridge regression and gradient boosting: baselines, and the start of a model.

Both are scikit-learn's. A stacked start weighs them by their predictions in cross-validation.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.models.start import Start

__all__ = ["FEWEST", "MOST_TARGETS", "Fitted", "boosting", "fit_start", "one_thread_each", "ridge"]

FEWEST = 20
"""Smallest number of training rows with a start."""

MOST_TARGETS = 10
"""Largest number of targets with boosted trees."""

Numbers = NDArray[np.float64]
_ALPHAS = tuple(10.0 ** np.arange(-3, 5.5, 0.5))  # of ridge regression, for standardized features
_FOLDS = 5  # of a start
_MINIMUM = 1e-3  # deviation of errors, as a share of the deviation of a target


@dataclass(frozen=True)
class Fitted:
    """A fitted start.

    Args:
        linear, trees, depth: arguments of `saccade.models.start.Start`.
        weights: of ridge regression and of boosting in it, for each target.
        predictions: of the rows that it was fitted on, each by a fit without this row.
        std: deviation of the errors of these predictions, for each target.
        points: predictions of the points that a model keeps, likewise.
    """

    linear: dict[str, Any]
    trees: dict[str, Any] | None
    depth: int
    weights: list[list[float]]
    predictions: list[list[float]]
    std: list[float]
    points: list[list[float]] = field(default_factory=list)

    @classmethod
    def restore(cls, content: Mapping[str, Any], features: int, targets: int) -> "Fitted":
        """Return a start from the content of a file.

        Raises:
            ValueError: if it does not fit the columns.
        """
        start = cls(**content)
        shape = np.shape(start.linear["weight"])
        if shape != (targets, features) or np.shape(start.std) != (targets,):
            raise ValueError(f"a start for {shape[-1]} features, but there are {features}")
        start.module()
        return start

    def note(self, targets: Sequence[str]) -> str:
        """Return a sentence about the methods and their weights.

        >>> Fitted({}, None, 0, [[0.4, 0.62]], [], []).note(["price"])
        'the model learns the errors of 0.40 · ridge regression + 0.62 · gradient boosting'
        """
        methods = ("ridge regression", "gradient boosting")
        parts = [
            " + ".join(f"{weight:.2f} · {method}" for weight, method in zip(row, methods, strict=False) if weight)
            if len(row) > 1
            else methods[0]
            for row in self.weights
        ]
        sums = [part or "the mean" for part in parts]
        several = f" for {targets[0]}" if len(set(sums)) > 1 else ""
        return f"the model learns the errors of {sums[0]}{several}"

    def module(self) -> Start:
        """Return the start as a module."""
        return Start(self.linear, self.trees, self.depth)

    def to_json(self) -> dict[str, Any]:
        """Return the content of a file."""
        return asdict(self)


def ridge(x: Numbers, y: Numbers) -> Any:
    """Return ridge regression with the strength of least leave-one-out error."""
    from sklearn.linear_model import RidgeCV  # here: it takes a second to import
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), RidgeCV(_ALPHAS)).fit(x, y)


def boosting(x: Numbers, y: Numbers) -> list[Any]:
    """Return gradient boosting of each target, with the defaults of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    return [HistGradientBoostingRegressor(random_state=0).fit(x, column) for column in y.T]


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Limit scikit-learn to the threads of torch."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(torch.get_num_threads()):
        yield


def fit_start(x: Numbers, y: Numbers, kind: str) -> Fitted | None:
    """Fit the start of a model, or return None for too few rows.

    Args:
        x: `(rows, features)`.
        y: `(rows, targets)`.
        kind: "linear" for ridge regression, or "stacked" for ridge regression and boosting.

    Example:
        >>> x = np.arange(60.0).reshape(30, 2)
        >>> start = fit_start(x, x[:, :1] ** 2, "stacked")
        >>> start.module()(torch.from_numpy(x)).shape, len(start.predictions)
        (torch.Size([30, 1]), 30)
    """
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import KFold

    if len(x) < FEWEST:
        return None
    with_trees = kind == "stacked" and y.shape[1] <= MOST_TARGETS
    methods = [_linear_predictions, *([_boosted_predictions] if with_trees else [])]
    with one_thread_each():
        parts = list(KFold(_FOLDS, shuffle=True, random_state=0).split(x))
        held = np.zeros((len(methods), *y.shape))
        for learned, tested in parts:
            for number, method in enumerate(methods):
                held[number, tested] = method(x[learned], y[learned], x[tested])
        weights, shifts = np.ones((y.shape[1], 1)), np.zeros(y.shape[1])
        if with_trees:
            stacks = [LinearRegression(positive=True).fit(held[:, :, k].T, y[:, k]) for k in range(y.shape[1])]
            weights, shifts = np.stack([s.coef_ for s in stacks]), np.array([s.intercept_ for s in stacks])
        predictions = np.einsum("mrk,km->rk", held, weights) + shifts
        linear = _linear(ridge(x, y), weights[:, 0], shifts)
        trees, depth, base = _trees(boosting(x, y), weights[:, 1]) if with_trees else (None, 0, 0.0)
    linear["bias"] = (np.asarray(linear["bias"]) + base).tolist()
    std = np.maximum((y - predictions).std(0), _MINIMUM * y.std(0))
    return Fitted(linear, trees, depth, weights.tolist(), predictions.tolist(), std.tolist())


def _linear_predictions(x: Numbers, y: Numbers, new: Numbers) -> Numbers:
    return np.asarray(ridge(x, y).predict(new)).reshape(len(new), -1)


def _boosted_predictions(x: Numbers, y: Numbers, new: Numbers) -> Numbers:
    return np.stack([model.predict(new) for model in boosting(x, y)], 1)


def _linear(pipeline: Any, weights: Numbers, shifts: Numbers) -> dict[str, Any]:
    """Weight and bias of ridge regression for features in their own units."""
    scaler, model = pipeline[0], pipeline[1]
    coefficients = np.atleast_2d(model.coef_) / scaler.scale_
    bias = np.atleast_1d(model.intercept_) - coefficients @ scaler.mean_
    return {"weight": (coefficients * weights[:, None]).tolist(), "bias": (bias * weights + shifts).tolist()}


def _trees(models: Sequence[Any], weights: Numbers) -> tuple[dict[str, Any], int, Numbers]:
    """Trees of boosting as lists, their depth, and the constant of each target."""
    trees: dict[str, list[Any]] = {name: [] for name in ("output", "feature", "threshold", "left", "right", "value")}
    depth, base = 0, np.zeros(len(models))
    for output, (model, weight) in enumerate(zip(models, weights, strict=True)):
        base[output] = weight * float(np.squeeze(model._baseline_prediction))
        for [predictor] in model._predictors:  # scikit-learn has no public table of the nodes
            nodes, indices = predictor.nodes, np.arange(len(predictor.nodes))
            leaf = nodes["is_leaf"].astype(bool)
            trees["output"].append(output)
            trees["feature"].append(np.where(leaf, 0, nodes["feature_idx"]).tolist())
            trees["threshold"].append(np.where(leaf, 0.0, nodes["num_threshold"]).tolist())
            trees["left"].append(np.where(leaf, indices, nodes["left"]).tolist())
            trees["right"].append(np.where(leaf, indices, nodes["right"]).tolist())
            trees["value"].append((weight * nodes["value"]).tolist())
            depth = max(depth, int(nodes["depth"].max()))
    return trees, depth, base
