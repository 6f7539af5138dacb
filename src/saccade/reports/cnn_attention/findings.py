"""What the rows of the report `cnn-attention` come to: accuracies, their difference with its error, and the verdict."""

import statistics
from collections.abc import Mapping
from typing import Any

from saccade.reports.difference import spread, unpacked
from saccade.reports.pages import COSTS, aligned, costs, ending
from saccade.reports.resampling import between
from saccade.reports.scoring import by_model
from saccade.reports.verdict import Claim, Verdict, bars, conclude, nothing

__all__ = ["PAPER", "WITH", "WITHOUT", "Findings", "summary"]

WITHOUT, WITH = "CNN", "CNN with self-attention"
PAPER = 1.3
"""Points by which attention raised a ResNet-50's top-1 accuracy on ImageNet: Bello et al. 2019, abstract."""


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.models = content, (WITHOUT, WITH)
        self.rows = by_model(content["rows"])
        self.images: int = self.rows[WITHOUT][0]["images"]
        right = {model: [unpacked(row["right"], self.images) for row in rows] for model, rows in self.rows.items()}
        self.difference = between(right[WITH], right[WITHOUT])
        self.verdict = self._decide()

    def accuracies(self, model: str, key: str = "accuracy") -> list[float]:
        """The accuracies of a network, one a seed."""
        return [row[key] for row in self.rows[model]]

    def table(self) -> list[list[str]]:
        """Header, and a row a network: its accuracies in percent, and what it cost."""
        rows = []
        for model in self.models:
            scores = [spread(self.accuracies(model, key)) for key in ("accuracy", "validation")]
            rows.append([model, *scores, *costs(self.content, model)])
        header = ["network", "test accuracy", "validation", *COSTS]
        return [header, *rows]

    def by_seed(self) -> list[list[str]]:
        """Header, and a row a seed: the test accuracies of both networks."""
        pairs = zip(*(self.accuracies(model) for model in self.models), strict=True)
        rows = [[str(seed), *(f"{100 * score:.2f}" for score in pair)] for seed, pair in enumerate(pairs, 1)]
        return [["seed", *self.models], *rows]

    @property
    def note(self) -> str:
        """What ± of the difference is."""
        return bars("images", len(self.rows[WITH]))

    def _decide(self) -> Verdict:
        """Whether attention raises accuracy: see docs/reports.md."""
        best = max(statistics.fmean(self.accuracies(model)) for model in self.models)
        if best < 1.5 / self.rows[WITHOUT][0]["labels"]:
            return nothing("no network got clearly more right than by chance; train longer")
        found = self.difference
        verdict = conclude([Claim("with self-attention it is more often right", found, found.long())])
        excluded = 100 * (found.value + found.half()) < PAPER
        beside = f"; a gain as large as the paper's {PAPER} points there is excluded here" if excluded else ""
        return Verdict(verdict.result, f"{verdict.reason}{beside}")


def summary(content: Mapping[str, Any]) -> str:
    """Return the table and the verdict as text for a terminal."""
    found = Findings(content)
    lines = ["accuracy in percent, ± the standard deviation over seeds", *aligned(found.table())]
    return "\n".join([*lines, *ending(found.verdict, content)])
