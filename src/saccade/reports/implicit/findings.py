"""What the rows of the report `implicit` come to: shares on the word that decides, how far is reached, the verdict."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from saccade.reports.difference import spread, unpacked_shares
from saccade.reports.implicit.measuring import ATTENTION, DISTANCES, JACOBIAN, STEPS, WORD
from saccade.reports.pages import COSTS, aligned, costs, ending
from saccade.reports.resampling import between
from saccade.reports.scoring import SENTENCES, by_model
from saccade.reports.statistics import Estimate, judged
from saccade.reports.verdict import Claim, Verdict, both_bars, conclude, nothing

__all__ = ["ATTENDS", "STEP", "WITHOUT", "Findings", "summary"]

ATTENDS, WITHOUT = "rnnsearch", ("encoder-decoder", "bytenet")
STEP = STEPS[1]
LEARNED = 0.5  # of targets right: what moves the outputs of a model that gets fewer is not what they hang on


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows = by_model(content["rows"])
        self.first: dict[str, Any] = content["rows"][0]
        self.gains = self._gains()
        self.said = judged(list(self.gains.values()))
        self.verdict = self._decide()

    def ways(self, name: str) -> list[str]:
        """What of a model was asked."""
        return [way for way in (JACOBIAN, ATTENTION) if way in self.rows[name][0]["ways"]]

    def each(self, name: str, way: str, what: str) -> list[list[float]]:
        """A share of each sentence, a row a seed."""
        return [unpacked_shares(row["ways"][way][what]) for row in self.rows[name]]

    def right(self, name: str) -> list[float]:
        """The share of targets that a model has right, a seed each."""
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
        header = ["model", "what is asked", "targets right", "on the word", "most on the word", "on the very digit"]
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
        parts = zip(self.gains.items(), self.said, strict=True)
        return [
            ["claim", "difference, points", "verdict"],
            *([text, gain.short(), said] for (text, gain), said in parts),
        ]

    @property
    def note(self) -> str:
        """What ± is."""
        return both_bars(SENTENCES, len(self.rows[ATTENDS]))

    def _gains(self) -> dict[str, Estimate]:
        """By how much more of a model that attends is on the word, in each way, by what is claimed of it."""
        return {
            f"more of {ATTENDS}'s {told} is on the word that decides than of {other}'s Jacobian": between(
                self.each(ATTENDS, way, "share"), self.each(other, JACOBIAN, "share"), of=SENTENCES
            )
            for way, told in ((JACOBIAN, "Jacobian"), (ATTENTION, "attention"))
            for other in WITHOUT
        }

    def _decide(self) -> Verdict:
        """Whether all that is claimed holds: see docs/reports.md."""
        right = {name: statistics.fmean(self.right(name)) for name in (ATTENDS, *WITHOUT)}
        few = [f"{name} {100 * share:.1f}%" for name, share in right.items() if share < LEARNED]
        if few:
            reason = f"of models that have learned little it says little what moves them: right are {', '.join(few)}"
            return nothing(f"{reason}; train them longer")
        return conclude([Claim(text, gain, gain.long()) for text, gain in self.gains.items()])


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    tables: Sequence[tuple[str, list[list[str]]]] = (
        ("what moves outputs, or is attended to, in percent", found.table()),
        (f"shares beyond {STEP} steps, in percent, by characters in the source", found.reach()),
        ("how often the word is found, in percent, by its distance in steps", found.by_distance()),
    )
    lines = [line for title, table in tables for line in (title, *aligned(table), "")]
    return "\n".join([*lines, found.note, *ending(found.verdict, content)])
