"""Claims: numbers with intervals by several sources of chance, and their verdicts."""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from scipy import optimize, special
from statsmodels.stats.multitest import multipletests

LEVEL = 0.05
"""Probability that chance alone decides any claim of a page."""
POWER = 0.8
"""Probability that enough seeds or examples detect a true difference."""
SEEDS = "seeds"
_NORMAL = 1e9  # degrees of freedom from which on Student's t is the normal distribution
_LEAST = 1e-12  # p-values below this are 0
_ENOUGH = {SEEDS: 1000}  # the largest number called enough; of examples 1,000 times as many as there are
Result = Literal["reproduced", "contradicted", "not decided"]


@dataclass(frozen=True)
class Source:
    """One source of chance in a number: a count of seeds or of examples.

    Args:
        error: its standard error; 0 if unknown.
        freedom: degrees of freedom of the error; 0 if unknown, as with one seed.
        fixed: whether more draws leave the degrees as they are, as those of a number of groups.
        fitted: numbers fitted to the draws: 1 for a mean, 2 for a line.
    """

    name: str
    error: float
    freedom: float
    count: int
    fixed: bool = False
    fitted: int = 1

    def of(self, count: int) -> "Source":
        more = 1.0 if self.fixed else (count - self.fitted) / max(1, self.count - self.fitted)
        return replace(self, error=self.error * math.sqrt(self.count / count), freedom=self.freedom * more, count=count)


@dataclass(frozen=True)
class Estimate:
    r"""A number with independent sources of chance; as a claim: it is above 0.

    Half the width of its interval, of sources k with standard errors \(\sigma_k\) and \(f_k\) degrees of freedom:

    .. math:: h = \sqrt{\sum_k t_{f_k}^2\, \sigma_k^2}

    The interval holds the true value at least as often as it says, however few the degrees of one source are, if each
    \(\sigma_k\) is of one mean. Of two means Welch's degrees are near: it misses up to 6 times in 100.

    Source:
        Banerjee 1960, "Approximate confidence interval for linear functions of means of k populations when the
        population variances are not equal", Sankhyā 22.

    Example:
        >>> x = Estimate(0.0123, (Source("seeds", 0.003, 4, 5), Source("images", 0.004, 9999, 10_000)))
        >>> round(x.half(), 4), x.error, x.short(), round(x.p, 3), judged([x])
        (0.0114, 0.005, '+1.23 ± 1.14', 0.039, ['reproduced'])
    """

    value: float
    sources: tuple[Source, ...]

    def half(self, level: float = LEVEL) -> float:
        """Return half the width of the interval, infinite without a source's error."""
        if not self.is_known:
            return math.inf
        return math.sqrt(sum((quantile(source.freedom, level) * source.error) ** 2 for source in self.sources))

    @property
    def is_known(self) -> bool:
        """Whether several seeds or examples determine the error of every source."""
        return all(source.freedom > 0 for source in self.sources)

    @property
    def measured(self) -> "Estimate":
        """The number with its sources of determined errors alone."""
        return replace(self, sources=tuple(source for source in self.sources if source.freedom > 0))

    @property
    def error(self) -> float:
        """Standard error of all known sources."""
        return math.hypot(*(source.error for source in self.sources))

    @property
    def holds(self) -> bool:
        return self.value > 0

    @property
    def p(self) -> float:
        """Two-sided p-value: level of the interval that ends at 0."""
        return self.level_of(abs(self.value))

    def level_of(self, distance: float) -> float:
        """Return the level of the interval with this half width."""
        if distance <= 0 or not self.is_known:
            return 1.0
        if self.half(_LEAST) <= distance:
            return 0.0
        return float(optimize.brentq(lambda level: self.half(level) - distance, _LEAST, 1.0, xtol=1e-14))

    def beyond(self) -> int:
        """Return 1 or -1 if the interval lies above or below 0, else 0."""
        return (1 if self.holds else -1) if self.half() < abs(self.value) else 0

    def less(self, margin: float) -> Self:
        return replace(self, value=self.value - margin)

    def times(self, factor: float) -> Self:
        sources = tuple(replace(source, error=abs(factor) * source.error) for source in self.sources)
        return replace(self, value=factor * self.value, sources=sources)

    def power(self, effect: float, level: float = LEVEL) -> float:
        r"""Return the probability of detecting a true value of `effect` with these errors.

        .. math:: P(T_{f, \delta} > h / \sigma), \qquad \delta = |e| / \sigma, \quad
            f = \frac{\sigma^4}{\sum_k \sigma_k^4 / f_k}

        of Student's noncentral t with Satterthwaite's degrees of freedom.
        """
        if not self.is_known:
            return 0.0
        if not self.error:
            return 1.0
        lost = sum((source.error / self.error) ** 4 / source.freedom for source in self.sources)
        freedom = 1 / lost if lost else _NORMAL
        return float(1 - special.nctdtr(freedom, abs(effect) / self.error, self.half(level) / self.error))

    def missing(self, level: float = LEVEL) -> str:
        """Return how many seeds or examples would decide, in words."""
        return _enough(self, lambda other: other.power(self.value, level))

    def text(self, decimals: int = 2, *, signed: bool = False) -> str:
        """Return the value ± half its interval, by the known sources.

        >>> Estimate(0.5, (Source("seeds", 0.0, 0, 1), Source("sentences", 0.01, 9, 100))).text(3, signed=True)
        '+0.500 ± 0.023'
        """
        number = round(self.value, decimals) + 0.0  # not -0.0
        around = f" ± {self.measured.half():.{decimals}f}" if self.measured.sources else ""
        return f"{number:{'+' if signed else ''}.{decimals}f}{around}"

    def short(self) -> str:
        """Return a share as a difference in points."""
        return self.times(100).text(signed=True)

    def long(self) -> str:
        """Return a difference in points, with the standard error of each source.

        >>> Estimate(0.5, (Source("seeds", 0.0, 0, 1), Source("images", 0.01, 9, 10))).long()
        '+50.00 ± 2.26 points (standard errors: seeds not known, images 1.00)'
        """
        errors = (f"{s.name} {f'{100 * s.error:.2f}' if s.freedom > 0 else 'not known'}" for s in self.sources)
        return f"{self.short()} points (standard errors: {', '.join(errors)})"


