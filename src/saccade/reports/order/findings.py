"""What the rows of the report `order` come to: what each model loses with the order of the words, and the verdict."""

from collections.abc import Mapping
from typing import Any

from saccade.reports.order.exact import HOLDS
from saccade.reports.pages import aligned, ending
from saccade.reports.scoring import Score, digits, mean, metric_name, sign
from saccade.reports.verdict import NOTHING, Verdict

__all__ = ["SET", "WAYS", "Findings", "summary"]

SET = "transformer without positions"
WAYS = ("in order", "shuffled")


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.exact: list[dict[str, Any]] = [row for row in content["rows"] if "layer" in row]
        self.rows: list[dict[str, Any]] = [row for row in content["rows"] if "words" in row]
        self.models = list(dict.fromkeys(row["model"] for row in self.rows))
        self.first, self.metric = self.rows[0], str(self.rows[0]["metric"])
        self.scores = {model: {way: self._score(model, way) for way in WAYS} for model in self.models}
        self.losses = {model: both["in order"] - both["shuffled"] for model, both in self.scores.items()}
        self.verdict = self._decide()

    @property
    def name(self) -> str:
        """What the metric is called."""
        return metric_name(self.metric)

    def _score(self, model: str, way: str) -> Score:
        return mean([row for row in self.rows if (row["model"], row["words"]) == (model, way)])

    def learned(self, model: str) -> bool:
        """Whether a model gets something right, beyond twice the error, while the words are in order."""
        return sign(self.scores[model]["in order"]) > 0

    def exact_table(self) -> list[list[str]]:
        """Header, and a row a layer."""
        header = ["layer", "by its definition", "deviation", "so it is"]
        return [header, *([row["layer"], _said(row, row["holds"]), _deviation(row), _found(row)] for row in self.exact)]

    def table(self) -> list[list[str]]:
        """Header, and a row a model."""
        decimals = digits(self.metric)
        body = []
        for model in self.models:
            both = [self.scores[model][way].text(decimals) for way in WAYS]
            share = self.losses[model].value / self.scores[model]["in order"].value if self.learned(model) else None
            lost = "-" if share is None else f"{100 * share + 0.0:.1f} %"
            body.append([model, *both, self.losses[model].text(decimals, signed=True), lost])
        return [["model", *WAYS, "loses", "of what it had"], *body]

    def _decide(self) -> Verdict:
        """Whether order is what the claim says: see docs/reports.md."""
        wrong = [row["layer"] for row in self.exact if (row["deviation"] < HOLDS) != row["holds"]]
        if wrong:
            return Verdict("not reproduced", f"permuting its input does not do to {', '.join(wrong)} what it should")
        exactly = "of the layers, exactly those without positions see a set"
        sequences = [model for model in self.models if model != SET and self.learned(model)]
        if not sequences and not self.learned(SET):
            return Verdict(NOTHING.result, f"{exactly}, but {NOTHING.reason}")
        against = [
            f"{model} loses nothing beyond twice the error" for model in sequences if sign(self.losses[model]) < 1
        ]
        if not sequences:
            against.append("no other model got anything right")
        if not self.learned(SET):
            against.append(f"{SET} got nothing right")
        elif sign(self.losses[SET]):
            against.append(f"{SET} does not score the same beyond twice the error")
        if against:
            return Verdict("reproduced in part", f"{exactly}; but {', '.join(against)}")
        many = "every other model" if len(sequences) == len(self.models) - 1 else ", ".join(sequences)
        return Verdict("reproduced", f"{exactly}; shuffled words cost {SET} nothing, and {many} something")


def _said(row: Mapping[str, Any], holds: bool) -> str:
    return f"{'' if holds else 'not '}{row['kind']}"


def _found(row: Mapping[str, Any]) -> str:
    return _said(row, row["deviation"] < HOLDS)


def _deviation(row: Mapping[str, Any]) -> str:
    return f"{row['deviation']:.1e}"


def summary(content: Mapping[str, Any]) -> str:
    """Return both tables and the verdict as text for a terminal."""
    found = Findings(content)
    trained = f"{found.name} on test, ± twice the standard error"
    lines = [*aligned(found.exact_table()), "", trained, *aligned(found.table())]
    return "\n".join([*lines, *ending(found.verdict, content)])
