"""How a quantity grows with length: exponents at the long end, and where two quantities cross."""

import itertools
import math
import statistics
from collections.abc import Sequence

from saccade.reports.slope import Point, Slope, fit

__all__ = ["crossings", "exponent", "median_error"]


def exponent(lengths: Sequence[float], amounts: Sequence[float], errors: Sequence[float]) -> Slope | None:
    r"""Fit a power of the length, \(a\, n^b\), as a line through logarithms.

    Its error is the larger of what the errors of the amounts come to, and what the points' distances from the line say:

    .. math:: \sigma_b^2 = \frac{\sum_i r_i^2 / (m - 2)}{\sum_i (x_i - \bar x)^2}

    Args:
        lengths: n, three of them or more for an error of the second kind.
        amounts: seconds or bytes, above 0.
        errors: their standard errors, 0 where there is none.

    Returns:
        The line of the logarithms (base 2), whose value is b; None of fewer than two lengths.

    Example:
        >>> line = exponent([100, 200, 400], [1.0, 4.0, 16.0], [0.0, 0.0, 0.0])
        >>> round(line.value, 6), round(line.error, 6)
        (2.0, 0.0)
    """
    points = [
        Point(math.log2(n), math.log2(amount), error / amount / math.log(2), 1)
        for n, amount, error in zip(lengths, amounts, errors, strict=True)
    ]
    line = fit(points)
    if line is None or len(points) < 3:
        return line
    middle = sum(point.length for point in points) / len(points)
    spread = sum((point.length - middle) ** 2 for point in points)
    rest = sum((point.score - line.at(point.length)) ** 2 for point in points) / (len(points) - 2)
    return Slope(line.value, max(line.error, math.sqrt(rest / spread)), line.start)


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