@dataclass(frozen=True)
class Within:
    """The claim that a number is near 0, by two one-sided tests (Schuirmann 1987).

    Example:
        >>> x = Estimate(0.1, (Source("seeds", 0.1, 9, 10),))
        >>> judged([Within(x, 0.4)]), judged([Within(x, 0.3)]), judged([Within(x.less(0.8), 0.4)])
        (['reproduced'], ['not decided'], ['contradicted'])
    """

    number: Estimate
    margin: float

    @property
    def rest(self) -> float:
        """The distance to the margin, above 0 within it."""
        return self.margin - abs(self.number.value)

    @property
    def holds(self) -> bool:
        return self.rest > 0

    @property
    def p(self) -> float:
        """Level of the interval that ends at the margin."""
        return self.number.level_of(abs(self.rest))

    def missing(self, level: float = LEVEL) -> str:
        """Return how many seeds or examples would decide with the number as it is."""
        return _enough(self.number, lambda other: other.power(self.rest, level))


@dataclass(frozen=True)
class Exact:
    """A claim without chance."""

    holds: bool
    p: float = 0.0

    def missing(self, level: float = LEVEL) -> str:
        return ""


Claimed = Estimate | Within | Exact
"""Statistics of a claim: whether it `holds`, the two-sided `p`, and `missing`."""


def judged(claims: Sequence[Claimed]) -> list[Result]:
    """Return verdicts on claims, with an error probability of 5% of any (Holm 1979).

    >>> claims = [Estimate(value, (Source("seeds", 1.0, math.inf, 9),)) for value in (2.5, 2.2, -1.0)]
    >>> judged(claims), judged(claims[:2]), judged([claims[1]])
    (['reproduced', 'not decided', 'not decided'], ['reproduced', 'reproduced'], ['reproduced'])
    """
    if not claims:
        return []
    sure = multipletests([claim.p for claim in claims], LEVEL, "holm")[0]
    signs: list[Result] = ["reproduced" if claim.holds else "contradicted" for claim in claims]
    return [sign if decided else "not decided" for sign, decided in zip(signs, sure, strict=True)]


def quantile(freedom: float, level: float = LEVEL) -> float:
    """Return Student's t: standard errors in half an interval."""
    return float(special.stdtrit(freedom, 1 - level / 2))


def _enough(x: Estimate, power: Callable[[Estimate], float]) -> str:
    """Return the seeds or examples that would decide, "" if nothing varied.

    >>> Estimate(1.0, (Source("seeds", 0.5, 4, 3), Source("images", 0.1, 99, 100))).missing()
    '8 seeds would decide a difference as large'
    >>> Estimate(1.0, (Source("seeds", 0.5, 0, 1),)).missing()
    'one seed says nothing of how far others would differ; 2 are the fewest that decide'
    """
    for source in x.sources:
        if not source.freedom:
            few = "one seed says" if source.name == SEEDS else f"so few {source.name} say"
            fewest = max(2, source.count + 1)
            return f"{few} nothing of how far others would differ; {fewest} are the fewest that decide"
    for source in x.sources:

        def with_more(count: int, source: Source = source) -> float:
            return power(Estimate(x.value, tuple(s.of(count) if s is source else s for s in x.sources)))

        bound = _ENOUGH.get(source.name, 1000 * source.count)
        if source.error and (count := _fewest(with_more, source.count, bound)):
            return f"{count:,} {source.name} would decide a difference as large"
    if not x.error:
        return ""
    times = _fewest(lambda n: power(Estimate(x.value, tuple(s.of(n * s.count) for s in x.sources))), 1, 1000)
    both = " and ".join(source.name for source in x.sources)
    return f"{times or 'more than 1,000'} times as many {both} would decide a difference as large"


