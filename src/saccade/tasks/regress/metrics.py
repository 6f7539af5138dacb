"""Metrics of numbers, prediction intervals, baselines and ensembles."""

import time
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.models.padded import Padded
from saccade.models.regressor import Predicted
from saccade.tasks.groups import means
from saccade.tasks.regress.data.rows import Example
from saccade.train.task import Baseline, Metric

__all__ = ["HEADLINE", "Ensemble", "baselines", "interval", "measured"]

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
        metrics["coverage"] = {"score": float(rows["coverage"].mean()), "signature": f"nominal:{coverage:g}"}
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


def baselines(train: Sequence[Example], rows: Sequence[Example], std: Tensor, *, sets: bool) -> dict[str, Baseline]:
    """Measure the mean of training and the linear least-squares function.

    Args:
        train: examples that both are learned from.
        rows: examples that are measured.
        std: standard deviations of the targets in training, `(targets,)`.
        sets: whether examples are sets. The linear function gets the size and the mean of a set.

    Example:
        >>> rows = [Example((float(x),), (2.0 * x + 1,), "") for x in range(9)]
        >>> found = baselines(rows, rows, torch.ones(1), sets=False)
        >>> round(found["mean"].metrics["r2"], 6), round(found["linear"].metrics["r2"], 6)
        (0.0, 1.0)
    """
    learned, answers = (np.array([row.answers for row in part], np.float64) for part in (train, rows))

    def timed(predict: Callable[[], NDArray[np.float64]], about: str) -> Baseline:
        began = time.perf_counter()
        metrics, _ = measured(torch.from_numpy(predict()), torch.from_numpy(answers), std, [""] * len(rows))
        return Baseline(metrics, about, round(time.perf_counter() - began, 3))

    def linear() -> NDArray[np.float64]:
        seen, new = (_design(part, sets=sets) for part in (train, rows))
        centre, scale = seen.mean(0), seen.std(0)
        seen, new = ((part - centre) / np.where(scale > 0, scale, 1) for part in (seen, new))
        coefficients, *_ = np.linalg.lstsq(seen, learned - learned.mean(0), rcond=None)
        return np.asarray(new @ coefficients + learned.mean(0))

    of = "size and mean of a set" if sets else "all columns"
    return {
        "mean": timed(lambda: np.repeat(learned.mean(0)[None], len(rows), 0), f"the mean of {len(train):,} answers"),
        "linear": timed(linear, f"least squares on {of}"),
    }


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
