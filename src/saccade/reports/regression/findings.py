"""What the rows of the report `regression` come to: errors by the number of points, their powers, and the verdict."""

from collections.abc import Mapping
from typing import Any

from saccade.reports.growth import Power, exponent
from saccade.reports.pages import aligned, ending
from saccade.reports.regression.estimates import BEST, KERNEL, LEARNED, MEAN
from saccade.reports.resampling import over_seeds
from saccade.reports.statistics import Estimate, Within
from saccade.reports.verdict import Claim, Verdict, conclude

__all__ = ["EXPECTED", "NEAR", "WIDTH", "Findings", "summary"]

EXPECTED, WIDTH = -4 / 5, -1 / 5
"""The powers of n that the error and the bandwidth are to fall with."""

NEAR = 0.1
"""By how much exponents may differ from what is claimed: less than −2/3 and −1 do from −4/5."""


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.ways = [way for way in (MEAN, BEST, KERNEL, LEARNED) if self._rows(way)]
        self.verdict = self._decide()

    def counts(self, way: str) -> list[int]:
        """How many points there were, in order."""
        return sorted({row["n"] for row in self._rows(way)})

    def mean(self, way: str, count: int, what: str = "mse") -> Estimate:
        """The mean over seeds of what was measured."""
        return over_seeds([float(row[what]) for row in self._rows(way) if row["n"] == count])

    def power(self, way: str, what: str = "mse") -> Power | None:
        """The power of n that it falls with, as a line of logarithms; None of fewer than two counts."""
        counts = self.counts(way)
        means = [self.mean(way, count, what) for count in counts]
        values, errors = [mean.value for mean in means], [mean.error for mean in means]
        freedoms = [mean.parts[0].freedom for mean in means]
        return exponent(counts, values, errors, of="numbers of points", freedoms=freedoms)

    def table(self) -> list[list[str]]:
        """Header, a row for each number of points, and the powers."""
        columns = [*((way, "mse") for way in self.ways), *((way, "bandwidth") for way in (BEST, KERNEL))]
        header = ["points", *(way if what == "mse" else f"h, {way}" for way, what in columns)]
        body = [
            [str(count), *(self._cell(way, count, what) for way, what in columns)]
            for count in sorted({row["n"] for row in self.content["rows"]})
        ]
        powers = [_power(self.power(way, what)) for way, what in columns]
        known = {MEAN: "0", BEST: f"{EXPECTED:.2f}", KERNEL: f"{EXPECTED:.2f}", LEARNED: ""}
        expected = [known[way] if what == "mse" else f"{WIDTH:.2f}" for way, what in columns]
        return [header, *body, ["power of n", *powers], ["by the theory", *expected]]

    @property
    def excess(self) -> float:
        """How many times the error of the best bandwidth that of leave-one-out has, of the most points."""
        last = self.counts(KERNEL)[-1]
        return self.mean(KERNEL, last).value / self.mean(BEST, last).value

    @property
    def seeds(self) -> dict[str, int]:
        """How often each way was tried."""
        return {way: len({row["seed"] for row in self._rows(way)}) for way in self.ways}

    def _rows(self, way: str) -> list[Mapping[str, Any]]:
        return [row for row in self.content["rows"] if row["way"] == way]

    def _cell(self, way: str, count: int, what: str) -> str:
        if count not in self.counts(way):
            return ""
        return self.mean(way, count, what).text(5)

    def claims(self) -> list[Claim]:
        """That exponents are within a margin of what is claimed; none of one number of points."""
        best, mean = self.power(BEST), self.power(MEAN)
        if best is None or mean is None:
            return []
        return [
            Claim(
                f"by the best bandwidth the squared error falls as n^({EXPECTED:.1f}), within {NEAR:g}",
                Within(best.found.less(EXPECTED), NEAR),
                f"n^({_power(best)})",
            ),
            Claim(f"that of the mean stays, within n^({NEAR:g})", Within(mean.found, NEAR), f"n^({_power(mean)})"),
        ]

    def _decide(self) -> Verdict:
        """Whether the error falls as the theory says, and that of the mean stays: see docs/reports.md."""
        found = self.power(KERNEL)
        if not (claims := self.claims()) or found is None:
            return Verdict("not decided", "there is one number of points; an exponent takes three or more")
        verdict = conclude(claims)
        other = f"by that of leave-one-out it falls as n^({_power(found)}), to {self.excess:.2f} times the best"
        return Verdict(verdict.result, f"{verdict.reason}; {other}")


def _power(line: Power | None) -> str:
    return "-" if line is None else line.text(3)


def summary(content: Mapping[str, Any]) -> str:
    """Return the table and the verdict as text for a terminal."""
    found = Findings(content)
    title = "squared distance from the curve, mean over seeds ± half of its 95% interval"
    return "\n".join([title, *aligned(found.table()), "", *ending(found.verdict, content)])
