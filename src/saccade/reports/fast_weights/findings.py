"""What the rows of the report `fast-weights` come to: how layers move with the input, what is recalled, the verdict."""

from collections.abc import Mapping, Sequence
from typing import Any

from saccade.reports.fast_weights.layers import ATTENTION, FIXED, LAYERS
from saccade.reports.fast_weights.recall import VALUES
from saccade.reports.pages import aligned, ending
from saccade.reports.resampling import over_seeds
from saccade.reports.statistics import Estimate, Exact
from saccade.reports.verdict import Claim, conclude

__all__ = ["EXACT", "FAILED", "SOLVED", "Findings", "summary"]

EXACT = 1e-12
"""What counts as rounding in float64."""
SOLVED, FAILED = 0.9, 0.5
"""Shares of the questions that have to be answered right for the task to be solved, and below which it is not."""

_GUESS = "a guess of the pairs' values"


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.layers = [name for name in LAYERS if self._rows(name)]
        self.pairs = [int(count) for count in self._rows(ATTENTION)[0]["pairs"]]
        self.claims = self._claims()
        self.verdict = conclude(self.claims)

    def right(self, name: str, pairs: int) -> Estimate:
        """The share of questions that are answered right."""
        return over_seeds([row["pairs"][str(pairs)] for row in self._rows(name)])

    def measured(self, name: str, what: str) -> Estimate:
        """One measurement of a layer: "variation" or "distance"."""
        return over_seeds(self._values(name, what))

    def shown(self, name: str) -> list[list[list[float]]]:
        """How strongly positions read each other in a few inputs, of the first seed."""
        found: list[list[list[float]]] = self._rows(name)[0]["shown"]
        return found

    def table(self) -> list[list[str]]:
        """Header, and a row a layer: how many in 100 questions are answered right, by the number of pairs."""
        body = [[name, *(self.right(name, count).times(100).text(1) for count in self.pairs)] for name in self.layers]
        guesses = [f"{100 * (1 + (count - 1) / VALUES) / count:.1f}" for count in self.pairs]
        return [["layer", *(f"{count} pairs" for count in self.pairs)], *body, [_GUESS, *guesses]]

    def matrices(self) -> list[list[str]]:
        """Header, and a row a layer: what its weights are, and how they vary from input to input."""
        body = []
        for name in self.layers:
            varied = self.measured(name, "variation")
            told = varied.text(3) if varied.value > EXACT else f"0, to {self._most([name], 'variation'):.0e}"
            body.append([name, LAYERS[name].told, told, f"{self._most([name], 'distance'):.0e}"])
        return [["layer", "its weights", "variation", "distance of M(x) x"], *body]

    def _rows(self, name: str) -> list[Mapping[str, Any]]:
        return [row for row in self.content["rows"] if row["model"] == name]

    def _values(self, name: str, what: str) -> list[float]:
        return [row[what] for row in self._rows(name)]

    def _most(self, names: Sequence[str], what: str) -> float:
        """The largest measurement of several layers in any seed."""
        return max(max(self._values(name, what)) for name in names)

    def _claims(self) -> list[Claim]:
        most = self.pairs[-1]
        far = self._most(self.layers, "distance")
        fixed = [name for name in FIXED if name in self.layers]
        still = self._most(fixed, "variation")
        varied, right = self.measured(ATTENTION, "variation"), self.right(ATTENTION, most)
        claims = [
            Claim("every layer is a matrix, of its input, times it", Exact(far <= EXACT), f"within {far:.0e}"),
            Claim("a convolution's is the same for every input", Exact(still <= EXACT), f"to {still:.0e}"),
            Claim("attention's varies", varied, f"by {varied.text(3)}"),
            Claim(f"attention answers more than {SOLVED:.0%} of {most} pairs", right.less(SOLVED), _told(right)),
        ]
        for name in fixed:
            right = self.right(name, most)
            short = right.times(-1).less(-FAILED)
            claims.append(Claim(f"{name} answers less than {FAILED:.0%}", short, _told(right)))
        return claims


def _told(right: Estimate) -> str:
    return f"{right.times(100).text(1)}%"


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = ["answered right in percent, by the number of pairs", *aligned(found.table()), ""]
    return "\n".join([*lines, *aligned(found.matrices()), "", *ending(found.verdict, content)])
