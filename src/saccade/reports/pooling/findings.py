"""What the rows of the report `pooling` come to: accuracies with their spread, what a "not" does, and the verdict."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from saccade.reports.pages import aligned, ending
from saccade.reports.verdict import Verdict

__all__ = ["OTHERS", "Accuracy", "Findings", "summary"]

OTHERS = {"SWEM, pooled words (Shen et al. 2018)": 84.3}
"""Accuracies on the test split of SST-2 that others report, with word vectors that were learned elsewhere."""
_CHANCE = 0.5


@dataclass(frozen=True)
class Accuracy:
    """The accuracies of one model with several seeds.

    Args:
        values: one a seed.

    Example:
        >>> Accuracy([0.8, 0.82]).text()
        '81.00 ± 1.41'
    """

    values: Sequence[float]

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """Their standard deviation; None of a single one."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def text(self) -> str:
        """Return mean and standard deviation in percent."""
        around = "" if self.deviation is None else f" ± {100 * self.deviation:.2f}"
        return f"{100 * self.mean:.2f}{around}"

    def above(self, other: "Accuracy") -> int:
        """Return whether the mean is above another's by more than twice the error of their difference (1), below it so
        (-1), or neither (0), as with a single seed.

        >>> Accuracy([0.8, 0.82]).above(Accuracy([0.7, 0.72])), Accuracy([0.8]).above(Accuracy([0.7]))
        (1, 0)
        """
        if self.deviation is None or other.deviation is None:
            return 0
        variance = self.deviation**2 / len(self.values) + other.deviation**2 / len(other.values)
        difference, error = self.mean - other.mean, math.sqrt(variance)
        return (difference > 2 * error) - (difference < -2 * error)


_SAID = {1: "better", 0: "within the error", -1: "worse"}


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        measured = [row for row in content["rows"] if row["measured"] == "accuracy"]
        self.probes = [row for row in content["rows"] if row["measured"] == "not"]
        self.texts: int = measured[0]["texts"]
        self.models = list(dict.fromkeys(row["model"] for row in measured))
        self.accuracies = {
            model: Accuracy([row["accuracy"] for row in measured if row["model"] == model]) for model in self.models
        }
        self.validations = {
            model: Accuracy([row["validation"] for row in measured if row["model"] == model]) for model in self.models
        }
        self.verdict = self._decide()

    def table(self) -> list[list[str]]:
        """Header, and a row a model: its accuracies, and what it cost."""
        header = ["model", "test accuracy", "beside the one above", "validation", "steps", "seconds", "parameters"]
        steps = [
            "",
            *(_SAID[self.accuracies[after].above(self.accuracies[one])] for one, after in pairwise(self.models)),
        ]
        rows = []
        for model, said in zip(self.models, steps, strict=True):
            runs = [run for run in self.content["runs"].values() if run["model"] == model]
            costs = [f"{statistics.fmean(run[key] for run in runs):.0f}" for key in ("steps", "seconds")]
            scores = [self.accuracies[model].text(), said, self.validations[model].text()]
            rows.append([model, *scores, *costs, f"{runs[0]['parameters']:,}"])
        return [header, *rows]

    def shifts(self, model: str, *, positive: bool) -> list[float]:
        """By how much a "not" moves the score of each sentence of praise, or of blame, over all seeds."""
        pairs = (pair for row in self.probes if row["model"] == model for pair in row["pairs"])
        return [pair["scores"][1] - pair["scores"][0] for pair in pairs if pair["positive"] is positive]

    def hears(self, model: str) -> float:
        """The share of pairs, over all seeds, that "not" moves the right way: praise down and blame up."""
        down, up = self.shifts(model, positive=True), self.shifts(model, positive=False)
        return (sum(shift < 0 for shift in down) + sum(shift > 0 for shift in up)) / (len(down) + len(up))

    def turns(self, model: str) -> float:
        """The share of pairs, over all seeds, whose sentences are both classified rightly."""
        pairs = [pair for row in self.probes if row["model"] == model for pair in row["pairs"]]
        return statistics.fmean(_right(pair) for pair in pairs)

    def negation(self) -> list[list[str]]:
        """Header, and a row a model: what "not" does to its score, on the average."""
        header = ["model", "praise moves by", "blame moves by", "moves the right way", "both sentences right"]
        rows = []
        for model in self.models:
            means = [f"{statistics.fmean(self.shifts(model, positive=side)):+.2f}" for side in (True, False)]
            rows.append([model, *means, f"{self.hears(model):.0%}", f"{self.turns(model):.0%}"])
        return [header, *rows]

    def pairs(self) -> list[list[str]]:
        """Header, and a row a pair: each model's probability of the positive label before and after, over seeds."""
        first = self.probes[0]["pairs"]
        rows = []
        for place, pair in enumerate(first):
            cells = []
            for model in self.models:
                own = [row["pairs"][place]["probabilities"] for row in self.probes if row["model"] == model]
                before, after = (statistics.fmean(values) for values in zip(*own, strict=True))
                cells.append(f"{before:.2f} → {after:.2f}")
            rows.append([pair["denied"], *cells])
        return [["sentence", *self.models], *rows]

    def _decide(self) -> Verdict:
        """Whether attention over features that know their neighbours is the best, and hears: see docs/reports.md."""
        if not any(accuracy.mean > _CHANCE + 0.05 for accuracy in self.accuracies.values()):
            return Verdict("nothing can be concluded", "no model got clearly more than half right; train them longer")
        steps = {
            (one, after): self.accuracies[after].above(self.accuracies[one]) for one, after in pairwise(self.models)
        }
        said = "; ".join(f"{one} → {after}: {_SAID[sign]}" for (one, after), sign in steps.items())
        heard = ", ".join(f"{model} {self.hears(model):.0%}" for model in self.models)
        first, last = self.models[0], self.models[-1]
        whole = f"from {first} to {last}: {_SAID[self.accuracies[last].above(self.accuracies[first])]}"
        steadily = f"by the spread over seeds, step by step {said}; {whole}"
        reason = f"{steadily}. A not moves the score the right way in: {heard}"
        if all(sign > 0 for sign in steps.values()):
            return Verdict("reproduced", reason)
        return Verdict("contradicted" if -1 in steps.values() else "not decided", reason)


def _right(pair: Mapping[str, Any]) -> bool:
    before, after = pair["probabilities"]
    return bool((before > _CHANCE) is pair["positive"] and (after > _CHANCE) is not pair["positive"])


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = ["accuracy in percent, ± the standard deviation over seeds", *aligned(found.table())]
    return "\n".join([*lines, "", *aligned(found.negation()), *ending(found.verdict, content)])
