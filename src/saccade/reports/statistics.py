"""What numbers bear: intervals by several sources of chance, equivalence, several claims at once, and power."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from scipy import special

__all__ = [
    "LEVEL",
    "POWER",
    "SEEDS",
    "Claimed",
    "Estimate",
    "Exact",
    "Part",
    "Result",
    "Within",
    "enough",
    "judged",
    "quantile",
]

LEVEL = 0.05
"""How often one of the claims of a page is decided by chance alone, either way, at the most."""
POWER = 0.8
"""How often as many seeds or examples as are said to be enough find a difference that is there."""
SEEDS = "seeds"
_NORMAL = 1e9  # degrees of freedom from which on Student's t is the normal distribution
_MOST = {SEEDS: 1000}  # that are named as enough; of examples 1,000 times as many as there are
Result = Literal["reproduced", "contradicted", "not decided"]
_RESULTS: dict[int, Result] = {1: "reproduced", -1: "contradicted", 0: "not decided"}


@dataclass(frozen=True)
class Part:
    """One source of chance in a number.

    Args:
        name: what was drawn: `SEEDS`, or what examples are called.
        error: standard error that comes of it; 0 where it is not known.
        freedom: degrees of freedom of that error; 0: it is not known, for there was one alone.
        count: how many were drawn.
        fixed: whether the degrees stay with more of them, as those of a number of groups do.
        fitted: how many numbers were fitted to them, which the degrees lack: a mean, or the two of a line.
    """

    name: str
    error: float
    freedom: float
    count: int
    fixed: bool = False
    fitted: int = 1

    def of(self, count: int) -> "Part":
        """Return what the same source comes to with another number of draws."""
        more = 1.0 if self.fixed else (count - self.fitted) / max(1, self.count - self.fitted)
        return replace(self, error=self.error * math.sqrt(self.count / count), freedom=self.freedom * more, count=count)


class Claimed(Protocol):
    """What can be asked of a claim."""

    def beyond(self, level: float) -> int:
        """Whether it holds (1), the contrary does (-1), or neither is seen (0), erring so in a share `level`."""

    def missing(self, level: float) -> str:
        """How many seeds or examples would decide, in words; "" where nothing varied."""


@dataclass(frozen=True)
class Estimate:
    r"""A number with its sources of chance, which are independent of each other; as a claim, that it is above 0.

    Half the width of its interval is

    .. math:: h = \sqrt{\sum_k t_{f_k}^2\, \sigma_k^2}

    of sources k with standard errors \(\sigma_k\) and \(f_k\) degrees of freedom: an interval that holds the true value
    at least as often as it says, however few the degrees of one of them and however the errors compare, where each
    \(\sigma_k\) is of one mean (of two, Welch's degrees are near, and it misses up to 6 times in 100). That of
    Welch and Satterthwaite, narrower, misses it 6.4 instead of 2.5 times in 100 on one side where two seeds make up
    most of the error.

    Args:
        value: the number.
        parts: where it has its chance from.

    Source:
        Banerjee 1960, "Approximate confidence interval for linear functions of means of k populations when the
        population variances are not equal", Sankhyā 22.

    Example:
        >>> found = Estimate(0.0123, (Part("seeds", 0.003, 4, 5), Part("images", 0.004, 9999, 10_000)))
        >>> round(found.half(), 4), found.error
        (0.0114, 0.005)
        >>> found.short(), found.result
        ('+1.23 ± 1.14', 'reproduced')
    """

    value: float
    parts: tuple[Part, ...]

    def half(self, level: float = LEVEL) -> float:
        """Return half the width of the interval that misses the true value in a share `level`, both sides together;
        infinite where a source of chance is not known.
        """
        if not self.is_known:
            return math.inf
        return math.sqrt(sum((quantile(part.freedom, level) * part.error) ** 2 for part in self.parts))

    @property
    def is_known(self) -> bool:
        """Whether every source of chance is: not with a single seed."""
        return all(part.freedom > 0 for part in self.parts)

    @property
    def known(self) -> "Estimate":
        """The same by those sources of chance that are known."""
        return Estimate(self.value, tuple(part for part in self.parts if part.freedom > 0))

    @property
    def error(self) -> float:
        """The standard error of all sources that are known."""
        return math.hypot(*(part.error for part in self.parts))

    def beyond(self, level: float = LEVEL) -> int:
        """Return whether it is above 0 by more than half its interval (1), below it so (-1), or neither (0)."""
        half = self.half(level)
        return int(self.value > half) - int(self.value < -half)

    @property
    def result(self) -> Result:
        """What is said of the claim that it is above 0, where that is the only one."""
        return judged([self])[0]

    def less(self, margin: float) -> "Estimate":
        """Return by how much it is above a margin."""
        return replace(self, value=self.value - margin)

    def times(self, factor: float) -> "Estimate":
        """Return a multiple of it."""
        parts = tuple(replace(part, error=abs(factor) * part.error) for part in self.parts)
        return Estimate(factor * self.value, parts)

    def power(self, effect: float, level: float = LEVEL) -> float:
        r"""Return how often a true value of `effect` would be found to be other than 0, with errors as they are.

        .. math:: P(T_{f, \delta} > h / \sigma), \qquad \delta = |e| / \sigma, \quad
            f = \frac{\sigma^4}{\sum_k \sigma_k^4 / f_k}

        of Student's t that is not central, with Satterthwaite's degrees of freedom.

        Example:
            >>> found = Estimate(0.0, (Part("seeds", 1.0, 9, 10),))
            >>> round(found.power(3.0), 2), round(found.power(0.0, 0.05), 3)
            (0.76, 0.025)
        """
        if not self.is_known:
            return 0.0
        if not self.error:
            return 1.0
        lost = sum((part.error / self.error) ** 4 / part.freedom for part in self.parts)
        freedom = 1 / lost if lost else _NORMAL
        return float(1 - special.nctdtr(freedom, abs(effect) / self.error, self.half(level) / self.error))

    def missing(self, level: float = LEVEL) -> str:
        """Return how many seeds or examples would decide, by `enough`."""
        return enough(self, lambda other: other.power(self.value, level))

    def text(self, decimals: int = 2, *, signed: bool = False) -> str:
        """Return the value with half its interval, by those sources of chance that are known.

        >>> Estimate(0.5, (Part("seeds", 0.0, 0, 1), Part("sentences", 0.01, 9, 100))).text(3, signed=True)
        '+0.500 ± 0.023'
        >>> Estimate(-0.0, ()).text(1)
        '0.0'
        """
        number = round(self.value, decimals) + 0.0  # not -0.0
        around = f" ± {self.known.half():.{decimals}f}" if self.known.parts else ""
        return f"{number:{'+' if signed else ''}.{decimals}f}{around}"

    def short(self) -> str:
        """Return a share as a difference in points, with half its interval."""
        return self.times(100).text(signed=True)

    def long(self, scale: float = 100.0, unit: str = " points") -> str:
        """Return the same with the standard error of each source.

        >>> Estimate(0.0123, (Part("seeds", 0.003, 4, 5), Part("images", 0.004, 9999, 10_000))).long()
        '+1.23 ± 1.14 points (standard errors: seeds 0.30, images 0.40)'
        >>> Estimate(0.5, (Part("seeds", 0.0, 0, 1), Part("images", 0.01, 9, 10))).long()
        '+50.00 ± 2.26 points (standard errors: seeds not known, images 1.00)'
        """
        errors = (
            f"{part.name} {f'{scale * part.error:.2f}' if part.freedom > 0 else 'not known'}" for part in self.parts
        )
        return f"{self.times(scale).text(signed=True)}{unit} (standard errors: {', '.join(errors)})"


@dataclass(frozen=True)
class Within:
    """The claim that a number is within a margin around 0: equivalence.

    Two tests of one side each (Schuirmann 1987): it holds where the whole interval lies within the margin, and the
    contrary does where the whole lies without.

    Args:
        found: the number.
        margin: how far from 0 it may be.

    Example:
        >>> near = Estimate(0.1, (Part("seeds", 0.1, 9, 10),))
        >>> [Within(near, margin).beyond() for margin in (0.4, 0.3)], Within(near.less(0.8), 0.4).beyond()
        ([1, 0], -1)
    """

    found: Estimate
    margin: float

    def beyond(self, level: float = LEVEL) -> int:
        """Return whether the interval is within the margin (1), without it (-1), or neither (0)."""
        half, off = self.found.half(level), abs(self.found.value)
        return int(off + half < self.margin) - int(off - half > self.margin)

    def missing(self, level: float = LEVEL) -> str:
        """Return how many seeds or examples would decide, were the number as far from 0 as it was found."""
        rest = self.margin - abs(self.found.value)
        return enough(self.found, lambda other: other.power(rest, level))


@dataclass(frozen=True)
class Exact:
    """A claim with no chance in it.

    >>> judged([Exact(True), Exact(False)])
    ['reproduced', 'contradicted']
    """

    holds: bool

    def beyond(self, level: float = LEVEL) -> int:
        """Return whether it holds (1) or not (-1)."""
        return 1 if self.holds else -1

    def missing(self, level: float = LEVEL) -> str:
        """Return "": it is decided."""
        return ""


def judged(claims: Sequence[Claimed], level: float = LEVEL) -> list[Result]:
    """Return what the numbers say of each of several claims: "reproduced", "contradicted" or "not decided".

    Holm's procedure: that any of them is decided by chance alone happens in a share `level` of cases at most, however
    many they are.

    Source:
        Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6.

    Example:
        >>> claims = [Estimate(value, (Part("seeds", 1.0, math.inf, 9),)) for value in (2.5, 2.2, -1.0)]
        >>> judged(claims), judged(claims[:2]), judged([claims[1]])
        (['reproduced', 'not decided', 'not decided'], ['reproduced', 'reproduced'], ['reproduced'])
    """
    signs = [0 for _ in claims]
    while (left := signs.count(0)) and (again := [one.beyond(level / left) for one in claims]) != signs:
        signs = again
    return [_RESULTS[sign] for sign in signs]


def enough(found: Estimate, power: Callable[[Estimate], float]) -> str:
    """Return how many seeds, or examples where seeds are not what is missing, would decide; "" where nothing varied.

    Args:
        found: what was found with as many as there were.
        power: how often a claim would be decided, with its errors.

    Example:
        >>> found = Estimate(1.0, (Part("seeds", 0.5, 4, 3), Part("images", 0.1, 99, 100)))
        >>> found.missing()
        '8 seeds would decide a difference as large'
        >>> Estimate(1.0, (Part("seeds", 0.5, 0, 1),)).missing()
        'one seed says nothing of how far others would differ; 2 are the fewest that decide'
    """
    for part in found.parts:
        if not part.freedom:
            few = "one seed says" if part.name == SEEDS else f"so few {part.name} say"
            return f"{few} nothing of how far others would differ; {max(2, part.count + 1)} are the fewest that decide"
    for part in found.parts:
        most = _MOST.get(part.name, 1000 * part.count)
        if part.error and (count := _fewest(_with(found, part), power, part.count, most)):
            return f"{count:,} {part.name} would decide a difference as large"
    if not found.error:
        return ""
    times = _fewest(lambda n: _times(found, n), power, 1, 1000)
    both = " and ".join(part.name for part in found.parts)
    return f"{times or 'more than 1,000'} times as many {both} would decide a difference as large"


def quantile(freedom: float, level: float = LEVEL) -> float:
    """Return how many standard errors half an interval is wide: Student's t.

    >>> [round(quantile(freedom), 2) for freedom in (2, 9, math.inf)]
    [4.3, 2.26, 1.96]
    """
    return float(special.stdtrit(freedom, 1 - level / 2))


def _with(found: Estimate, part: Part) -> Callable[[int], Estimate]:
    return lambda n: Estimate(found.value, tuple(one.of(n) if one is part else one for one in found.parts))


def _times(found: Estimate, n: int) -> Estimate:
    return Estimate(found.value, tuple(part.of(n * part.count) for part in found.parts))


def _fewest(of: Callable[[int], Estimate], power: Callable[[Estimate], float], least: int, most: int) -> int:
    """The smallest number, above one and up to another, whose power is enough; 0 if none is."""
    low, high = least, 2 * least
    while power(of(min(high, most))) < POWER:
        if high >= most:
            return 0
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(of(middle)) >= POWER else (middle, high)
    return high
