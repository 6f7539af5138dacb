"""The difference of two rates over the same images, whose error is that of seeds and of images together."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "DECIDED",
    "ERRORS",
    "Difference",
    "bound",
    "decided",
    "errors",
    "packed",
    "packed_counts",
    "packed_shares",
    "spread",
    "unpacked",
    "unpacked_counts",
    "unpacked_shares",
]

DECIDED = (
    "A claim is reproduced where the difference is above 0 by more than twice that error, contradicted where it is "
    "below so, and not decided else; with one seed none is."
)


def errors(of: str) -> str:
    """Return what the errors of a difference are, for a page.

    Args:
        of: what rates are of: an image, or a sequence.

    Example:
        >>> "with other test images, taken image by image" in errors("image")
        True
    """
    return (
        "A difference has two errors: what the mean over seeds would vary by with other seeds, and what it would vary "
        f"by with other test {of}s, taken {of} by {of}. Both are added as independent ones, which rather overstates "
        "their sum."
    )


ERRORS = errors("image")


def bound(claims: int) -> float:
    r"""Return how many errors below 0 one of several claims has to be to be contradicted: Bonferroni's bound.

    .. math:: \Phi(-b) = \Phi(-2) / n

    of n claims, so that where none of the differences is other than 0 one of them is found so no more often than a
    single one is beyond two errors.

    Args:
        claims: how many, 1 or more.

    Example:
        >>> [round(bound(claims), 2) for claims in (1, 6)]
        [2.0, 2.67]
    """
    normal = statistics.NormalDist()
    return 2.0 if claims == 1 else -normal.inv_cdf(normal.cdf(-2.0) / claims)


def decided(claims: int) -> str:
    """Return how one of several claims is judged by `Difference.among`, for a page.

    >>> decided(6)[:99]
    'Each of the 6 claims is reproduced where its difference is above 0 by more than twice that error, c'
    """
    several = f"Each of the {claims} claims is" if claims > 1 else "The claim is"
    why = " (Bonferroni's bound, as one of several is below by chance more easily than a single one)"
    return (
        f"{several} reproduced where its difference is above 0 by more than twice that error, contradicted where it "
        f"is below by more than {bound(claims):.2f} times the error{why if claims > 1 else ''}, and not decided else; "
        "with one seed none is. Twice an error that is known is exceeded by chance in 2.3 of 100 cases, that of three "
        "seeds in up to 9 (Student's t of 2 degrees of freedom): with few seeds a verdict is a hint."
    )


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


def packed_counts(counts: Sequence[int]) -> str:
    """Return numbers from 0 to 15 as hexadecimal digits, one each.

    >>> packed_counts([0, 10, 3])
    '0a3'
    """
    return "".join(f"{count:x}" for count in counts)


def unpacked_counts(digits: str) -> list[int]:
    """Return what `packed_counts` was given.

    >>> unpacked_counts("0a3")
    [0, 10, 3]
    """
    return [int(digit, 16) for digit in digits]


def packed_shares(shares: Sequence[float]) -> str:
    """Return numbers from -1 to 1 as three hexadecimal digits each: the nearest multiples of 1 / 2047.

    >>> packed_shares([0.0, 1.0, -1.0])
    '800fff001'
    """
    return "".join(f"{round(2047 * share) + 2048:03x}" for share in shares)


def unpacked_shares(digits: str) -> list[float]:
    """Return what `packed_shares` was given, to within 1 / 4094.

    >>> unpacked_shares("800fff001")
    [0.0, 1.0, -1.0]
    """
    return [(int(digits[place : place + 3], 16) - 2048) / 2047 for place in range(0, len(digits), 3)]


def spread(values: Sequence[float]) -> str:
    """Return the mean of shares and, of several, their standard deviation, in percent.

    >>> spread([0.5, 0.52]), spread([0.5])
    ('51.00 ± 1.41', '50.00')
    """
    around = f" ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * statistics.fmean(values):.2f}{around}"


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
    def between(
        cls, one: Sequence[Sequence[float]], other: Sequence[Sequence[float]], *, paired: bool = False
    ) -> "Difference":
        r"""Return by how much the rate of `one` is above that of `other`, each a row a seed of the same images.

        Where both are of the same trained models, seed by seed, their rates are no independent ones, and what varies is
        the difference of each:

        .. math:: \sigma_s^2 = \frac{\operatorname{Var}_s (a_s - c_s)}{S}

        Args:
            one, other: whether each image was right, or in which share of several trials.
            paired: whether row s of both is of one trained model; there are as many rows of both then.

        Example:
            >>> Difference.between([[True, True, False, True]], [[True, False, False, False]]).mean
            0.5
            >>> one, other = [[True, True], [False, False]], [[False, False], [True, True]]
            >>> Difference.between(one, other).seeds, Difference.between(one, other, paired=True).seeds
            (0.7071067811865476, 1.0)
        """
        rates = [[statistics.fmean(row) for row in rows] for rows in (one, other)]
        images = [
            statistics.fmean(a) - statistics.fmean(b)
            for a, b in zip(zip(*one, strict=True), zip(*other, strict=True), strict=True)
        ]
        varying = [[a - b for a, b in zip(*rates, strict=True)]] if paired else rates
        several = min(map(len, varying)) > 1
        seeds = math.sqrt(sum(statistics.variance(own) / len(own) for own in varying)) if several else None
        spread = math.sqrt(statistics.variance(images) / len(images)) if len(images) > 1 else 0.0
        return cls(statistics.fmean(rates[0]) - statistics.fmean(rates[1]), seeds, spread)

    @property
    def error(self) -> float | None:
        """The standard error over seeds and images together; None with a single seed."""
        return None if self.seeds is None else math.hypot(self.seeds, self.images)

    @property
    def known(self) -> float:
        """The standard error as far as it is known: with a single seed that of images alone.

        >>> Difference(0.0, 0.3, 0.4).known, Difference(0.0, None, 0.4).known
        (0.5, 0.4)
        """
        return self.images if self.error is None else self.error

    @property
    def result(self) -> str:
        """What is said of a claim that it is above 0; of one seed nothing is.

        >>> [Difference(mean, 0.03, 0.04).result for mean in (0.11, 0.1, -0.11)], Difference(0.5, None, 0.0).result
        (['reproduced', 'not decided', 'contradicted'], 'not decided')
        """
        return self.among(1)

    def among(self, claims: int) -> str:
        """Return what is said of a claim that it is above 0 where it is one of several.

        All of them have to hold for a report's claim to, which asks for no correction; that one is contradicted is
        enough to contradict it, so that this has Bonferroni's bound.

        Args:
            claims: how many there are.

        Example:
            >>> [Difference(mean, 0.03, 0.04).among(6) for mean in (0.11, -0.11, -0.14)]
            ['reproduced', 'not decided', 'contradicted']
        """
        if self.error is None:
            return "not decided"
        if self.mean > 2 * self.error:
            return "reproduced"
        return "contradicted" if -self.mean > bound(claims) * self.error else "not decided"

    def short(self) -> str:
        """Return difference and twice the error in points, as far as it is known.

        >>> Difference(0.0123, 0.003, 0.004).short()
        '+1.23 ± 1.00'
        """
        return f"{100 * self.mean:+.2f} ± {200 * self.known:.2f}"

    def text(self) -> str:
        """Return difference and errors in points.

        >>> Difference(0.0123, 0.003, 0.004).text()
        '+1.23 points, standard error 0.50 (seeds 0.30, images 0.40)'
        """
        if self.error is None or self.seeds is None:
            return f"{100 * self.mean:+.2f} points, standard error of images {100 * self.images:.2f}, one seed"
        parts = f"seeds {100 * self.seeds:.2f}, images {100 * self.images:.2f}"
        return f"{100 * self.mean:+.2f} points, standard error {100 * self.error:.2f} ({parts})"
