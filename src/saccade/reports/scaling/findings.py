"""What the rows of the report `scaling` come to: times, operations, powers of the pixels, errors, and the verdict."""

import statistics
from collections.abc import Mapping
from typing import Any

from saccade.reports.difference import Difference
from saccade.reports.eyes import wrong_shares
from saccade.reports.growth import exponent
from saccade.reports.pages import aligned, ending
from saccade.reports.scaling.answering import HARD, MODELS, SOFT
from saccade.reports.slope import Slope
from saccade.reports.verdict import Verdict

__all__ = ["NEAR", "Findings", "summary"]

NEAR = 0.1  # a power of the pixels: sixteen times as many take 1.3 times as long
_LONG = 4  # the long end: sides of a fourth of the longest or more, three at the least


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.timed = {row["side"]: row["models"] for row in content["rows"] if row["measured"] == "time"}
        self.sides = sorted(self.timed)
        self.models = [name for name in MODELS if name in self.timed[self.sides[0]]]
        self.long = [side for side in self.sides if side * _LONG >= self.sides[-1]]
        if len(self.long) < 3:
            self.long = self.sides[-3:]
        self.tried = [row for row in content["rows"] if row["measured"] == "size"]
        self.verdict = self._decide()

    def time(self, name: str) -> Slope:
        """The power of the pixels that a model's time grows with at the long end, as a line of logarithms."""
        found = [self.timed[side][name] for side in self.long]
        line = exponent(self._pixels(), [one["seconds"] for one in found], [one["error"] for one in found])
        assert line is not None
        return line

    def operations(self, name: str) -> float:
        """The same of its operations."""
        found = [self.timed[side][name]["flops"] for side in self.long]
        line = exponent(self._pixels(), found, [0.0] * len(found))
        assert line is not None
        return line.value

    def table(self) -> list[list[str]]:
        """Header, a row a side, and the fitted powers: milliseconds of an answer."""
        body = [[str(side), *(_milliseconds(self.timed[side][name]) for name in self.models)] for side in self.sides]
        powers = [f"{line.value:.2f} ± {2 * line.error:.2f}" for line in map(self.time, self.models)]
        return [["pixels a side", *self.models], *body, ["power of the pixels", *powers]]

    def counted(self) -> list[list[str]]:
        """Header, a row a side, and the fitted powers: millions of operations of an answer."""
        counts = {side: [self.timed[side][name]["flops"] for name in self.models] for side in self.sides}
        body = [[str(side), *(f"{count / 1e6:,.2f}" for count in own)] for side, own in counts.items()]
        powers = [f"{abs(round(self.operations(name), 2)):.2f}" for name in self.models]
        return [["pixels a side", *self.models], *body, ["power of the pixels", *powers]]

    def saved(self) -> str:
        """What hard reads of tiles save at the largest side, in words."""
        hard, soft = (self.timed[self.sides[-1]][name] for name in (HARD, SOFT))
        times, counts = soft["seconds"] / hard["seconds"], soft["flops"] / hard["flops"]
        at = f"at {self.sides[-1]} pixels a side, soft attention over tiles"
        return f"{at} takes {times:.1f} times as long as hard, and {counts:.1f} times the operations"

    def answered(self) -> list[list[str]]:
        """Header, and a row a model and size: errors in percent without new weights, and what the size has cost."""
        body = []
        for name in dict.fromkeys(row["model"] for row in self.tried):
            own = [row for row in self.tried if row["model"] == name]
            sides = sorted({row["side"] for row in own})
            for side in sides:
                rows, first = ([row for row in own if row["side"] == one] for one in (side, sides[0]))
                error = f"{100 * statistics.fmean(row['error'] for row in rows):.2f}"
                more = Difference.between(*([wrong_shares(row) for row in each] for each in (rows, first)))
                body.append([name, str(side), error, "" if side == sides[0] else more.text()])
        return [["trained at the first size", "pixels a side", "error, %", "beside that"], *body]

    def _pixels(self) -> list[float]:
        return [float(side * side) for side in self.long]

    def _decide(self) -> Verdict:
        """Whether costs grow as is claimed: see docs/reports.md."""
        results = {name: self._result(name) for name in self.models if MODELS[name].grows is not None}
        hard, soft = (self.timed[self.sides[-1]][name] for name in (HARD, SOFT))
        lead, error = soft["seconds"] - hard["seconds"], (hard["error"] ** 2 + soft["error"] ** 2) ** 0.5
        results[f"{HARD} beside {SOFT}"] = _sign(lead, error)
        told = ", ".join(f"{name} by pixels^{self.time(name).value:.2f}" for name in self.models)
        bad = [name for name, result in results.items() if result != "reproduced"]
        reason = f"times grow {told}; {self.saved()}"
        if not bad:
            return Verdict("reproduced", reason)
        against = "contradicted" in results.values()
        others = f"not as claimed, or not beyond twice the error: {', '.join(bad)}"
        return Verdict("contradicted" if against else "not decided", f"{others}; {reason}")

    def _result(self, name: str) -> str:
        """Whether a model's time grows as is claimed, by more than a power of `NEAR` or by less."""
        line = self.time(name)
        beyond = line.value - NEAR
        return _sign(beyond if MODELS[name].grows else -beyond, line.error)


def _sign(difference: float, error: float) -> str:
    if abs(difference) <= 2 * error:
        return "not decided"
    return "reproduced" if difference > 0 else "contradicted"


def _milliseconds(found: Mapping[str, float]) -> str:
    """A time with twice its error, in three digits or more."""
    decimals = max(0, 2 - len(str(int(1e3 * found["seconds"]))) + 1)
    return f"{1e3 * found['seconds']:.{decimals}f} ± {2e3 * found['error']:.{decimals}f}"


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = ["milliseconds of one answer, median ± twice its standard error", *aligned(found.table()), ""]
    lines += ["millions of operations of one answer", *aligned(found.counted()), ""]
    lines += ["errors on larger canvases, without new weights", *aligned(found.answered()), ""]
    return "\n".join([*lines, *ending(found.verdict, content)])
