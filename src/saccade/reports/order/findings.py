"""What the rows of the report `order` come to: what each model loses with the order of the words, and the verdict."""

from collections.abc import Mapping
from typing import Any

from saccade.reports.order.exact import HOLDS
from saccade.reports.pages import aligned, ending
from saccade.reports.scoring import SENTENCES, Score, digits, learned, mean, metric_name
from saccade.reports.statistics import Exact, Within
from saccade.reports.verdict import NOTHING, Claim, Verdict, bars, conclude

__all__ = ["MARGIN", "SET", "WAYS", "Findings", "summary"]

SET = "transformer without positions"
WAYS = ("in order", "shuffled")
MARGIN = 0.02  # of its score: what a set may gain or lose as it is shuffled


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.exact: list[dict[str, Any]] = [row for row in content["rows"] if "layer" in row]
        self.rows: list[dict[str, Any]] = [row for row in content["rows"] if "words" in row]
        self.models = list(dict.fromkeys(row["model"] for row in self.rows))
        self.first, self.metric = self.rows[0], str(self.rows[0]["metric"])
        self.seeds = len({row["seed"] for row in self.rows})
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
        """Whether a model gets something right while the words are in order."""
        return learned(self.scores[model]["in order"])

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

    def claims(self) -> list[Claim]:
        """That layers are what they should be; that a set loses nothing, and every sequence something, of those models
        that have learned something.

        Both scores are of the same trained models on the same sentences, so that the loss has an error of its own.
        """
        wrong = [row["layer"] for row in self.exact if (row["deviation"] < HOLDS) != row["holds"]]
        layers = "of the layers, exactly attention without positions and without a mask sees a set"
        found = [Claim(layers, Exact(not wrong), f"but for {', '.join(wrong)}" if wrong else "to rounding")]
        for model in filter(self.learned, self.models):
            loss, told = self.losses[model].found, self.losses[model].text(digits(self.metric), signed=True)
            if model == SET:
                margin = MARGIN * self.scores[model]["in order"].value
                found.append(Claim(f"{model} loses less than {MARGIN:.0%}", Within(loss, margin), told))
            else:
                found.append(Claim(f"{model} loses something", loss, told))
        return found

    def _decide(self) -> Verdict:
        """Whether order is what the claim says: see docs/reports.md."""
        found, missing = conclude(self.claims()), [model for model in self.models if not self.learned(model)]
        if not missing:
            return found
        poor = SET in missing or len(missing) == len(self.models) - 1
        result = "not decided" if poor and found.result == "reproduced" else found.result
        reason = NOTHING.reason if len(missing) == len(self.models) else f"{', '.join(missing)} got nothing right"
        return Verdict(result, f"{found.reason}; {reason}")


def _said(row: Mapping[str, Any], holds: bool) -> str:
    return f"{'' if holds else 'not '}{row['kind']}"


def _found(row: Mapping[str, Any]) -> str:
    return _said(row, row["deviation"] < HOLDS)


def _deviation(row: Mapping[str, Any]) -> str:
    return f"{row['deviation']:.1e}"


def summary(content: Mapping[str, Any]) -> str:
    """Return both tables and the verdict as text for a terminal."""
    found = Findings(content)
    trained = f"{found.name} on test. {bars(SENTENCES, found.seeds)}"
    lines = [*aligned(found.exact_table()), "", trained, *aligned(found.table())]
    return "\n".join([*lines, *ending(found.verdict, content)])
