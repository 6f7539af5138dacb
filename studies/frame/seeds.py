"""Means over seeds and examples with both errors, and compact texts of numbers."""

import math
import statistics
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from studies.frame.claims import SEEDS, Estimate, Source

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """The numbers of one model on one set of examples, as a term of a `contrast`.

    Args:
        models: name of the trained models: cells with the same name have the same seeds, row by row.
        values: a row a seed, a column an example, or a group of examples (`pseudo_values`).
        weight: of the term.
        sample: name of the examples: cells with the same name have the same examples, column by column.
        value: the number of all examples; default: the mean of all values.
        count: number of examples if a column is of several; 0: one each.
    """

    models: Hashable
    values: ArrayLike
    weight: float = 1.0
    sample: Hashable = ""
    value: float | None = None
    count: int = 0


def contrast(cells: Sequence[Cell], of: str = "examples") -> Estimate:
    r"""Return a sum of means with jackknife errors by seeds and by examples.

    .. math::
        d = \sum_c w_c\, \bar y_c \qquad
        \sigma_s^2 = \sum_m \frac{1}{S_m} \operatorname{Var}_s \sum_{c \in m} w_c\, \bar y_{c s \cdot} \qquad
        \sigma_i^2 = \sum_n \frac{1}{N_n} \operatorname{Var}_i \sum_{c \in n} w_c\, \bar y_{c \cdot i}

    of cells c, each of one of the models m, trained with \(S_m\) seeds, and of one of the samples n of \(N_n\)
    examples. The degrees of freedom of a sum of variances are Welch's. The part of one training on one example alone
    counts in both errors, which rather overstates their sum.

    >>> x = contrast([Cell("a", [[1, 1], [0, 1]]), Cell("b", [[0, 1], [0, 0]], -1.0)])
    >>> x.value, [(source.name, round(source.error, 3), source.freedom) for source in x.sources]
    (0.5, [('seeds', 0.354, 2.0), ('examples', 0.0, 1)])
    """
    by_models, by_samples = dict[Hashable, Numbers](), dict[Hashable, Numbers]()
    value, counts = 0.0, dict[Hashable, int]()
    for cell in cells:
        numbers = np.atleast_2d(np.asarray(cell.values, dtype=np.float64))
        value += cell.weight * (float(numbers.mean()) if cell.value is None else cell.value)
        for sums, key, axis in ((by_models, cell.models, 1), (by_samples, cell.sample, 0)):
            sums[key] = sums.get(key, np.zeros(1)) + cell.weight * numbers.mean(axis)
        counts[cell.sample] = cell.count or numbers.shape[1]
    seeds = _source(SEEDS, [*by_models.values()], min(map(len, by_models.values())))
    examples = _source(of, [*by_samples.values()], sum(counts.values()))
    return Estimate(value, (seeds, replace(examples, fixed=any(cell.count for cell in cells))))


def between(ours: ArrayLike, theirs: ArrayLike, *, paired: bool = False, of: str = "images") -> Estimate:
    """Return the rate of `ours` minus `theirs`, both `(seeds, examples)`."""
    return contrast([Cell("ours", ours), Cell("ours" if paired else "theirs", theirs, -1.0)], of)


def over_seeds(values: ArrayLike, other: ArrayLike | None = None) -> Estimate:
    """Return the mean of numbers, one a seed, or the difference of two such means."""
    groups = [np.asarray(group, dtype=np.float64) for group in (values, other) if group is not None]
    means = [float(group.mean()) for group in groups]
    return Estimate(means[0] - sum(means[1:]), (_source(SEEDS, groups, min(map(len, groups))),))


def pseudo_values(score: float, partial: Sequence[float]) -> Numbers:
    r"""Return shares of groups of examples, \(g\,\theta - (g - 1)\,\theta_{(k)}\).

    The error of the mean of these pseudo-values (Tukey 1958) is that of the delete-a-group jackknife, so that groups
    stand for examples.
    """
    groups = len(partial)
    return groups * score - (groups - 1) * np.asarray(partial, dtype=np.float64)


def spread(values: Sequence[float], decimals: int = 2, scale: float = 100.0) -> str:
    """Return the mean of numbers and their standard deviation, of shares in percent.

    >>> spread([0.5, 0.52]), spread([0.5]), spread([0.5, 0.52], 3, 1)
    ('51.00 ± 1.41', '50.00', '0.510 ± 0.014')
    """
    around = f" ± {scale * statistics.stdev(values):.{decimals}f}" if len(values) > 1 else ""
    return f"{scale * statistics.fmean(values):.{decimals}f}{around}"


def pack(values: Sequence[float], kind: str) -> str:
    """Return numbers of many examples as hexadecimal digits.

    The kind is "bits" (four a digit), "counts" (0 to 15, a digit each) or "shares" (-1 to 1, three digits each).

    >>> pack([True, False, True, False, True], "bits"), pack([0, 10, 3], "counts"), pack([0, 1, -1], "shares")
    ('a8', '0a3', '800fff001')
    """
    if kind == "bits":
        return np.packbits(np.asarray(values, dtype=bool)).tobytes().hex()[: math.ceil(len(values) / 4)]
    return "".join(f"{int(x):x}" if kind == "counts" else f"{round(2047 * x) + 2048:03x}" for x in values)


def unpack(digits: str, kind: str, count: int | None = None) -> list[Any]:
    """Return the numbers that `pack` wrote: so many bits, shares to within 1 / 4094.

    >>> unpack("88", "bits", 5), unpack("0a3", "counts"), unpack("800fff001", "shares")
    ([True, False, False, False, True], [0, 10, 3], [0.0, 1.0, -1.0])
    """
    if kind == "bits":
        return [bool(int(digit, 16) & 8 >> start) for digit in digits for start in range(4)][:count]
    if kind == "counts":
        return [int(digit, 16) for digit in digits]
    return [(int(digits[start : start + 3], 16) - 2048) / 2047 for start in range(0, len(digits), 3)]


def _source(name: str, groups: Sequence[Numbers], count: int) -> Source:
    """The error of a sum of independent means, with Welch's degrees of freedom."""
    if min(map(len, groups)) < 2:
        return Source(name, 0.0, 0, count)
    variances = [float(group.var(ddof=1)) / len(group) for group in groups]
    total, least = sum(variances), min(len(group) - 1 for group in groups)
    lost = sum(variance**2 / (len(group) - 1) for variance, group in zip(variances, groups, strict=True))
    return Source(name, math.sqrt(total), total**2 / lost if lost else least, count)
