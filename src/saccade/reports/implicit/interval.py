"""How far a difference of two models' shares is known: over seeds and sentences together, by Student's t."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

__all__ = ["LEVEL", "Gap", "between", "judged"]

LEVEL = 0.05
"""How often one of the claims of a page is decided by chance alone, either way, at the most."""


@dataclass(frozen=True)
class Gap:
    r"""A difference of means with half the width of its interval

    .. math:: h = \sqrt{t_{f}^2\, \sigma_s^2 + t_{n - 1}^2\, \sigma_i^2}

    of seeds and of sentences, as if they were independent.

    Args:
        value: the difference.
        seeds: standard error that comes of seeds; None with one of them.
        freedom: its degrees.
        sentences: standard error that comes of sentences.
        count: of sentences.
    """

    value: float
    seeds: float | None
    freedom: int
    sentences: float
    count: int

    def half(self, level: float = LEVEL) -> float:
        """Return half the interval that misses the true value in a share `level`; infinite with a single seed."""
        if self.seeds is None:
            return math.inf
        parts = ((self.freedom, self.seeds), (self.count - 1, self.sentences))
        return math.hypot(*(float(special.stdtrit(freedom, 1 - level / 2)) * error for freedom, error in parts))

    def beyond(self, level: float = LEVEL) -> int:
        """Return whether it is above 0 by more than half the interval (1), below it so (-1), or neither (0)."""
        half = self.half(level)
        return int(self.value > half) - int(self.value < -half)

    def short(self) -> str:
        """Return it in points with half the interval, of one seed without.

        >>> Gap(0.123, 0.01, 2, 0.002, 100).short(), Gap(0.123, None, 0, 0.002, 100).short()
        ('+12.30 ± 4.32', '+12.30')
        """
        around = "" if self.seeds is None else f" ± {100 * self.half():.2f}"
        return f"{100 * self.value:+.2f}{around}"


def between(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> Gap:
    """Return by how much the mean of `one` is above that of `other`, each a row a seed of the same sentences.

    >>> found = between([[1.0, 1.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 0.0]])
    >>> found.value, round(found.seeds, 3), found.freedom, found.sentences
    (0.5, 0.354, 1, 0.0)
    """
    means = [[statistics.fmean(row) for row in rows] for rows in (one, other)]
    columns = ([statistics.fmean(each) for each in zip(*rows, strict=True)] for rows in (one, other))
    each = [a - b for a, b in zip(*columns, strict=True)]
    fewest = min(map(len, means))
    seeds = math.sqrt(sum(statistics.variance(rates) / len(rates) for rates in means)) if fewest > 1 else None
    value = statistics.fmean(means[0]) - statistics.fmean(means[1])
    return Gap(value, seeds, fewest - 1, statistics.stdev(each) / math.sqrt(len(each)), len(each))


def judged(gaps: Sequence[Gap], level: float = LEVEL) -> list[str]:
    """Return what is said of each of several claims that a difference is above 0, by Holm's procedure.

    Source:
        Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6.

    >>> gaps = [Gap(value, 1.0, 10**6, 0.0, 9) for value in (2.5, 2.2, -1.0)]
    >>> judged(gaps), judged(gaps[:2])
    (['reproduced', 'not decided', 'not decided'], ['reproduced', 'reproduced'])
    """
    signs = [0 for _ in gaps]
    while (left := signs.count(0)) and (again := [gap.beyond(level / left) for gap in gaps]) != signs:
        signs = again
    return [{1: "reproduced", -1: "contradicted", 0: "not decided"}[sign] for sign in signs]
