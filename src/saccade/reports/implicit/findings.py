"""What the rows of the report `implicit` come to: shares on the word that decides, how far is reached, the verdict."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.reports.difference import spread, unpacked_shares
from saccade.reports.implicit.interval import Gap, between, judged
from saccade.reports.implicit.measuring import ATTENTION, DISTANCES, JACOBIAN, STEPS, WORD
from saccade.reports.pages import COSTS, aligned, costs, ending
from saccade.reports.verdict import Verdict, together

__all__ = ["ATTENDS", "BARS", "STEP", "WITHOUT", "Claim", "Findings", "summary"]

ATTENDS, WITHOUT = "rnnsearch", ("encoder-decoder", "bytenet")
STEP = STEPS[1]
LEARNED = 0.5  # of dates right: what moves the outputs of a model that gets fewer is not what they hang on
BARS = "± is the standard deviation over seeds"


@dataclass(frozen=True)
class Claim:
    """One part of what is claimed: that a difference is above 0.

    Args:
        text: it, in words.
        found: the difference.
    """

    text: str
    found: Gap


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        names = dict.fromkeys(row["model"] for row in content["rows"])
        self.rows = {name: [row for row in content["rows"] if row["model"] == name] for name in names}
        self.first: dict[str, Any] = content["rows"][0]
        self.claims = self._claims()
        self.said = judged([claim.found for claim in self.claims])
        self.verdict = self._decide()

    def ways(self, name: str) -> list[str]:
        """What of a model was asked."""
        return [way for way in (JACOBIAN, ATTENTION) if way in self.rows[name][0]["ways"]]

    def each(self, name: str, way: str, what: str) -> list[list[float]]:
        """A share of each sentence, a row a seed."""
        return [unpacked_shares(row["ways"][way][what]) for row in self.rows[name]]

    def right(self, name: str) -> list[float]:
        """The share of dates that a model has right, a seed each."""
        runs = [run for run in self.content["runs"].values() if run["model"] == name]
        return [run["metrics"]["exact_match"] for run in runs]

    def table(self) -> list[list[str]]:
        """Header, and a row for each model and way, in percent."""
        body = []
        for name in self.rows:
            for way in self.ways(name):
                means = [
                    [statistics.fmean(row) for row in self.each(name, way, what)]
                    for what in ("share", "found", "digit")
                ]
                body.append([name, way, spread(self.right(name)), *map(spread, means)])
        even = f"{100 * self.first['even']:.2f}"
        header = ["model", "what is asked", "dates right", "on the word", "most on the word", "on the very digit"]
        return [header, *body, ["an even share", "", "", even, "", ""]]

    def groups(self) -> list[str]:
        """Groups of lengths, the shortest first."""
        return list(self.first["lengths"])

    def beyond(self, name: str, way: str, group: str, least: int = STEP) -> list[float]:
        """The share that is more steps away than `least`, a seed each."""
        return [row["ways"][way]["beyond"][group][str(least)] for row in self.rows[name]]

    def reach(self, least: int = STEP) -> list[list[str]]:
        """Header, and a row for each model and way: shares beyond some steps, in percent, by the source's length."""
        groups = self.groups()
        body = [
            [name, way, *(spread(self.beyond(name, way, group, least)) for group in groups)]
            for name in self.rows
            for way in self.ways(name)
        ]
        word = [f"{100 * self.beyond(ATTENDS, WORD, group, least)[0]:.2f}" for group in groups]
        return [["model", "what is asked", *groups], *body, ["the word that decides", "", *word]]

    def near(self, name: str, way: str, distance: str) -> list[float]:
        """How often the largest weight is on a word that is so far away, a seed each; none where there is none."""
        counts = [row["ways"][way]["near"].get(distance) for row in self.rows[name]]
        return [right / count for right, count in filter(None, counts)]

    def distances(self) -> list[str]:
        """Groups of distances that there are."""
        return [name for name in DISTANCES if name in self.first["ways"][JACOBIAN]["near"]]

    def by_distance(self) -> list[list[str]]:
        """Header, and a row for each model and way: how often the word is found, in percent, by its distance."""
        names = self.distances()
        body = [
            [name, way, *(spread(self.near(name, way, distance)) for distance in names)]
            for name in self.rows
            for way in self.ways(name)
        ]
        return [["model", "what is asked", *names], *body]

    def models(self) -> list[list[str]]:
        """Header, and a row a model: what it cost."""
        return [["model", *COSTS], *([name, *costs(self.content, name)] for name in self.rows)]

    def claimed(self) -> list[list[str]]:
        """Header, and a row a claim: the difference in points, and what follows."""
        body = [[one.text, one.found.short(), said] for one, said in zip(self.claims, self.said, strict=True)]
        return [["claim", "difference, points", "verdict"], *body]

    def _claims(self) -> list[Claim]:
        claims = []
        for way, told in ((JACOBIAN, "Jacobian"), (ATTENTION, "attention")):
            for other in WITHOUT:
                text = f"more of {ATTENDS}'s {told} is on the word that decides than of {other}'s Jacobian"
                claims.append(
                    Claim(text, between(self.each(ATTENDS, way, "share"), self.each(other, JACOBIAN, "share")))
                )
        return claims

    def _decide(self) -> Verdict:
        """Whether all that is claimed holds: see docs/reports.md."""
        right = {name: statistics.fmean(self.right(name)) for name in (ATTENDS, *WITHOUT)}
        few = [f"{name} {100 * share:.1f}%" for name, share in right.items() if share < LEARNED]
        if few:
            reason = f"of models that have learned little it says little what moves them: right are {', '.join(few)}"
            return Verdict("nothing can be concluded", f"{reason}; train them longer")
        parts = zip(self.claims, self.said, strict=True)
        told = [f"{claim.text}: {said}, {claim.found.short()} points" for claim, said in parts]
        if len(self.rows[ATTENDS]) == 1:
            told.insert(0, "one seed decides nothing")
        return Verdict(together(self.said), "; ".join(told))


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    tables: Sequence[tuple[str, list[list[str]]]] = (
        (f"what moves outputs, or is attended to, in percent: {BARS}", found.table()),
        (f"shares beyond {STEP} steps, in percent, by characters in the source", found.reach()),
        ("how often the word is found, in percent, by its distance in steps", found.by_distance()),
    )
    lines = [line for title, table in tables for line in (title, *aligned(table), "")]
    return "\n".join([*lines, *ending(found.verdict, content)])
