"""What the rows of the report `length` come to: scores by length, lines through them, and the verdict."""

import statistics
from collections.abc import Mapping
from typing import Any

from saccade.reports.buckets import FEW
from saccade.reports.slope import Point, Slope, fit, standard_error
from saccade.reports.verdict import Verdict, decide

__all__ = ["FEW_NOTE", "Findings", "summary"]

FEW_NOTE = f"fewer than {FEW} sentences: one more or less would move the score"
_METRICS = {"bleu": "BLEU", "exact_match": "exact match", "dates_in_place": "dates right"}


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
        self.points = {model: [self._point(model, group) for group in self.groups] for model in self.models}
        self.slopes = {model: fit(points) for model, points in self.points.items()}
        attention, none = self.models[:2]
        self.gain = fit([self._gain(attention, none, group) for group in self.groups])
        if any(point.score for points in self.points.values() for point in points):
            self.verdict = decide(self.slopes[attention], self.slopes[none], self.gain)
        else:
            self.verdict = Verdict("nothing can be concluded", "no model got anything right; train them longer")

    @property
    def name(self) -> str:
        """What the metric is called."""
        return _METRICS.get(self.metric, self.metric)

    @property
    def heading(self) -> str:
        """What all of it is about."""
        text = f"{self.name} by length of the source"
        return text[:1].upper() + text[1:]

    @property
    def data(self) -> str:
        """The corpus, as it was named on the command line."""
        return str(self.content["data"])

    @property
    def digits(self) -> int:
        """Decimals that say something: a fraction needs more than a score between 0 and 100."""
        return 2 if self.metric == "bleu" else 4

    def first(self, group: str) -> dict[str, Any]:
        """Any row of a group of lengths: its sentences are the same for all models."""
        return next(row for row in self.rows if row["lengths"] == group)

    def _point(self, model: str, group: str) -> Point:
        """The mean over seeds. Their sentences are the same, so their errors do not average out."""
        rows = [row for row in self.rows if (row["model"], row["lengths"]) == (model, group)]
        errors = [row["error"] for row in rows]
        error = None if None in errors else statistics.fmean(errors)
        return Point(rows[0]["length"], statistics.fmean(row["score"] for row in rows), error, rows[0]["sentences"])

    def _gain(self, attention: str, none: str, group: str) -> Point:
        """By how much the first model's score is above the second's, replicate by replicate on the same sentences."""
        with_it, without = self._point(attention, group), self._point(none, group)
        pairs = zip(self._replicates(attention, group), self._replicates(none, group), strict=True)
        error = standard_error([one - other for one, other in pairs])
        return Point(with_it.length, with_it.score - without.score, error, with_it.count)

    def _replicates(self, model: str, group: str) -> list[float]:
        """Their means over seeds."""
        rows = [row["replicates"] for row in self.rows if (row["model"], row["lengths"]) == (model, group)]
        return [statistics.fmean(scores) for scores in zip(*rows, strict=True)]

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
            scores = [_scored(self.points[model][place], self.digits) for model in self.models]
            body.append([f"{group}{' *' if row['few'] else ''}", str(row["sentences"]), *scores])
        slopes = [f"change in 10 {self.unit}", "", *(self.change(self.slopes[model]) for model in self.models)]
        return [[f"{self.unit} in the source", "sentences", *self.models], *body, slopes]


def _scored(point: Point, digits: int) -> str:
    around = "" if point.error is None else f" ± {2 * point.error:.{digits}f}"
    return f"{point.score:.{digits}f}{around}"


def summary(content: Mapping[str, Any]) -> str:
    """Return the table and the verdict as text for a terminal."""
    found = Findings(content)
    table = found.table()
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = [f"{found.name} on test by length of the source, ± twice the standard error"]
    for row in table:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    if any(row["few"] for row in found.rows):
        lines.append(f"* {FEW_NOTE}")
    lines.append(f"gain by attention, change in 10 {found.unit}: {found.change(found.gain)}")
    return "\n".join([*lines, f"{found.verdict.result}: {found.verdict.reason}"])
