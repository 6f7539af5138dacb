"""What the rows of the report `scores` come to: scores, the steps of the order that is claimed, and the verdict."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from saccade.reports.pages import aligned, ending
from saccade.reports.scoring import Score, Trial, sign
from saccade.reports.verdict import NOTHING, Verdict

__all__ = ["ORDER", "PUBLISHED", "Findings", "summary"]

ORDER = ("none", "general", "location", "local-m", "local-p")
"""Each translated better than the one before in the paper."""
PUBLISHED: Mapping[str, tuple[float, float | None]] = {
    "none": (14.0, None),
    "location": (18.1, 19.3),
    "dot": (18.6, 20.5),
    "general": (17.3, 19.1),
    "local-m": (18.6, 20.4),
    "local-p": (19.0, 20.9),
}
"""The paper's BLEU, English to German, newstest2014, before and after unknown words were replaced: without attention of
table 1 (there without input feeding), the others of table 4; local-m and local-p score by general, as the rows here."""
_UNPUBLISHED = (None, None)
_SEEDS = 2  # the fewest that decide anything
_SAID = {1: "holds", 0: "within the error", -1: "the other way round"}


class Findings(Trial):
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.steps = [(f"{before} → {after}", self.gain(after, before)) for before, after in pairwise(ORDER)]
        self.verdict = self._decide()

    def gain(self, model: str, beside: str) -> Score:
        """By how much one is better than another, on the same sentences."""
        return self.scores[model] - self.scores[beside]

    def table(self) -> list[list[str]]:
        """Header, and a row a score."""
        none = ORDER[0]
        return self.tabled(("score", f"beside {none}"), lambda name: None if name == none else self.gain(name, none))

    def order(self) -> list[list[str]]:
        """Header, and a row a step of the order."""
        rows = [[step, gain.text(self.digits, signed=True), _SAID[sign(gain)]] for step, gain in self.steps]
        return [["step", "gain", "it"], *rows]

    def published(self) -> list[list[str]]:
        """Header, and a row a score: the paper's figures beside ours."""
        header = ["score", "paper's BLEU", "unknown words replaced", f"{self.name} here"]
        rows = []
        for name, own in self.scores.items():
            theirs = ("-" if one is None else f"{one:.1f}" for one in PUBLISHED.get(name, _UNPUBLISHED))
            rows.append([name, *theirs, own.text(self.digits)])
        return [header, *rows]

    def _decide(self) -> Verdict:
        """Which steps of the order hold: see docs/reports.md."""
        if not any(map(self.learned, ORDER)):
            return NOTHING
        signs = [sign(gain) for _, gain in self.steps]
        said = "; ".join(f"{step}: {_SAID[one]}" for (step, _), one in zip(self.steps, signs, strict=True))
        held = f"{sum(one > 0 for one in signs)} of {len(signs)} steps hold beyond twice the error ({said})"
        if len({row["seed"] for row in self.rows}) < _SEEDS:
            return Verdict("not decided", f"one seed decides nothing, for its chance is in no error; {held}")
        if all(one > 0 for one in signs):
            return Verdict("reproduced", f"every step is better than the one before beyond twice the error ({said})")
        return Verdict("contradicted" if -1 in signs else "not decided", held)


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = [f"{found.name} on test, ± twice the standard error", *aligned(found.table()), "", *aligned(found.order())]
    return "\n".join([*lines, *ending(found.verdict, content)])
