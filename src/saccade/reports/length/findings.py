"""What the rows of the report `length` come to: scores by length, lines through them, and the verdict."""

from collections.abc import Mapping
from typing import Any

from saccade.reports.length.buckets import FEW
from saccade.reports.length.verdict import decide
from saccade.reports.pages import aligned, ending, sentence
from saccade.reports.scoring import SENTENCES, Score, digits, learned, mean, metric_name
from saccade.reports.slope import Line, fit, weights
from saccade.reports.verdict import NOTHING, bars, rule

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
        self.seeds = len({row["seed"] for row in self.rows})
        self.fitted = [place for place, group in enumerate(self.groups) if self.first(group)["replicates"]]
        self.slopes = {model: self._slope(model) for model in self.models}
        attention, none = (self.slopes[model] for model in self.models[:2])
        self.gain = attention - none if attention and none else None
        slopes = {"attention": attention, "none": none, "gain": self.gain}
        told = {name: f"{self.change(slope)} in ten {self.unit} more" for name, slope in slopes.items()}
        right = any(learned(score) for scores in self.scores.values() for score in scores)
        self.verdict = decide(attention, none, told) if right else NOTHING

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
        return mean([row for row in self.rows if (row["model"], row["lengths"]) == (model, group)], group)

    def _about(self, key: str) -> list[float]:
        """What rows of those groups say that have an error: a line goes through these."""
        return [self.first(self.groups[place])[key] for place in self.fitted]

    def _slope(self, model: str) -> Score | None:
        """How a model's score changes with length, of groups that are weighed by their size."""
        each = weights(self._about("length"), self._about(SENTENCES))
        if each is None:
            return None
        terms = [self.scores[model][place].times(w) for place, w in zip(self.fitted, each, strict=True)]
        return Score(tuple(cell for term in terms for cell in term.cells))

    def line(self, model: str) -> Line | None:
        """The line through a model's scores."""
        heights = [self.scores[model][place].value for place in self.fitted]
        return fit(self._about("length"), heights, self._about(SENTENCES))

    def change(self, slope: Score | None) -> str:
        """A slope's change over ten units of length."""
        return "-" if slope is None else slope.times(10.0).text(self.digits, signed=True)

    @property
    def notes(self) -> list[str]:
        """What ± is, and how it is judged."""
        return [bars(SENTENCES, self.seeds), rule(2)]

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
    lines = [f"{found.name} on test by length of the source", *aligned(found.table()), found.notes[0]]
    if any(row["few"] for row in found.rows):
        lines.append(f"* {FEW_NOTE}")
    lines.append(f"gain by attention, change in 10 {found.unit}: {found.change(found.gain)}")
    return "\n".join([*lines, *ending(found.verdict, content)])
