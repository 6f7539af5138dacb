"""What the rows of the report `objects` come to: scores by the number of things, lines through them, the verdict."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.reports.difference import Difference, spread, unpacked, unpacked_counts
from saccade.reports.pages import COSTS, aligned, costs, ending
from saccade.reports.slope import Point, fit
from saccade.reports.verdict import NOTHING, Verdict, together

__all__ = ["ATTENTION", "BARS", "EXACT", "FIXED", "NAMED", "Claim", "Findings", "summary"]

ATTENTION, FIXED = "show-attend-and-tell", ("show-and-tell", "m-rnn")
EXACT, NAMED = "exact match", "things named"
BARS = "± of a score is its standard deviation over seeds, of a difference or a slope twice its standard error"
"""What stands behind numbers in tables."""
_Rates = list[list[float]]  # a row a seed, a number an image


@dataclass(frozen=True)
class Claim:
    """That something changes with the number of things.

    Args:
        text: what is claimed.
        slope: what is to be above 0, with one thing more; None of a single number of things.
    """

    text: str
    slope: Difference | None

    @property
    def told(self) -> str:
        """The slope in words."""
        return "too few images to fit a line" if self.slope is None else self.slope.text()


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        names = dict.fromkeys(row["model"] for row in content["rows"])
        self.rows = {name: [row for row in content["rows"] if row["model"] == name] for name in names}
        self.things = unpacked_counts(content["rows"][0]["things"])
        self.groups = sorted(set(self.things))
        self._places = {
            group: [place for place, count in enumerate(self.things) if group in (None, count)]
            for group in (None, *self.groups)
        }
        pairs = [(name, key) for name in self.rows for key in (EXACT, NAMED)]
        self._known = {(name, key): [_scores(row, key) for row in self.rows[name]] for name, key in pairs}
        self.claims = [claim for name in FIXED if name in self.rows for claim in self._claims(name)]
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

    def score(self, name: str, key: str, group: int | None = None) -> Difference:
        """A score, as its difference from nothing."""
        found = self.rates(name, key, group)
        return Difference.between(found, [[0.0] * len(row) for row in found])

    def gain(self, fixed: str, key: str, group: int, better: str = ATTENTION) -> Difference:
        """By how much the model with attention is better about images of so many things."""
        return Difference.between(self.rates(better, key, group), self.rates(fixed, key, group))

    def slope(self, key: str, one: str, other: str | None = None) -> Difference | None:
        r"""How much a score, or the difference of two, changes with one thing more, by least squares.

        .. math:: b = \frac{\sum_i (n_i - \bar n)\, y_i}{\sum_i (n_i - \bar n)^2}

        over images i of \(n_i\) things. Its error by images is that of the groups' scores, its error by seeds that of
        the mean of one line a seed.
        """
        found = [
            self.score(one, key, group) if other is None else self.gain(other, key, group, one)
            for group in self.groups
        ]
        line = fit([self._point(group, own.mean, own.images) for group, own in zip(self.groups, found, strict=True)])
        if line is None:
            return None
        each = [self._slopes(name, key) for name in (one, other) if name is not None]
        several = min(map(len, each)) > 1
        seeds = math.sqrt(sum(statistics.variance(own) / len(own) for own in each)) if several else None
        return Difference(line.value, seeds, line.error)

    def table(self, key: str) -> list[list[str]]:
        """Header, a row a number of things, and the slopes."""
        fixed = [name for name in FIXED if name in self.rows]
        body = []
        for group in self.groups:
            scores = [spread([statistics.fmean(row) for row in self.rates(name, key, group)]) for name in self.rows]
            gains = [self.gain(name, key, group).short() for name in fixed]
            body.append([str(group), str(self.images(group)), *scores, *gains])
        slopes = [self.slope(key, name) for name in self.rows] + [self.slope(key, ATTENTION, name) for name in fixed]
        last = ["with one thing more", "", *("-" if one is None else one.short() for one in slopes)]
        return [["things", "images", *self.rows, *(f"attention − {name}" for name in fixed)], *body, last]

    def models(self) -> list[list[str]]:
        """Header, and a row a model: its scores on all test images in percent, and what it cost."""
        body = []
        for name in self.rows:
            scores = [spread([statistics.fmean(row) for row in self.rates(name, key)]) for key in (EXACT, NAMED)]
            body.append([name, *scores, *costs(self.content, name)])
        return [["model", f"{EXACT}, %", f"{NAMED}, %", *COSTS], *body]

    def claimed(self) -> list[list[str]]:
        """Header, and a row a claim: the slope, and what follows."""
        body = [[one.text, one.told, self.said(one)] for one in self.claims]
        return [["claim", "with one thing more", "verdict"], *body]

    def said(self, claim: Claim) -> str:
        """What the numbers say of one of all claims; one seed decides nothing."""
        return "not decided" if claim.slope is None else claim.slope.among(len(self.claims))

    def learned(self, name: str) -> bool:
        """Whether a model gets sentences right, beyond twice the error; of one seed the images' error counts."""
        found = self.score(name, EXACT)
        return found.mean > 2 * found.known

    def _point(self, group: int, score: float, error: float) -> Point:
        count = self.images(group)
        return Point(group, score, error if count > 1 else None, count)

    def _slopes(self, name: str, key: str) -> list[float]:
        """The slope of each seed."""
        each = zip(*(self.rates(name, key, group) for group in self.groups), strict=True)
        lines = [
            fit([self._point(group, statistics.fmean(own), 0.0) for group, own in zip(self.groups, seed, strict=True)])
            for seed in each
        ]
        return [line.value for line in lines if line is not None]

    def _claims(self, fixed: str) -> list[Claim]:
        """What is claimed of a model that is told of an image by a fixed vector."""
        falls = self.slope(EXACT, fixed)
        less = None if falls is None else Difference(-falls.mean, falls.seeds, falls.images)
        return [
            Claim(f"{fixed} gets fewer sentences right", less),
            *(
                Claim(f"attention gains more {key} over {fixed}", self.slope(key, ATTENTION, fixed))
                for key in (EXACT, NAMED)
            ),
        ]

    def _decide(self) -> Verdict:
        """Whether all that is claimed holds: see docs/reports.md."""
        if not any(map(self.learned, self.rows)):
            return NOTHING
        told = [f"{claim.text}: {self.said(claim)}, {claim.told}" for claim in self.claims]
        if len(self.rows[ATTENTION]) == 1:
            told.insert(0, "one seed decides nothing")
        return Verdict(together([self.said(claim) for claim in self.claims]), "with one thing more " + "; ".join(told))


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
        lines += [f"{key} on test in percent: {BARS}", *aligned(found.table(key)), ""]
    return "\n".join([*lines, *ending(found.verdict, content)])
