"""Metrics of numbers, prediction intervals, baselines and ensembles."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.models.padded import Padded
from saccade.models.regressor import Predicted
from saccade.tasks.groups import means
from saccade.tasks.regress.data.rows import Example
from saccade.tasks.regress.plain import MOST_TARGETS, boosting, one_thread_each, ridge
from saccade.train.task import Baseline, Metric

__all__ = ["HEADLINE", "Ensemble", "Plain", "baselines", "fit_baselines", "interval", "measured"]

_ENOUGH = "scikit-learn is enough: {}.fit(numbers, answers)"

HEADLINE = "r2"


def measured(
    predicted: Tensor,
    answers: Tensor,
    std: Tensor,
    groups: Sequence[str],
    inside: Tensor | None = None,
    coverage: float = 0,
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    r"""Return the metrics of all rows and of groups.

    .. math::
        R^2 = \frac{1}{m} \sum_k 1 - \frac{\sum_i (y_{ik} - \hat y_{ik})^2}{\sum_i (y_{ik} - \bar y_k)^2}

    is the mean over m targets. The mean of a target is that of these rows. If they are all equal, the sum below is
    their number times the variance in training. A group's sum below is that of all rows, scaled to the group's size, so
    that the mean over all rows of their groups' R² is the whole.

    Args:
        predicted: `(rows, targets)`, float64.
        answers: true values, `(rows, targets)`.
        std: standard deviations in training, `(targets,)`.
        groups: of each row, "" for none.
        inside: whether answers are inside their intervals, `(rows, targets)`. None: there are no intervals.
        coverage: nominal coverage of the intervals.

    Example:
        >>> column = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
        >>> metrics, parts = measured(column, column + 0.5, torch.ones(1), ["a", "a", "b"])
        >>> round(metrics["r2"], 4), metrics["mae"], parts["mse"]
        (0.625, 0.5, {'a': 0.25, 'b': 0.25})
    """
    error = answers - predicted
    variance = (answers - answers.mean(0)).square().mean(0)
    equal = (answers == answers[:1]).all(0) | (variance == 0)  # the mean of [0.1] * 3 is not exactly 0.1
    variance = torch.where(equal, std.to(variance).square(), variance)
    rows: dict[str, Tensor] = {
        HEADLINE: (1 - error.square() / variance).mean(1),
        "mae": error.abs().mean(1),
        "mse": error.square().mean(1),
    }
    metrics: dict[str, Metric] = {name: float(values.mean()) for name, values in rows.items()}
    if inside is not None:
        rows["coverage"] = inside.double().mean(1)
        metrics["coverage"] = {"score": float(rows["coverage"].mean()), "signature": f"{coverage:g} is expected"}
    order = sorted({*groups} - {""}, key=_first_number)
    parts = {name: means(groups, values.tolist()) for name, values in rows.items()} if order else {}
    return metrics, {name: {group: part[group] for group in order} for name, part in parts.items()}


def interval(mean: Tensor, deviation: Tensor, coverage: float) -> tuple[Tensor, Tensor]:
    """Return the lower and upper end of the central interval of a normal distribution.

    Args:
        mean, deviation: of the distribution, of one shape.
        coverage: probability of the interval, above 0 and below 1.

    Example:
        >>> low, high = interval(torch.zeros(1), torch.ones(1), 0.9)
        >>> round(float(high), 3), round(float(low), 3)
        (1.645, -1.645)
    """
    half = NormalDist().inv_cdf((1 + coverage) / 2) * deviation
    return mean - half, mean + half


class Plain(NamedTuple):
    """A fitted simple method.

    Args:
        name: of the method.
        about: the method in a few words.
        predict: from a design matrix, `(rows, columns)`, to targets, `(rows, targets)`.
        sets: whether examples are sets. Their columns are the size and the mean.
        seconds: of fitting.
        advice: the way to a model as good as this method.
    """

    name: str
    about: str
    predict: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    sets: bool
    seconds: float
    advice: str


def fit_baselines(train: Sequence[Example], *, sets: bool, start: str = "none") -> list[Plain]:
    """Fit the mean of training, ridge regression, and gradient boosting.

    Args:
        train: examples to learn from.
        sets: whether examples are sets. Ridge regression gets the size and the mean of a set. Boosting gets no sets.
        start: the start of the run's model, for the advice.
    """
    x, y = _design(train, sets=sets), np.array([row.answers for row in train], np.float64)
    about, of = f"the mean of {len(train):,} answers", "size and mean of a set" if sets else "all columns"
    began = time.perf_counter()
    fits = [Plain("mean", about, lambda new: np.repeat(y.mean(0)[None], len(new), 0), sets, 0.0, "")]
    with one_thread_each():
        linear = ridge(x, y)
        seconds = time.perf_counter() - began
        way = "try --start linear" if start == "none" and not sets else _ENOUGH.format("RidgeCV()")
        predict = partial(_predicted, [linear])
        fits.append(Plain("linear", f"ridge regression on {of}", predict, sets, seconds, way))
        if not sets and y.shape[1] <= MOST_TARGETS:
            began = time.perf_counter()
            trees = boosting(x, y)
            seconds = time.perf_counter() - began
            way = _ENOUGH.format("HistGradientBoostingRegressor()") if start == "stacked" else "try --start stacked"
            fits.append(Plain("boosting", f"gradient boosting on {of}", partial(_predicted, trees), sets, seconds, way))
    return fits


def baselines(fits: Sequence[Plain], rows: Sequence[Example], std: Tensor) -> dict[str, Baseline]:
    """Measure simple methods.

    Args:
        fits: the fitted methods.
        rows: examples that are measured.
        std: standard deviations of the targets in training, `(targets,)`.

    Example:
        >>> rows = [Example((float(x),), (2.0 * x + 1,), "") for x in range(9)]
        >>> results = baselines(fit_baselines(rows, sets=False), rows, torch.ones(1))
        >>> {name: round(result.metrics["r2"], 2) for name, result in results.items()}
        {'mean': 0.0, 'linear': 1.0, 'boosting': 0.0}
    """
    answers, results = np.array([row.answers for row in rows], np.float64), dict[str, Baseline]()
    for fit in fits:
        began = time.perf_counter()
        with one_thread_each():
            predictions = torch.from_numpy(fit.predict(_design(rows, sets=fit.sets)))
        metrics, _ = measured(predictions, torch.from_numpy(answers), std, [""] * len(rows))
        seconds = fit.seconds + time.perf_counter() - began
        results[fit.name] = Baseline(metrics, fit.about, round(seconds, 3), fit.advice)
    return results


def _predicted(models: Sequence[Any], x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([np.asarray(model.predict(x), np.float64).reshape(len(x), -1) for model in models], 1)


class Ensemble(nn.Module):
    r"""Mean and standard deviation of the mixture of several models.

    .. math:: \mu = \frac{1}{n} \sum_k \mu_k, \qquad \sigma^2 = \frac{1}{n} \sum_k (\sigma_k^2 + \mu_k^2) - \mu^2

    Args:
        members: the models.

    Source:
        Lakshminarayanan et al. 2017, "Simple and scalable predictive uncertainty estimation using deep ensembles",
        section 2.4 (https://arxiv.org/abs/1612.01474).

    Example:
        >>> from saccade.models.mean import Mean
        >>> from saccade.models.regressor import Sizes
        >>> model = Ensemble([Mean(Sizes(1, 1)), Mean(Sizes(1, 1))])
        >>> model(Padded(torch.zeros(2, 1).double(), torch.tensor([1, 1]))).deviation.shape
        torch.Size([2, 1])
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.attends, self.keeps = (
            all(getattr(member, name, False) for member in members) for name in ("attends", "keeps")
        )

    def forward(self, points: Padded) -> Predicted:
        """Return means and standard deviations, `(batch, targets)`."""
        means, deviations = map(torch.stack, zip(*(member(points) for member in self.members), strict=True))
        variance = deviations.square().mean(0) + means.var(0, correction=0)
        return Predicted(means.mean(0), variance.sqrt())

    def weights(self, points: Padded) -> Tensor | None:
        """Return the heads of all members.

        The result is None unless all attend to points, or all to elements.
        """
        members: Sequence[Any] = list(self.members)
        weights = [member.weights(points) for member in members]
        kinds = {(member.keeps, None if w is None else w.shape[-1]) for member, w in zip(members, weights, strict=True)}
        return torch.cat(weights, 1) if len(kinds) == 1 and weights[0] is not None else None


def _design(rows: Sequence[Example], *, sets: bool) -> NDArray[np.float64]:
    values = [(len(row.numbers), float(np.mean(row.numbers))) if sets else row.numbers for row in rows]
    return np.array(values, np.float64)


def _first_number(group: str) -> tuple[float, str]:
    """Order of sizes and of ranges by their first number."""
    number = group.partition(" ")[0]
    return (float(number) if number.lstrip("-").replace(".", "", 1).isdigit() else 0.0), group
