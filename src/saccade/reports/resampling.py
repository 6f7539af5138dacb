"""Errors by seeds and by examples together: what numbers of several trainings on the same examples come to."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from saccade.reports.statistics import SEEDS, Estimate, Part

__all__ = ["Cell", "Numbers", "between", "contrast", "over_seeds", "pseudo_values"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One model's numbers on one set of examples, as a term of a `contrast`.

    Args:
        models: what was trained: cells of one name have the same seeds, row by row.
        values: a row a seed, a column an example, or a group of them (`pseudo_values`).
        weight: of the term.
        sample: what it was tried on: cells of one name have the same examples, column by column.
        value: what it comes to; the mean of all values if not given.
        count: how many examples there are, where a column is of several; 0: one each.
    """

    models: Hashable
    values: ArrayLike
    weight: float = 1.0
    sample: Hashable = ""
    value: float | None = None
    count: int = 0
    numbers: Numbers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Read the values once."""
        object.__setattr__(self, "numbers", np.atleast_2d(np.asarray(self.values, dtype=np.float64)))


def contrast(cells: Sequence[Cell], of: str = "examples") -> Estimate:
    r"""Return a sum of means with its errors by seeds and by examples: a jackknife over either.

    .. math::
        d = \sum_c w_c\, \bar y_c \qquad
        \sigma_s^2 = \sum_m \frac{1}{S_m} \operatorname{Var}_s \sum_{c \in m} w_c\, \bar y_{c s \cdot} \qquad
        \sigma_i^2 = \sum_n \frac{1}{N_n} \operatorname{Var}_i \sum_{c \in n} w_c\, \bar y_{c \cdot i}

    of cells c, each of one of the models m, trained with \(S_m\) seeds, and of one of the samples n of \(N_n\)
    examples. The degrees of freedom of a sum of variances are Welch's. What is of one training on one example alone
    counts in both errors, which rather overstates their sum.

    Args:
        cells: the terms.
        of: what examples are called.

    Example:
        >>> found = contrast([Cell("a", [[1, 1], [0, 1]]), Cell("b", [[0, 1], [0, 0]], -1.0)])
        >>> found.value, [(part.name, round(part.error, 3), part.freedom) for part in found.parts]
        (0.5, [('seeds', 0.354, 2.0), ('examples', 0.0, 1)])
    """
    value = sum(one.weight * (one.numbers.mean() if one.value is None else one.value) for one in cells)
    by_models, by_samples = dict[Hashable, Numbers](), dict[Hashable, Numbers]()
    counts = dict[Hashable, int]()
    for one in cells:
        for sums, key, axis in ((by_models, one.models, 1), (by_samples, one.sample, 0)):
            sums[key] = sums.get(key, np.zeros(1)) + one.weight * one.numbers.mean(axis)
        counts[one.sample] = one.count or one.numbers.shape[1]
    fewest = min(len(own) for own in by_models.values())
    seeds, examples = (
        _part(SEEDS, [*by_models.values()], fewest),
        _part(of, [*by_samples.values()], sum(counts.values())),
    )
    parts = seeds, replace(examples, fixed=any(one.count for one in cells))
    return Estimate(float(value), parts)


def between(one: ArrayLike, other: ArrayLike, *, paired: bool = False, of: str = "images") -> Estimate:
    """Return by how much the rate of `one` is above that of `other`, each a row a seed of the same examples.

    Args:
        one, other: whether each example was right, or in which share of several trials.
        paired: whether row s of both is of one trained model, so that its difference is what varies with seeds.
        of: what examples are called.

    Example:
        >>> one, other = [[True, True], [False, False]], [[False, False], [True, True]]
        >>> [round(between(one, other, paired=paired).parts[0].error, 3) for paired in (False, True)]
        [0.707, 1.0]
    """
    return contrast([Cell("one", one), Cell("one" if paired else "other", other, -1.0)], of)


def over_seeds(values: ArrayLike, other: ArrayLike | None = None) -> Estimate:
    """Return the mean of numbers, one a seed, or the difference of two such means.

    >>> over_seeds([3.0, 3.2], [1.0, 1.2]).text()
    '2.00 ± 0.61'
    """
    groups = [np.asarray(each, dtype=np.float64) for each in (values, other) if each is not None]
    means = [float(each.mean()) for each in groups]
    return Estimate(means[0] - sum(means[1:]), (_part(SEEDS, groups, min(map(len, groups))),))


def pseudo_values(score: float, partial: Sequence[float]) -> Numbers:
    r"""Return what each of g groups of examples makes of a score: \(g\,\theta - (g - 1)\,\theta_{(k)}\) (Tukey 1958).

    The error of their mean is that of the delete-a-group jackknife, so that groups stand for examples.

    Args:
        score: of all examples together.
        partial: the score without one group after the other.

    Example:
        >>> pseudo_values(2.5, [3.0, 2.0]).tolist()
        [2.0, 3.0]
    """
    groups = len(partial)
    return groups * score - (groups - 1) * np.asarray(partial, dtype=np.float64)


def _part(name: str, groups: Sequence[Numbers], count: int) -> Part:
    """The error of a sum of independent means, with Welch's degrees of freedom."""
    if min(map(len, groups)) < 2:
        return Part(name, 0.0, 0, count)
    variances = [float(own.var(ddof=1)) / len(own) for own in groups]
    total, least = sum(variances), min(len(own) - 1 for own in groups)
    spread = sum(variance**2 / (len(own) - 1) for variance, own in zip(variances, groups, strict=True))
    return Part(name, math.sqrt(total), total**2 / spread if spread else least, count)
