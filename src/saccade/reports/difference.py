"""The difference of two rates over the same images, whose error is that of seeds and of images together."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Difference", "packed", "unpacked"]


def packed(right: Sequence[bool]) -> str:
    """Return yes and no of many images as hexadecimal digits, four images each.

    >>> packed([True, False, False, False, True])
    '88'
    """
    rows = [right[first : first + 4] for first in range(0, len(right), 4)]
    return "".join(f"{sum(8 >> place for place, bit in enumerate(row) if bit):x}" for row in rows)


def unpacked(digits: str, count: int) -> list[bool]:
    """Return what `packed` was given.

    >>> unpacked("88", 5)
    [True, False, False, False, True]
    """
    return [bool(int(digit, 16) & 8 >> place) for digit in digits for place in range(4)][:count]


@dataclass(frozen=True)
class Difference:
    r"""How much more often one model is right, or wrong, than another, with the standard errors that it has.

    .. math::
        d = \bar a - \bar c \qquad
        \sigma_s^2 = \frac{\operatorname{Var}_s a_s + \operatorname{Var}_s c_s}{S} \qquad
        \sigma_i^2 = \frac{\operatorname{Var}_i (a_i - c_i)}{N} \qquad \sigma^2 = \sigma_s^2 + \sigma_i^2

    of S seeds each, whose rates are \(a_s\) and \(c_s\), and N images, of which each is right in shares \(a_i\) and
    \(c_i\) of the seeds. What both have of chance in one training counts in both, so the error is rather too large.

    Args:
        mean: d.
        seeds: \(\sigma_s\); None with a single seed.
        images: \(\sigma_i\).
    """

    mean: float
    seeds: float | None
    images: float

    @classmethod
    def between(cls, one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> "Difference":
        """Return by how much the rate of `one` is above that of `other`, each a row a seed of the same images.

        Args:
            one, other: whether each image was right, or in which share of several trials.

        >>> Difference.between([[True, True, False, True]], [[True, False, False, False]]).mean
        0.5
        """
        rates = [[statistics.fmean(row) for row in rows] for rows in (one, other)]
        images = [
            statistics.fmean(a) - statistics.fmean(b)
            for a, b in zip(zip(*one, strict=True), zip(*other, strict=True), strict=True)
        ]
        several = min(map(len, rates)) > 1
        seeds = math.sqrt(sum(statistics.variance(own) / len(own) for own in rates)) if several else None
        spread = math.sqrt(statistics.variance(images) / len(images)) if len(images) > 1 else 0.0
        return cls(statistics.fmean(rates[0]) - statistics.fmean(rates[1]), seeds, spread)

    @property
    def error(self) -> float | None:
        """The standard error over seeds and images together; None with a single seed."""
        return None if self.seeds is None else math.hypot(self.seeds, self.images)

    def text(self) -> str:
        """Return difference and errors in points.

        >>> Difference(0.0123, 0.003, 0.004).text()
        '+1.23 points, standard error 0.50 (seeds 0.30, images 0.40)'
        """
        if self.error is None or self.seeds is None:
            return f"{100 * self.mean:+.2f} points, standard error of images {100 * self.images:.2f}, one seed"
        parts = f"seeds {100 * self.seeds:.2f}, images {100 * self.images:.2f}"
        return f"{100 * self.mean:+.2f} points, standard error {100 * self.error:.2f} ({parts})"
