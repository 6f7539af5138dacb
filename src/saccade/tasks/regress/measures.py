"""What is measured of numbers that were answered: their errors, and whether intervals hold what they say."""

from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.tasks.groups import means
from saccade.train.task import Metric

__all__ = ["HEADLINE", "measured"]

HEADLINE = "r2"


def measured(
    found: Tensor,
    wanted: Tensor,
    usual: Tensor,
    groups: Sequence[str],
    within: Tensor | None = None,
    coverage: float = 0,
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    r"""Return the measures of all answers, and of groups.

    .. math::
        R^2 = \frac{1}{m} \sum_k 1 - \frac{\sum_i (y_{ik} - \hat y_{ik})^2}{\sum_i (y_{ik} - \bar y_k)^2}

    of m answers to each row, with their mean over what is measured; where they are all alike, over the squared
    deviation that answers had in training. In a group the sum below is that of all rows, scaled to as many rows as the
    group has: the mean over all rows of their groups' is the whole.

    Args:
        found: what was answered, `(rows, outputs)`, float64.
        wanted: what is true.
        usual: deviations of answers in training, `(outputs,)`.
        groups: of each row, "" for none.
        within: which answers lie within their intervals, `(rows, outputs)`; None where there are no intervals.
        coverage: the share that should.

    Example:
        >>> one = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
        >>> metrics, parts = measured(one, one + 0.5, torch.ones(1), ["a", "a", "b"])
        >>> round(metrics["r2"], 4), metrics["mae"], parts["mse"]
        (0.625, 0.5, {'a': 0.25, 'b': 0.25})
    """
    error = wanted - found
    variance = (wanted - wanted.mean(0)).square().mean(0)
    alike = (wanted == wanted[:1]).all(0) | (variance == 0)  # the mean of [0.1] * 3 is not 0.1, to the last digit
    variance = torch.where(alike, usual.to(variance).square(), variance)
    rows: dict[str, Tensor] = {
        HEADLINE: (1 - error.square() / variance).mean(1),
        "mae": error.abs().mean(1),
        "mse": error.square().mean(1),
    }
    metrics: dict[str, Metric] = {name: float(values.mean()) for name, values in rows.items()}
    if within is not None:
        rows["coverage"] = within.double().mean(1)
        metrics["coverage"] = {"score": float(rows["coverage"].mean()), "signature": f"nominal:{coverage:g}"}
    named = sorted(set(groups), key=_first)
    parts = dict[str, dict[str, float]]()
    for name, values in rows.items():
        own = means(groups, values.tolist())
        parts[name] = {group: own[group] for group in named if group}
    return metrics, {name: part for name, part in parts.items() if part}


def _first(group: str) -> tuple[float, str]:
    """The number that a group's name begins with: sizes and ranges are in their order."""
    number = group.partition(" ")[0]
    return (float(number) if number.lstrip("-").replace(".", "", 1).isdigit() else 0.0), group
