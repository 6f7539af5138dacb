"""What the rows of the report `length` come to: scores by length, lines through them, and the verdict."""

from collections.abc import Mapping, Sequence
from typing import Any

from saccade.reports.length.buckets import FEW
from saccade.reports.length.verdict import decide
from saccade.reports.pages import aligned, ending, sentence
from saccade.reports.scoring import Score, digits, mean, metric_name, sign
from saccade.reports.slope import Point, Slope, fit
from saccade.reports.verdict import NOTHING

__all__ = ["FEW_NOTE", "Findings", "summary"]

FEW_NOTE = f"fewer than {FEW} sentences: one more or less would move the score"


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, with the rows of two models or more, the one with attention first.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows: list[dict[str, Any]] = sorted(content["rows"], key=lambda row: row["length"])
        self.models = list(dict.fromkeys(run["model"] for run in content["runs"].values()))
        self.groups = list(dict.fromkeys(row["lengths"] for row in self.rows))
        self.unit, self.metric = str(self.rows[0]["unit"]), str(self.rows[0]["metric"])
        self.scores = {model: [self._score(model, group) for group in self.groups] for model in self.models}
        self.slopes = {model: fit(self._points(scores)) for model, scores in self.scores.items()}
        attention, none = self.models[:2]
        pairs = zip(self.scores[attention], self.scores[none], strict=True)
        self.gain = fit(self._points([with_it - without for with_it, without in pairs]))
        learned = any(sign(score) > 0 for scores in self.scores.values() for score in scores)
        self.verdict = decide(self.slopes[attention], self.slopes[none], self.gain) if learned else NOTHING

    @property
    def name(self) -> str:
        """What the metric is called."""
        return metric_name(self.metric)

    @property
    def heading(self) -> str:
        """What all of it is about."""
        return sentence(f"{self.name} by length of the source")

    @property
    def digits(self) -> int:
        """Decimals that say something."""
        return digits(self.metric)

    def first(self, group: str) -> dict[str, Any]:
        """Any row of a group of lengths: its sentences are the same for all models."""
        return next(row for row in self.rows if row["lengths"] == group)

    def _score(self, model: str, group: str) -> Score:
        return mean([row for row in self.rows if (row["model"], row["lengths"]) == (model, group)])

    def _points(self, scores: Sequence[Score]) -> list[Point]:
        """Scores of all groups, over their lengths."""
        rows = [self.first(group) for group in self.groups]
        return [Point(row["length"], s.value, s.error, row["sentences"]) for row, s in zip(rows, scores, strict=True)]

    def change(self, line: Slope | None) -> str:
        """A line's change over ten units of length, with twice its error."""
        if line is None:
            return "-"
        change = round(10 * line.value, self.digits) + 0.0  # not -0.0
        return f"{change:+.{self.digits}f} ± {20 * line.error:.{self.digits}f}"

    def table(self) -> list[list[str]]:
        """Header, a row a group of lengths, and the slopes."""
        body = []
        for place, group in enumerate(self.groups):
            row = self.first(group)
            scores = [self.scores[model][place].text(self.digits) for model in self.models]
            body.append([f"{group}{' *' if row['few'] else ''}", str(row["sentences"]), *scores])
        slopes = [f"change in 10 {self.unit}", "", *(self.change(self.slopes[model]) for model in self.models)]
        return [[f"{self.unit} in the source", "sentences", *self.models], *body, slopes]


def summary(content: Mapping[str, Any]) -> str:
    """Return the table and the verdict as text for a terminal."""
    found = Findings(content)
    lines = [f"{found.name} on test by length of the source, ± twice the standard error", *aligned(found.table())]
    if any(row["few"] for row in found.rows):
        lines.append(f"* {FEW_NOTE}")
    lines.append(f"gain by attention, change in 10 {found.unit}: {found.change(found.gain)}")
    return "\n".join([*lines, *ending(found.verdict, content)])
