"""What the rows of the report `complexity` come to: times and bytes, exponents, crossings and the verdict."""

import math
from collections.abc import Mapping
from typing import Any

from saccade.reports.complexity.layers import LAYERS, PASSES
from saccade.reports.growth import Power, crossings, exponent, milliseconds, timed
from saccade.reports.pages import aligned, ending
from saccade.reports.statistics import Estimate, Within
from saccade.reports.verdict import Claim, Verdict, conclude

__all__ = ["ATTENTION", "NEAR", "RECURRENT", "Findings", "summary"]

RECURRENT, ATTENTION = "GRU", "self-attention"
NEAR = 0.2  # by how much an exponent may differ from its formula's, for caches and what every call costs
_LONG = 4  # the long end: lengths of a fourth of the longest or more, three at the least
_SEEN = 1 << 20  # bytes: less than that is lost among the pages of a process


class Findings:
    """What the rows come to."""

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

    def median(self, way: str, length: int, name: str) -> Estimate:
        """Its time at one point in milliseconds, with its error."""
        one = self.layer(way, length, name)
        return timed(one["seconds"], one["error"], self._rounds(way, length))

    def seconds(self, way: str, name: str) -> list[float]:
        """Its times, length by length."""
        return [float(self.layer(way, length, name)["seconds"]) for length in self.lengths]

    def time(self, way: str, name: str) -> Power:
        """The power of the length that its time grows with at the long end; its distances are from its formula."""
        found = [self.layer(way, length, name) for length in self.long]
        seconds, errors = ([one[key] for one in found] for key in ("seconds", "error"))
        line = exponent(self.long, seconds, errors, self._products(name), freedoms=self._freedoms(way))
        assert line is not None
        return line

    def beside(self, way: str, name: str) -> Estimate:
        """By how much attention's exponent is above another layer's: the power of the ratio of their times, which were
        taken in turns, so that what disturbed both is in neither.
        """
        pairs = [(self.layer(way, length, ATTENTION), self.layer(way, length, name)) for length in self.long]
        ratios = [ours["seconds"] / theirs["seconds"] for ours, theirs in pairs]
        relative = [math.hypot(*(one["error"] / one["seconds"] for one in pair)) for pair in pairs]
        errors = [ratio * error for ratio, error in zip(ratios, relative, strict=True)]
        shape = [ours / theirs for ours, theirs in zip(self._products(ATTENTION), self._products(name), strict=True)]
        line = exponent(self.long, ratios, errors, shape, freedoms=self._freedoms(way))
        assert line is not None
        return line.found

    def memory(self, way: str, name: str) -> Power | None:
        """The same of its memory; None where that was not measured, or is too little to be seen."""
        found = [self.layer(way, length, name)["bytes"] for length in self.long]
        seen = all(one is not None and one >= _SEEN for one in found)
        return exponent(self.long, found, [0.0] * len(found)) if seen else None

    def _rounds(self, way: str, length: int) -> int:
        rows = self.content["rows"]
        return int(next(row["rounds"] for row in rows if (row["pass"], row["length"]) == (way, length)))

    def _freedoms(self, way: str) -> list[float]:
        """Degrees of freedom of the times at the long end."""
        return [self._rounds(way, length) - 1.0 for length in self.long]

    def _products(self, name: str) -> list[float]:
        return [LAYERS[name].products(length, self.width) for length in self.long]

    def expected(self, name: str) -> float:
        """The exponent of its formula, between the same lengths."""
        products = self._products(name)
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
            return f"{ahead} by the medians, there by a factor of {ratio:.1f}{self._meeting(way)}"
        return f"{way}, {ATTENTION} takes longer than the {RECURRENT} from {self.lengths[0]} positions on already"

    def _meeting(self, way: str) -> str:
        """Where the fitted powers would meet, if they do beyond what was measured."""
        ours, theirs = self.time(way, ATTENTION), self.time(way, RECURRENT)
        if self.beside(way, RECURRENT).beyond() < 1:
            return ""
        n = 2 ** ((theirs.line.start - ours.line.start) / (ours.value - theirs.value))
        return f"; the fitted powers would meet at {n:.0f}, {self._widths(n)}"

    def _widths(self, length: float) -> str:
        return f"{length / self.width:.1f} times the width"

    def _cells(self, way: str, length: int) -> list[str]:
        found = [self.layer(way, length, name) for name in self.layers]
        times = [milliseconds(self.median(way, length, name)) for name in self.layers]
        return [*times, *("-" if one["bytes"] is None else f"{one['bytes'] / 2**20:.1f}" for one in found)]

    def claims(self) -> list[Claim]:
        """That attention grows faster than both others, and each as its formula says, both ways."""
        found = []
        for way in PASSES:
            for name in self.layers:
                if name != ATTENTION:
                    rise = self.beside(way, name)
                    found.append(Claim(f"{way}, {ATTENTION} grows faster than {name}", rise, f"by n^({rise.text()})"))
            for name in self.layers:
                power, expected = self.time(way, name), self.expected(name)
                text = f"{way}, {name} grows as its formula, n^{expected:.2f}"
                found.append(Claim(text, Within(power.found.less(expected), NEAR), f"n^({power.text()})"))
        return found

    def _decide(self) -> Verdict:
        """Whether time grows as the formulas say: see docs/reports.md."""
        return conclude(self.claims())


def _power(line: Power | None) -> str:
    return "-" if line is None else line.text()


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = []
    for way in PASSES:
        lines += [f"{way}, width {found.width}, median ± half of its 95% interval", *aligned(found.table(way)), ""]
    return "\n".join([*lines, *map(found.crossing, PASSES), *ending(found.verdict, content)])
