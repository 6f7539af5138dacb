"""How a quantity grows with length: exponents at the long end, and where two quantities cross."""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade.reports.slope import Line, fit, weights
from saccade.reports.statistics import LEVEL, Estimate, Part, quantile

__all__ = ["LENGTHS", "MEASURING", "Power", "crossings", "exponent", "median_error", "milliseconds", "timed"]

LENGTHS, MEASURING = "lengths", "measurements"
"""Where an exponent has its error from: too few lengths for a line, or amounts that were measured inexactly."""
_FEWEST = 3  # lengths, of which it can be said how far they are from a line


@dataclass(frozen=True)
class Wider(Estimate):
    """A number whose error is known in two ways, of which the wider interval counts at every level: the one that is
    wider at 5% need not be at the smaller levels by which several claims are judged.

    Args:
        other: the way that is not the wider at 5%.
    """

    other: Part

    def half(self, level: float = LEVEL) -> float:
        """Return half the width of the wider interval."""
        return max(super().half(level), quantile(self.other.freedom, level) * self.other.error)

    def times(self, factor: float) -> "Wider":
        """Return a multiple of it."""
        found = super().times(factor)
        return Wider(found.value, found.parts, replace(self.other, error=abs(factor) * self.other.error))


@dataclass(frozen=True)
class Power:
    """A power of the length, fitted to amounts.

    Args:
        found: the exponent, with its error.
        line: through the logarithms (base 2).
    """

    found: Estimate
    line: Line

    @property
    def value(self) -> float:
        """The exponent."""
        return self.found.value

    def at(self, length: float) -> float:
        """Return the fitted amount at a length."""
        return float(2 ** self.line.at(math.log2(length)))

    def text(self, decimals: int = 2) -> str:
        """Return the exponent with half its interval."""
        return self.found.text(decimals)


def exponent(
    lengths: Sequence[float],
    amounts: Sequence[float],
    errors: Sequence[float],
    shape: Sequence[float] | None = None,
    of: str = LENGTHS,
    freedoms: Sequence[float] | None = None,
) -> Power | None:
    r"""Fit a power of the length, \(a\, n^b\), as a line through logarithms.

    The error of b is what the errors of the amounts come to, with Welch's degrees of freedom, or what the m points'
    distances from the line say, with m - 2 degrees of freedom, whichever makes the interval wider:

    .. math:: \sigma_b^2 = \frac{\sum_i r_i^2 / (m - 2)}{\sum_i (x_i - \bar x)^2}

    Args:
        lengths: n, three of them or more for an error that is known.
        amounts: seconds or bytes, above 0.
        errors: their standard errors, 0 where there is none.
        shape: what the amounts are to be proportional to, if not to a power: distances are taken from that, turned by
            the rest of a power.
        of: what lengths are called.
        freedoms: degrees of freedom of each amount's error; None: all are known exactly.

    Returns:
        The power; None of fewer than two lengths.

    Example:
        >>> found = exponent([100, 200, 400], [1.0, 4.0, 16.0], [0.0, 0.0, 0.0])
        >>> found.text(), round(found.at(800), 6)
        ('2.00 ± 0.00', 64.0)
    """
    x, y = [math.log2(n) for n in lengths], [math.log2(amount) for amount in amounts]
    bent = [0.0] * len(x) if shape is None else [math.log2(one) for one in shape]
    straight = [one - other for one, other in zip(y, bent, strict=True)]
    each, line, rest = weights(x, [1] * len(x)), fit(x, y, [1] * len(x)), fit(x, straight, [1] * len(x))
    if each is None or line is None or rest is None:
        return None
    own = [w * e / a / math.log(2) for w, e, a in zip(each, errors, amounts, strict=True)]
    rounds = len(x) if freedoms is None else round(min(freedoms)) + 1
    known = Part(MEASURING, math.hypot(*own), _welch(own, freedoms or [math.inf] * len(x)), rounds)
    if len(x) < _FEWEST:
        return Power(Estimate(line.slope, (Part(of, known.error, 0, len(x)),)), line)
    far = sum((one - rest.at(n)) ** 2 for n, one in zip(x, straight, strict=True)) / (len(x) - 2)
    scattered = Part(of, math.sqrt(far * sum(w * w for w in each)), len(x) - 2, len(x), fitted=2)
    other, widest = sorted((scattered, known), key=lambda part: quantile(part.freedom) * part.error)
    return Power(Wider(line.slope, (widest,), other), line)


def _welch(errors: Sequence[float], freedoms: Sequence[float]) -> float:
    """The degrees of freedom of a sum of independent errors (Welch, Satterthwaite)."""
    lost = sum(error**4 / freedom for error, freedom in zip(errors, freedoms, strict=True) if error)
    return sum(error**2 for error in errors) ** 2 / lost if lost else math.inf


def crossings(lengths: Sequence[float], ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return the lengths at which our amount becomes larger than theirs, between two that were measured.

    Between them both are taken for powers of the length.

    Args:
        lengths: in order.
        ours: amounts above 0.
        theirs: the others'.

    Example:
        >>> [round(n, 6) for n in crossings([100, 400], [1.0, 16.0], [2.0, 8.0])]
        [200.0]
    """
    ratios = [math.log2(mine / other) for mine, other in zip(ours, theirs, strict=True)]
    found = []
    for place, (before, after) in enumerate(itertools.pairwise(ratios)):
        if before <= 0 < after:
            first, second = math.log2(lengths[place]), math.log2(lengths[place + 1])
            found.append(2 ** (first + (second - first) * -before / (after - before)))
    return found


def median_error(taken: Sequence[float]) -> float:
    """Return the standard error of the median of some times, from their middle half as if they were normal.

    Args:
        taken: seconds, two or more.

    Example:
        >>> round(median_error([1.0, 2.0, 3.0, 4.0, 5.0]), 3)
        1.246
    """
    low, _, high = statistics.quantiles(taken, n=4)
    return 1.2533 * (high - low) / 1.349 / math.sqrt(len(taken))


def timed(seconds: float, error: float, rounds: int) -> Estimate:
    """Return the median of a number of times in milliseconds, with its error.

    Args:
        seconds: the median.
        error: its standard error.
        rounds: how many times there are.
    """
    return Estimate(1e3 * seconds, (Part(MEASURING, 1e3 * error, rounds - 1, rounds),))


def milliseconds(time: Estimate) -> str:
    """Return a median in milliseconds with half its interval, in three digits or more.

    >>> milliseconds(timed(0.0123, 0.0001, 11))
    '12.3 ± 0.2'
    """
    return time.text(max(0, 2 - math.floor(math.log10(time.value))))
