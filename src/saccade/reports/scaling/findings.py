"""What the rows of the report `scaling` come to: times, operations, powers of the pixels, errors, and the verdict."""

import statistics
from collections.abc import Mapping
from typing import Any

from saccade.reports.eyes import wrong_shares
from saccade.reports.growth import MEASURING, Power, exponent, milliseconds, timed
from saccade.reports.pages import aligned, ending
from saccade.reports.resampling import between
from saccade.reports.scaling.answering import HARD, MODELS, SOFT
from saccade.reports.scoring import by_model
from saccade.reports.statistics import Estimate, Part
from saccade.reports.verdict import Claim, Verdict, bars, conclude

__all__ = ["NEAR", "Findings", "summary"]

NEAR = 0.1  # a power of the pixels: sixteen times as many take 1.3 times as long
_LONG = 4  # the long end: sides of a fourth of the longest or more, three at the least


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.timed = {row["side"]: row["models"] for row in content["rows"] if row["measured"] == "time"}
        self.sides = sorted(self.timed)
        self.rounds = {row["side"]: row["rounds"] for row in content["rows"] if row["measured"] == "time"}
        self.models = [name for name in MODELS if name in self.timed[self.sides[0]]]
        self.long = [side for side in self.sides if side * _LONG >= self.sides[-1]]
        if len(self.long) < 3:
            self.long = self.sides[-3:]
        self.tried = [row for row in content["rows"] if row["measured"] == "size"]
        self.verdict = self._decide()

    def time(self, name: str) -> Power:
        """The power of the pixels that a model's time grows with at the long end, as a line of logarithms."""
        found = [self.timed[side][name] for side in self.long]
        seconds, errors = ([one[key] for one in found] for key in ("seconds", "error"))
        freedoms = [self.rounds[side] - 1.0 for side in self.long]
        line = exponent(self._pixels(), seconds, errors, of="sizes", freedoms=freedoms)
        assert line is not None
        return line

    def median(self, side: int, name: str) -> Estimate:
        """Its time at one size in milliseconds, with its error."""
        found = self.timed[side][name]
        return timed(found["seconds"], found["error"], self.rounds[side])

    def operations(self, name: str) -> float:
        """The same of its operations."""
        found = [self.timed[side][name]["flops"] for side in self.long]
        line = exponent(self._pixels(), found, [0.0] * len(found))
        assert line is not None
        return line.value

    def table(self) -> list[list[str]]:
        """Header, a row a side, and the fitted powers: milliseconds of an answer."""
        body = [[str(side), *(milliseconds(self.median(side, name)) for name in self.models)] for side in self.sides]
        powers = [self.time(name).text() for name in self.models]
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
        for name, own in by_model(self.tried).items():
            sides = sorted({row["side"] for row in own})
            for side in sides:
                rows, first = ([row for row in own if row["side"] == one] for one in (side, sides[0]))
                error = f"{100 * statistics.fmean(row['error'] for row in rows):.2f}"
                shares = [[wrong_shares(row) for row in each] for each in (rows, first)]
                more = between(*shares, paired=True)
                body.append([name, str(side), error, "" if side == sides[0] else more.long()])
        return [["trained at the first size", "pixels a side", "error, %", "beside that"], *body]

    def _pixels(self) -> list[float]:
        return [float(side * side) for side in self.long]

    @property
    def note(self) -> str:
        """What ± of errors on larger canvases is."""
        return bars("images", len({row["seed"] for row in self.tried}))

    def claims(self) -> list[Claim]:
        """How each model's time grows, by more than a power of `NEAR` or by less, and what hard reads save."""
        found = []
        for name in self.models:
            if (grows := MODELS[name].grows) is not None:
                power = self.time(name)
                beyond = power.found.less(NEAR).times(1.0 if grows else -1.0)
                text = f"the time of {name} {'grows' if grows else 'does not grow'}"
                found.append(Claim(text, beyond, f"pixels^({power.text()})"))
        side = self.sides[-1]
        ours, theirs = (self.timed[side][name] for name in (HARD, SOFT))
        error, rounds = (ours["error"] ** 2 + theirs["error"] ** 2) ** 0.5, self.rounds[side]
        lead = Estimate(theirs["seconds"] - ours["seconds"], (Part(MEASURING, error, rounds - 1, rounds),))
        text = f"{HARD} takes less time than {SOFT}"
        return [*found, Claim(text, lead, f"by {lead.times(1e3).text(1)} ms at {side} pixels a side")]

    def _decide(self) -> Verdict:
        """Whether costs grow as is claimed: see docs/reports.md."""
        found = conclude(self.claims())
        return Verdict(found.result, f"{found.reason}; {self.saved()}")


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = ["milliseconds of one answer, median ± half of its 95% interval", *aligned(found.table()), ""]
    lines += ["millions of operations of one answer", *aligned(found.counted()), ""]
    lines += ["errors on larger canvases, without new weights", *aligned(found.answered()), ""]
    return "\n".join([*lines, *ending(found.verdict, content)])
