"""Statistics of a score by length: how far it is to be trusted, and how it falls."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from saccade.train.randomness import generator

__all__ = ["Line", "fit", "replicates", "standard_error", "weights"]

_FOLDS = 10


@dataclass(frozen=True)
class Line:
    """A straight line.

    Args:
        slope: how much the height changes with one unit of length.
        start: the height at length 0.
    """

    slope: float
    start: float

    def at(self, length: float) -> float:
        """Return the height at a length."""
        return self.start + self.slope * length


def weights(lengths: Sequence[float], counts: Sequence[float]) -> list[float] | None:
    r"""Return what heights are multiplied by to make the slope of a line by least squares.

    .. math:: b = \sum_i w_i\, y_i, \qquad w_i = \frac{n_i (x_i - \bar x)}{\sum_j n_j (x_j - \bar x)^2}

    Args:
        lengths: x.
        counts: n, how much each height counts, such as of how many sentences it is.

    Returns:
        w; None if there are fewer than two lengths.

    Example:
        >>> weights([5, 15], [100, 100]), weights([5], [100])
        ([-0.1, 0.1], None)
    """
    total = sum(counts)
    middle = sum(n * x for n, x in zip(counts, lengths, strict=True)) / total if total else 0.0
    spread = sum(n * (x - middle) ** 2 for n, x in zip(counts, lengths, strict=True))
    return [n * (x - middle) / spread for n, x in zip(counts, lengths, strict=True)] if spread else None


def fit(lengths: Sequence[float], heights: Sequence[float], counts: Sequence[float]) -> Line | None:
    """Return the line of `weights`, None if there are fewer than two lengths.

    >>> fit([5, 15], [40.0, 30.0], [100, 100])
    Line(slope=-1.0, start=45.0)
    """
    if (each := weights(lengths, counts)) is None:
        return None
    slope = sum(w * y for w, y in zip(each, heights, strict=True))
    middle, mean = (sum(n * z for n, z in zip(counts, of, strict=True)) / sum(counts) for of in (lengths, heights))
    return Line(slope, mean - slope * middle)


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
