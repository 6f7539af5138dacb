"""What the rows of the report `scores` come to: scores, the steps of the order that is claimed, and the verdict."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

from saccade.reports.pages import aligned, ending
from saccade.reports.scoring import SENTENCES, Score, Trial
from saccade.reports.statistics import judged
from saccade.reports.verdict import NOTHING, Claim, Verdict, bars, conclude

__all__ = ["ORDER", "PUBLISHED", "Findings", "steps", "summary"]

PUBLISHED: Mapping[str, tuple[float, float | None]] = {
    "none": (14.0, None),
    "general": (17.3, 19.1),
    "location": (18.1, 19.3),
    "dot": (18.6, 20.5),
    "local-m": (18.6, 20.4),
    "local-p": (19.0, 20.9),
}
"""The paper's BLEU, English to German, newstest2014, before and after unknown words were replaced: without attention of
table 1 (there without input feeding), the others of table 4; local-m and local-p score by general, as the rows here."""
_BESIDE: Mapping[str, tuple[float, float] | tuple[None, None]] = {
    "local-m, dot": (None, None),
    "local-p, dot": (18.0, 19.6),
}
"""Rows of table 4 that are not trained here; of the first it has no BLEU."""
ORDER = tuple(PUBLISHED)
"""Each translated better than the ones before in the paper, but dot and local-m alike."""
_UNPUBLISHED = (None, None)
_SAID = {"reproduced": "holds", "not decided": "not decided", "contradicted": "the other way round"}


def steps() -> Iterator[tuple[str, str]]:
    """Go through the steps of the paper's order: from every row to every one of the next higher figure.

    >>> [*steps()][2:4]
    [('location', 'dot'), ('location', 'local-m')]
    """
    figures = sorted({before for before, _ in PUBLISHED.values()})
    levels = [[name for name, (before, _) in PUBLISHED.items() if before == figure] for figure in figures]
    for lower, higher in pairwise(levels):
        yield from product(lower, higher)


class Findings(Trial):
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.steps = {
            f"{before} → {after}": self.gain(after, before)
            for before, after in steps()
            if {before, after} <= self.scores.keys()
        }
        self.verdict = self._decide()

    def gain(self, model: str, beside: str) -> Score:
        """By how much one is better than another, on the same sentences."""
        return self.scores[model] - self.scores[beside]

    def table(self) -> list[list[str]]:
        """Header, and a row a score."""
        none = ORDER[0]
        return self.tabled(("score", f"beside {none}"), lambda name: None if name == none else self.gain(name, none))

    def order(self) -> list[list[str]]:
        """Header, and a row a step of the order: all are judged together."""
        results = judged([gain.found for gain in self.steps.values()])
        pairs = zip(self.steps.items(), results, strict=True)
        rows = [[step, gain.text(self.digits, signed=True), _SAID[result]] for (step, gain), result in pairs]
        return [["step", "gain", "it"], *rows]

    def published(self) -> list[list[str]]:
        """Header, and a row a score: the paper's figures beside ours."""
        header = ["score", "paper's BLEU", "unknown words replaced", f"{self.name} here"]
        ours = [
            [name, *_figures(PUBLISHED.get(name, _UNPUBLISHED)), own.text(self.digits)]
            for name, own in self.scores.items()
        ]
        return [header, *ours, *([name, *_figures(theirs), "-"] for name, theirs in _BESIDE.items())]

    def _decide(self) -> Verdict:
        """Which steps of the order hold: see docs/reports.md."""
        if not any(self.learned(name) for name in ORDER if name in self.scores):
            return NOTHING
        told = ((step, gain, gain.text(self.digits, signed=True)) for step, gain in self.steps.items())
        return conclude([Claim(step, gain.found, text) for step, gain, text in told])


def _figures(published: Sequence[float | None]) -> list[str]:
    return ["-" if one is None else f"{one:.1f}" for one in published]


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = [
        f"{found.name} on test",
        *aligned(found.table()),
        bars(SENTENCES, found.seeds),
        "",
        *aligned(found.order()),
    ]
    return "\n".join([*lines, *ending(found.verdict, content)])
