"""The mean of a number over few seeds, with the interval that it lies in: Student's t."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from saccade.reports.verdict import Verdict, together

__all__ = ["LEVEL", "Claim", "Interval", "claimed", "decided", "verdict"]

LEVEL = 0.95
"""How much of the distribution an interval holds."""


@dataclass(frozen=True)
class Interval:
    r"""A mean over seeds, and how far it is known.

    .. math:: \bar x \pm t_{n-1} \frac{s}{\sqrt n}

    Args:
        values: one a seed.

    Example:
        >>> Interval([0.5, 0.6, 0.7]).text(), Interval([0.5]).text()
        ('0.600 ± 0.248', '0.500')
    """

    values: Sequence[float]

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.values)

    def half(self, level: float = LEVEL) -> float:
        """Return half the length of the interval of a level; infinite of a single seed."""
        count = len(self.values)
        if count < 2:
            return math.inf
        quantile = float(stats.t.ppf((1 + level) / 2, count - 1))
        return quantile * statistics.stdev(self.values) / math.sqrt(count)

    def bar(self, scale: float = 1.0) -> float:
        """Return half the length of the interval as it is drawn: 0 of a single seed.

        >>> Interval([0.5]).bar(), round(Interval([0.5, 0.6, 0.7]).bar(100), 1)
        (0.0, 24.8)
        """
        return scale * self.half() if len(self.values) > 1 else 0.0

    def above(self, claims: int = 1) -> str:
        """Return what is said of a claim that the number is above 0, where it is one of several.

        All of them have to hold for a report's to, which asks for no correction; that one is contradicted is enough to
        contradict it, so that this has Bonferroni's level.

        >>> [Interval([mean, mean + 0.1, mean + 0.2]).above() for mean in (0.5, 0.0, -0.8)], Interval([1.0]).above()
        (['reproduced', 'not decided', 'contradicted'], 'not decided')
        """
        if self.mean - self.half() > 0:
            return "reproduced"
        return "contradicted" if self.mean + self.half(1 - (1 - LEVEL) / claims) < 0 else "not decided"

    def text(self, decimals: int = 3, scale: float = 1.0) -> str:
        """Return mean and half the interval's length.

        >>> Interval([0.5, 0.6, 0.7]).text(1, 100)
        '60.0 ± 24.8'
        """
        around = f" ± {self.bar(scale):.{decimals}f}" if len(self.values) > 1 else ""
        return f"{scale * self.mean:.{decimals}f}{around}"


@dataclass(frozen=True)
class Claim:
    """That a number is above 0.

    Args:
        text: what is claimed.
        found: what has to be above 0, one a seed; None where the claim is exact, and holds or does not.
        exact: whether it holds, where it is exact.
        told: the number as it is told; as `found` has it if not given.
    """

    text: str
    found: Interval | None = None
    exact: bool = False
    told: str = ""

    def said(self, claims: int) -> str:
        """Return what the numbers say of it, one of several.

        >>> Claim("a", exact=True).said(1), Claim("a").said(1), Claim("a", Interval([1.0])).said(1)
        ('reproduced', 'contradicted', 'not decided')
        """
        if self.found is None:
            return "reproduced" if self.exact else "contradicted"
        return self.found.above(claims)

    @property
    def number(self) -> str:
        """The number as it is told."""
        return self.told or ("" if self.found is None else self.found.text())


def claimed(claims: Sequence[Claim]) -> list[list[str]]:
    """Return header, and a row a claim: the number, and what follows.

    >>> claimed([Claim("a is above b", Interval([0.5, 0.5]))])[1]
    ['a is above b', '0.500 ± 0.000', 'reproduced']
    """
    rows = [[claim.text, claim.number, claim.said(len(claims))] for claim in claims]
    return [["claim", "measured", "verdict"], *rows]


def verdict(claims: Sequence[Claim]) -> Verdict:
    """Return what follows for a report of several claims.

    >>> verdict([Claim("a is above b", Interval([0.5, 0.5]))])
    Verdict(result='reproduced', reason='a is above b: reproduced, 0.500 ± 0.000')
    """
    said = [claim.said(len(claims)) for claim in claims]
    told = [
        f"{claim.text}: {result}{f', {claim.number}' if claim.number else ''}"
        for claim, result in zip(claims, said, strict=True)
    ]
    return Verdict(together(said), "; ".join(told))


def decided(claims: int) -> str:
    """Return how several claims are judged, for a page."""
    return (
        f"± is half of an interval of {LEVEL:.0%} over seeds, by Student's t. A claim is reproduced where all of its "
        "interval is above 0; contradicted where all of it is below, "
        f"the interval being of {1 - (1 - LEVEL) / claims:.1%} (Bonferroni's level, as one of {claims} is below by "
        "chance more easily than a single one); and not decided else. With one seed none is. The report is reproduced "
        "where all are, and contradicted where one is."
    )
