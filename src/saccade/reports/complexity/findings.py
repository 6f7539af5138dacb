"""What the rows of the report `complexity` come to: times and bytes, exponents, crossings and the verdict."""

import math
from collections.abc import Mapping
from typing import Any

from saccade.reports.complexity.layers import LAYERS, PASSES
from saccade.reports.growth import crossings, exponent
from saccade.reports.pages import aligned, ending
from saccade.reports.slope import Slope
from saccade.reports.verdict import Verdict

__all__ = ["ATTENTION", "RECURRENT", "Findings", "summary"]

RECURRENT, ATTENTION = "GRU", "self-attention"
NEAR = 0.2  # by how much an exponent may differ from its formula's, for caches and what every call costs
_LONG = 4  # the long end: lengths of a fourth of the longest or more, three at the least
_SEEN = 1 << 20  # bytes: less than that is lost among the pages of a process


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.layers = list(content["rows"][0]["layers"])
        self.lengths = sorted({row["length"] for row in content["rows"]})
        self.width = int(content["arguments"]["width"])
        self.long = [n for n in self.lengths if n * _LONG >= self.lengths[-1]]
        if len(self.long) < 3:
            self.long = self.lengths[-3:]
        self.verdict = self._decide()

    def layer(self, way: str, length: int, name: str) -> Mapping[str, Any]:
        """What was measured of one layer at one point."""
        rows = self.content["rows"]
        row = next(row for row in rows if (row["pass"], row["length"]) == (way, length))
        found: Mapping[str, Any] = row["layers"][name]
        return found

    def seconds(self, way: str, name: str) -> list[float]:
        """Its times, length by length."""
        return [float(self.layer(way, length, name)["seconds"]) for length in self.lengths]

    def time(self, way: str, name: str) -> Slope:
        """The power of the length that its time grows with at the long end, as a line of logarithms."""
        found = [self.layer(way, length, name) for length in self.long]
        line = exponent(self.long, [one["seconds"] for one in found], [one["error"] for one in found])
        assert line is not None
        return line

    def memory(self, way: str, name: str) -> Slope | None:
        """The same of its memory; None where that was not measured, or is too little to be seen."""
        found = [self.layer(way, length, name)["bytes"] for length in self.long]
        seen = all(one is not None and one >= _SEEN for one in found)
        return exponent(self.long, found, [0.0] * len(found)) if seen else None

    def expected(self, name: str) -> float:
        """The exponent of its formula, between the same lengths."""
        products = [LAYERS[name].products(length, self.width) for length in self.long]
        line = exponent(self.long, products, [0.0] * len(products))
        assert line is not None
        return line.value

    def table(self, way: str) -> list[list[str]]:
        """Header, a row a length, and the exponents beside those of the formulas."""
        header = ["length", *(f"{name}, {what}" for what in ("ms", "MiB") for name in self.layers)]
        body = [[str(length), *self._cells(way, length)] for length in self.lengths]
        times = [_power(self.time(way, name)) for name in self.layers]
        memories = [_power(self.memory(way, name)) for name in self.layers]
        formulas = [f"{self.expected(name):.2f}" for name in self.layers]
        return [header, *body, ["exponent", *times, *memories], ["by its formula", *formulas, *["" for _ in memories]]]

    def crossing(self, way: str) -> str:
        """Where attention takes longer than the recurrent layer, in words."""
        attention, recurrent = self.seconds(way, ATTENTION), self.seconds(way, RECURRENT)
        found = crossings(self.lengths, attention, recurrent)
        if found and attention[-1] > recurrent[-1]:
            n = found[-1]
            return f"{way}, {ATTENTION} takes longer than the {RECURRENT} from {n:.0f} positions on, {self._widths(n)}"
        if attention[-1] <= recurrent[-1]:
            ratio = recurrent[-1] / attention[-1]
            ahead = f"{way}, {ATTENTION} takes less time than the {RECURRENT} up to {self.lengths[-1]} positions"
            return f"{ahead}, there {ratio:.1f} times less{self._meeting(way)}"
        return f"{way}, {ATTENTION} takes longer than the {RECURRENT} from {self.lengths[0]} positions on already"

    def _meeting(self, way: str) -> str:
        """Where the fitted powers would meet, if they do beyond what was measured."""
        ours, theirs = self.time(way, ATTENTION), self.time(way, RECURRENT)
        if ours.value - theirs.value <= 2 * math.hypot(ours.error, theirs.error):
            return ""
        n = 2 ** ((theirs.start - ours.start) / (ours.value - theirs.value))
        return f"; the fitted powers would meet at {n:.0f}, {self._widths(n)}"

    def _widths(self, length: float) -> str:
        return f"{length / self.width:.1f} times the width"

    def _cells(self, way: str, length: int) -> list[str]:
        found = [self.layer(way, length, name) for name in self.layers]
        times = [_milliseconds(one["seconds"], one["error"]) for one in found]
        return [*times, *("-" if one["bytes"] is None else f"{one['bytes'] / 2**20:.1f}" for one in found)]

    def _decide(self) -> Verdict:
        """Whether time grows as the formulas say: see docs/reports.md."""
        said = []
        near = steeper = True
        for way in PASSES:
            lines = {name: self.time(way, name) for name in self.layers}
            for name, line in lines.items():
                near &= abs(line.value - self.expected(name)) <= max(2 * line.error, NEAR)
                rise = lines[ATTENTION].value - line.value
                steeper &= name == ATTENTION or rise > 2 * math.hypot(line.error, lines[ATTENTION].error)
            powers = ", ".join(f"{name} n^{line.value:.2f}" for name, line in lines.items())
            said.append(f"{way}, times grow as {powers}")
        formulas = ", ".join(f"{name} n^{self.expected(name):.2f}" for name in self.layers)
        reason = f"{'; '.join(said)}; the formulas say {formulas}"
        if not steeper:
            return Verdict(
                "not reproduced", f"{ATTENTION} does not grow faster than both others, beyond twice the error; {reason}"
            )
        return Verdict("reproduced" if near else "reproduced in part", reason)


def _milliseconds(seconds: float, error: float) -> str:
    """A time with twice its error, in three digits or more."""
    decimals = max(0, 2 - math.floor(math.log10(1e3 * seconds)))
    return f"{1e3 * seconds:.{decimals}f} ± {2e3 * error:.{decimals}f}"


def _power(line: Slope | None) -> str:
    return "-" if line is None else f"{line.value:.2f} ± {2 * line.error:.2f}"


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = []
    for way in PASSES:
        lines += [f"{way}, width {found.width}, median ± twice its standard error", *aligned(found.table(way)), ""]
    return "\n".join([*lines, *map(found.crossing, PASSES), *ending(found.verdict, content)])
