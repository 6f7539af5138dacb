"""Statistics of a score by length: how far it is to be trusted, and how it falls."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from saccade.train.randomness import generator

__all__ = ["Point", "Slope", "fit", "replicates", "standard_error"]

_FOLDS = 10


@dataclass(frozen=True)
class Point:
    """The score of one group of sentences.

    Args:
        length: mean length of their sources.
        score: of all of them together.
        error: standard error of the score, None where it is not known (a single sentence).
        count: how many sentences.
    """

    length: float
    score: float
    error: float | None
    count: int


@dataclass(frozen=True)
class Slope:
    """A straight line through points.

    Args:
        value: how much the score changes with one unit of length.
        error: its standard error.
        start: the score at length 0.
    """

    value: float
    error: float
    start: float

    def at(self, length: float) -> float:
        """Return the line's score at a length."""
        return self.start + self.value * length

    @property
    def falls(self) -> bool:
        """Whether the score falls with length beyond twice the error.

        >>> Slope(-0.5, 0.2, 40.0).falls, Slope(-0.5, 0.3, 40.0).falls
        (True, False)
        """
        return self.value + 2 * self.error < 0


def fit(points: Sequence[Point]) -> Slope | None:
    r"""Fit a line by least squares, each point weighed by its sentences.

    .. math:: b = \frac{\sum_i n_i (x_i - \bar x)\, y_i}{\sum_i n_i (x_i - \bar x)^2} \qquad
        \sigma_b^2 = \frac{\sum_i n_i^2 (x_i - \bar x)^2 \sigma_i^2}{\big(\sum_i n_i (x_i - \bar x)^2\big)^2}

    Args:
        points: scores whose errors are independent; those without an error are left out.

    Returns:
        The line, or None if fewer than two lengths are left.

    Example:
        >>> line = fit([Point(5, 40.0, 1.0, 100), Point(15, 30.0, 1.0, 100)])
        >>> line.value, round(line.error, 4), line.start
        (-1.0, 0.1414, 45.0)
    """
    known = [(point, point.error) for point in points if point.error is not None]
    total = sum(point.count for point, _ in known)
    if not total:
        return None
    middle = sum(point.count * point.length for point, _ in known) / total
    spread = sum(point.count * (point.length - middle) ** 2 for point, _ in known)
    if not spread:
        return None
    value = sum(point.count * (point.length - middle) * point.score for point, _ in known) / spread
    variance = sum((point.count * (point.length - middle) * error) ** 2 for point, error in known) / spread**2
    mean = sum(point.count * point.score for point, _ in known) / total
    return Slope(value, math.sqrt(variance), mean - value * middle)


def replicates(score: Callable[[Sequence[int]], float], count: int) -> list[float]:
    """Return the scores of `count` sentences without one group of them after the other.

    It needs nothing of the score but that it can be computed, so it serves corpus BLEU and fractions alike. The groups
    are drawn: every tenth sentence may be of one kind, as the built-in dates come in twenty languages in turn. They
    follow from the count alone, so those of two models on the same sentences can be compared one by one.

    Args:
        score: from the places of some of the sentences, each below `count`, to their score.
        count: how many sentences there are.

    Returns:
        As many scores as there are groups: 10, or as there are sentences if fewer; none of a single sentence.
    """
    groups = min(_FOLDS, count)
    if groups < 2:
        return []
    group = [rank % groups for rank in torch.randperm(count, generator=generator(0, "groups", count)).tolist()]
    return [score([place for place in range(count) if group[place] != left_out]) for left_out in range(groups)]


def standard_error(scores: Sequence[float]) -> float | None:
    r"""Return the standard error of a score, by the delete-a-group jackknife.

    .. math:: \sigma^2 = \frac{g - 1}{g} \sum_k (\theta_k - \bar\theta)^2

    Args:
        scores: what `replicates` returned: \(\theta_k\), the score without the k-th of g groups; or differences of
            two models' replicates, for the error of their difference.

    Returns:
        The error, None if there are no replicates.

    Source:
        Kott 2001, "The Delete-a-Group Jackknife", Journal of Official Statistics 17, after Tukey 1958.

    Example:
        >>> hits = [1, 0, 1, 1]
        >>> round(standard_error(replicates(lambda places: sum(hits[i] for i in places) / len(places), 4)), 4)
        0.25
    """
    groups = len(scores)
    if not groups:
        return None
    mean = sum(scores) / groups
    return math.sqrt((groups - 1) / groups * sum((one - mean) ** 2 for one in scores))