def _fewest(power: Callable[[int], float], least: int, bound: int) -> int:
    """Return the smallest number above `least` with enough power, 0 if none."""
    counts = range(least + 1, bound + 1)
    index = bisect_left(counts, POWER, key=power)
    return counts[index] if index < len(counts) else 0


@dataclass(frozen=True)
class Verdict:
    """The verdict on a study's claim, with its reason in a sentence."""

    result: Result
    reason: str


@dataclass(frozen=True)
class Claim:
    """A part of a study's claim in words, its statistics, and its number in words."""

    text: str
    number: Claimed
    measured: str


def together(results: Collection[Result]) -> Result:
    """Return the verdict on a claim of several parts, all of them necessary.

    >>> together(["reproduced", "reproduced"]), together(["reproduced", "not decided"])
    ('reproduced', 'not decided')
    >>> together(["reproduced", "not decided", "contradicted"]), together([])
    ('contradicted', 'not decided')
    """
    if results and all(result == "reproduced" for result in results):
        return "reproduced"
    return "contradicted" if "contradicted" in results else "not decided"


def worded(claims: Sequence[Claim]) -> str:
    """Return claims with verdicts, numbers, and seeds or examples for a decision."""
    results = judged([claim.number for claim in claims])
    level, pairs = LEVEL / max(1, results.count("not decided")), list(zip(claims, results, strict=True))
    missing = [claim.number.missing(level) if result == "not decided" else "" for claim, result in pairs]
    alike = {text for text in missing if missing.count(text) > 1} - {""}
    endings = [f" ({text})" if text not in ("", *alike) else "" for text in missing]
    texts = [f"{claim.text}: {result}, {claim.measured}" for claim, result in pairs]
    return "; ".join([*map("".join, zip(texts, endings, strict=True)), *sorted(alike)])


def conclude(claims: Sequence[Claim], combine: Callable[[Sequence[Result]], Result] = together) -> Verdict:
    """Return the verdict on all claims of a page, made of theirs by `combine`."""
    return Verdict(combine(judged([claim.number for claim in claims])), worded(claims))


def tabled(claims: Sequence[Claim]) -> list[list[str]]:
    """Return a table of claims, their numbers and verdicts."""
    results = judged([claim.number for claim in claims])
    rows = [[claim.text, claim.measured, result] for claim, result in zip(claims, results, strict=True)]
    return [["claim", "measured", "verdict"], *rows]


def bars(of: str, seeds: int) -> str:
    """Return the meaning of ± on a page; `of` is the word for examples."""
    if seeds == 1:
        return f"± is half of a 95% interval by the choice of {of} alone: one seed does not show how trainings differ."
    return f"± is half of a 95% interval over seeds and {of} together, {seeds} seeds (Student's t)."


def both_bars(of: str, seeds: int) -> str:
    """Return the meaning of ± of scores and of differences on a page."""
    _, whole = bars(of, seeds).split("± is ")
    return f"± of a score is its standard deviation over seeds, of a difference or a slope {whole}"


def rule(claims: int, *, seeded: bool = True) -> str:
    """Return the rule for the verdicts on a number of claims, for a page."""
    single = " If trainings differ by chance, one seed decides nothing." if seeded else ""
    if claims < 2:
        return (
            "The claim is reproduced if the 95% interval of its number lies above 0, contradicted if the interval lies "
            f"below 0, and not decided otherwise. Chance alone decides it in at most 5 of 100 cases.{single}"
        )
    return (
        f"The ± of a claim is half of its own 95% interval. The {claims} claims are judged together by wider intervals "
        "(Holm 1979), so that chance alone decides any of them in at most 5 of 100 cases. A claim is reproduced if its "
        "wider interval lies above 0, contradicted if it lies below 0, and not decided otherwise, even if the printed "
        f"interval would decide it.{single}"
    )


def decided(claims: int) -> str:
    """Return the meaning of ± and the rule, for a page with errors by seeds alone."""
    whole = " The study is reproduced if all claims are, and contradicted if one is." if claims > 1 else ""
    return f"± is half of a 95% interval over seeds (Student's t). {rule(claims)}{whole}"


def nothing(why: str) -> Verdict:
    """Return the verdict if nothing can be concluded."""
    return Verdict("not decided", f"nothing can be concluded: {why}")


NOTHING = nothing("no model got anything right; train them longer")
