"""What the rows of the report `regression` come to: errors by the number of points, their powers, and the verdict."""

import math
import statistics
from collections.abc import Mapping
from typing import Any

from saccade.reports.growth import exponent
from saccade.reports.pages import aligned, ending
from saccade.reports.regression.estimates import BEST, KERNEL, LEARNED, MEAN
from saccade.reports.slope import Slope
from saccade.reports.verdict import Verdict

__all__ = ["EXPECTED", "WIDTH", "Findings", "summary"]

EXPECTED, WIDTH = -4 / 5, -1 / 5
"""The powers of n that the error and the bandwidth are to fall with."""

NEAR = 0.05  # by how much the exponent may differ from that, since n is finite
SURE = 0.1  # twice the error of an exponent that decides: −4/5 is so far from −2/3 and −1
_STAYS = 0.1  # the power of n that the error of the mean falls with, at most


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.ways = [way for way in (MEAN, BEST, KERNEL, LEARNED) if self._rows(way)]
        self.verdict = self._decide()

    def counts(self, way: str) -> list[int]:
        """How many points there were, in order."""
        return sorted({row["n"] for row in self._rows(way)})

    def mean(self, way: str, count: int, what: str = "mse") -> tuple[float, float]:
        """The mean over seeds of what was measured, and its standard error."""
        found = [float(row[what]) for row in self._rows(way) if row["n"] == count]
        spread = statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else 0.0
        return statistics.fmean(found), spread

    def power(self, way: str, what: str = "mse") -> Slope | None:
        """The power of n that it falls with, as a line of logarithms; None of fewer than two counts."""
        counts = self.counts(way)
        means = [self.mean(way, count, what) for count in counts]
        return exponent(counts, [mean for mean, _ in means], [error for _, error in means])

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
        return self.mean(KERNEL, last)[0] / self.mean(BEST, last)[0]

    @property
    def seeds(self) -> dict[str, int]:
        """How often each way was tried."""
        return {way: len({row["seed"] for row in self._rows(way)}) for way in self.ways}

    def _rows(self, way: str) -> list[Mapping[str, Any]]:
        return [row for row in self.content["rows"] if row["way"] == way]

    def _cell(self, way: str, count: int, what: str) -> str:
        if count not in self.counts(way):
            return ""
        mean, error = self.mean(way, count, what)
        return f"{mean:.5f} ± {2 * error:.5f}"

    def _decide(self) -> Verdict:
        """Whether the error falls as the theory says, and that of the mean stays: see docs/reports.md."""
        best, found, mean = (self.power(way) for way in (BEST, KERNEL, MEAN))
        if best is None or found is None or mean is None:
            return Verdict("not decided", "there is one number of points; an exponent takes two or more")
        reason = (
            f"by the best bandwidth the squared error falls as n^({_power(best)}), n^({EXPECTED:.1f}) being claimed; "
            f"by that of leave-one-out as n^({_power(found)}), to {self.excess:.2f} times the best; "
            f"that of the mean as n^({_power(mean)})"
        )
        if 2 * best.error > SURE:
            return Verdict("not decided", f"{reason}; twice the error is above {SURE}, more --seeds make it smaller")
        near = abs(best.value - EXPECTED) <= max(2 * best.error, NEAR)
        stays = abs(mean.value) <= max(2 * mean.error, _STAYS)
        return Verdict("reproduced" if near and stays else "contradicted", reason)


def _power(line: Slope | None) -> str:
    return "-" if line is None else f"{line.value:.3f} ± {2 * line.error:.3f}"


def summary(content: Mapping[str, Any]) -> str:
    """Return the table and the verdict as text for a terminal."""
    found = Findings(content)
    title = "squared distance from the curve, mean over seeds ± twice its standard error"
    return "\n".join([title, *aligned(found.table()), "", *ending(found.verdict, content)])
