"""What the rows of the report `objects` come to: scores by the number of things, lines through them, the verdict."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.reports.difference import spread, unpacked, unpacked_counts
from saccade.reports.pages import COSTS, aligned, costs, ending
from saccade.reports.resampling import Cell, between, contrast
from saccade.reports.scoring import by_model
from saccade.reports.slope import weights
from saccade.reports.statistics import Estimate, Result, judged
from saccade.reports.verdict import NOTHING, Verdict, both_bars, conclude, together
from saccade.reports.verdict import Claim as Part

__all__ = ["ATTENTION", "EXACT", "FIXED", "LEARNED", "NAMED", "Claim", "Findings", "summary"]

ATTENTION, FIXED = "show-attend-and-tell", ("show-and-tell", "m-rnn")
EXACT, NAMED = "exact match", "things named"
LEARNED = 0.5
"""Share of the things that a model has to name where there are fewest: of one that does not, nothing can fall."""
_Rates = list[list[float]]  # a row a seed, a number an image


@dataclass(frozen=True)
class Claim:
    """That something changes with the number of things.

    Args:
        text: what is claimed.
        slope: what is to be above 0, with one thing more; None of a single number of things.
        fixed: the model with a fixed vector of which it is claimed.
    """

    text: str
    slope: Estimate | None
    fixed: str

    @property
    def told(self) -> str:
        """The slope in words."""
        return "too few images to fit a line" if self.slope is None else self.slope.long()


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows = by_model(content["rows"])
        self.things = unpacked_counts(content["rows"][0]["things"])
        self.groups = sorted(set(self.things))
        self._places = {
            group: [place for place, count in enumerate(self.things) if group in (None, count)]
            for group in (None, *self.groups)
        }
        pairs = [(name, key) for name in self.rows for key in (EXACT, NAMED)]
        self._known = {(name, key): [_scores(row, key) for row in self.rows[name]] for name, key in pairs}
        self.fixed = [name for name in FIXED if name in self.rows]
        self.claims = [claim for name in self.fixed for claim in self._claims(name)]
        self.verdict = self._decide()

    def images(self, group: int) -> int:
        """How many images show so many things."""
        return len(self._places[group])

    def rates(self, name: str, key: str, group: int | None = None) -> _Rates:
        """Whether all is said and true of each image, or which share of its things is named; a row a seed.

        Args:
            name: of the model.
            key: `EXACT` or `NAMED`.
            group: the number of things; None for all images.
        """
        return [[scores[place] for place in self._places[group]] for scores in self._known[name, key]]

    def score(self, name: str, key: str, group: int | None = None) -> Estimate:
        """A score with its errors."""
        return contrast([Cell(name, self.rates(name, key, group))], "images")

    def gain(self, fixed: str, key: str, group: int, better: str = ATTENTION) -> Estimate:
        """By how much the model with attention is better about images of so many things."""
        return between(self.rates(better, key, group), self.rates(fixed, key, group))

    def slope(self, key: str, one: str, other: str | None = None) -> Estimate | None:
        r"""How much a score, or the difference of two, changes with one thing more, by least squares.

        .. math:: b = \frac{\sum_i (n_i - \bar n)\, y_i}{\sum_i (n_i - \bar n)^2}

        over images i of \(n_i\) things. It varies with the images of each number of things, and with the seeds.
        """
        groups = [group for group in self.groups if self.images(group) > 1]
        each = weights(groups, [self.images(group) for group in groups])
        if each is None:
            return None
        signs = {one: 1.0, **({} if other is None else {other: -1.0})}
        cells = [
            Cell(name, self.rates(name, key, group), sign * weight, group)
            for group, weight in zip(groups, each, strict=True)
            for name, sign in signs.items()
        ]
        return contrast(cells, "images")

    def table(self, key: str) -> list[list[str]]:
        """Header, a row a number of things, and the slopes."""
        body = []
        for group in self.groups:
            scores = [spread([statistics.fmean(row) for row in self.rates(name, key, group)]) for name in self.rows]
            gains = [self.gain(name, key, group).short() for name in self.fixed]
            body.append([str(group), str(self.images(group)), *scores, *gains])
        slopes = [self.slope(key, name) for name in self.rows]
        slopes += [self.slope(key, ATTENTION, name) for name in self.fixed]
        last = ["with one thing more", "", *("-" if one is None else one.short() for one in slopes)]
        return [["things", "images", *self.rows, *(f"attention − {name}" for name in self.fixed)], *body, last]

    def models(self) -> list[list[str]]:
        """Header, and a row a model: its scores on all test images in percent, and what it cost."""
        body = []
        for name in self.rows:
            scores = [spread([statistics.fmean(row) for row in self.rates(name, key)]) for key in (EXACT, NAMED)]
            body.append([name, *scores, *costs(self.content, name)])
        return [["model", f"{EXACT}, %", f"{NAMED}, %", *COSTS], *body]

    def claimed(self) -> list[list[str]]:
        """Header, and a row a claim: the slope, and what follows."""
        known = {one.text: one.slope for one in self.counted() if one.slope is not None}
        results: dict[str, str] = dict(zip(known, judged([*known.values()]), strict=True))
        asked = {one.text for one in self.counted()}
        body = [
            [one.text, one.told, results.get(one.text, "not decided" if one.text in asked else "nothing learned")]
            for one in self.claims
        ]
        return [["claim", "with one thing more", "verdict"], *body]

    @property
    def note(self) -> str:
        """What ± is."""
        return both_bars("images", len(self.rows[ATTENTION]))

    def learned(self, name: str) -> bool:
        """Whether a model gets sentences right, by the 95% interval; of one seed that of images counts."""
        return self.score(name, EXACT).known.beyond() > 0

    def begun(self, fixed: str) -> bool:
        """Whether a model names most things where there are fewest, without which nothing of it can fall."""
        rates = self.rates(fixed, NAMED, self.groups[0])
        return statistics.fmean(statistics.fmean(row) for row in rates) > LEARNED

    def counted(self) -> list[Claim]:
        """The claims beside models that have learned to name the fewest things."""
        return [claim for claim in self.claims if self.begun(claim.fixed)]

    def _claims(self, fixed: str) -> list[Claim]:
        """What is claimed of a model that is told of an image by a fixed vector."""
        falls = self.slope(EXACT, fixed)
        less = None if falls is None else falls.times(-1.0)
        return [
            Claim(f"{fixed} gets fewer sentences right", less, fixed),
            *(
                Claim(f"attention gains more {key} over {fixed}", self.slope(key, ATTENTION, fixed), fixed)
                for key in (EXACT, NAMED)
            ),
        ]

    def _decide(self) -> Verdict:
        """Whether all that is claimed holds: see docs/reports.md."""
        if not any(map(self.learned, self.rows)):
            return NOTHING
        known = [Part(one.text, one.slope, one.told) for one in self.counted() if one.slope is not None]
        without = [name for name in self.fixed if not self.begun(name)]
        least = f"at most {LEARNED:.0%} of the things named where there are fewest"
        left = f"nothing is concluded beside {' and '.join(without)}: {least}"
        if without == self.fixed:
            return Verdict("not decided", left)
        missing: list[Result] = ["not decided"] if without else []
        verdict = conclude(known, lambda results: together([*results, *missing]))
        if len(known) < len(self.counted()):
            return Verdict("not decided", "there are too few images to fit a line")
        return Verdict(verdict.result, f"with one thing more {verdict.reason}{f'; {left}' if without else ''}")


def _scores(row: Mapping[str, Any], key: str) -> Sequence[float]:
    """A number an image."""
    if key == EXACT:
        return unpacked(row["right"], row["images"])
    pairs = zip(unpacked_counts(row["named"]), unpacked_counts(row["things"]), strict=True)
    return [named / things for named, things in pairs]


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = []
    for key in (EXACT, NAMED):
        lines += [f"{key} on test in percent", *aligned(found.table(key)), ""]
    return "\n".join([*lines, found.note, *ending(found.verdict, content)])
