"""What the rows of the report `soft-hard` come to: scores beside soft attention's, noise, and the verdict."""

from collections.abc import Mapping
from typing import Any

from saccade.reports.noise import ratio_text, variance_text
from saccade.reports.pages import aligned, ending
from saccade.reports.scoring import Score, Trial, sign
from saccade.reports.soft_hard.noise import LEARNED, PAPER
from saccade.reports.verdict import NOTHING, Verdict

__all__ = ["BONUS", "MARGIN", "SOFT", "XU", "Findings", "summary"]

SOFT, BONUS, XU = "soft", "reinforce, entropy bonus", f"reinforce, {PAPER}"  # what follows the translator's name
MARGIN = 0.02  # of soft attention's score: what a row may be behind and do as well
_SEEDS = 2  # that it takes to decide anything
_RESULTS = {"as well": "reproduced", "behind": "contradicted"}
_SAID = {
    "reproduced": "every translator does as well",
    "contradicted": "every translator is behind",
    "not decided": "not every translator does as well",
}
_BESIDE = {LEARNED: "the learned baseline", PAPER: "training as in the paper"}


class Findings(Trial):
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.noises: list[dict[str, Any]] = [row for row in content["rows"] if "estimators" in row]
        self.translators = list(dict.fromkeys(name.partition(" ")[0] for name in self.scores))
        self.verdict = self._decide()

    def hard(self, translator: str) -> list[str]:
        """The names of its rows with hard attention."""
        own = (name for name in self.scores if name.partition(" ")[0] == translator)
        return [name for name in own if name != f"{translator} {SOFT}"]

    def beside(self, name: str) -> Score:
        """By how much a row is better than the same translator with soft attention."""
        return self.scores[name] - self.scores[f"{name.partition(' ')[0]} {SOFT}"]

    def table(self) -> list[list[str]]:
        """Header, and a row a translator and way."""
        return self.tabled(("model", "beside soft"), lambda name: None if name.endswith(SOFT) else self.beside(name))

    def noise(self) -> list[list[str]]:
        """Header, and a row for the weights of each model: the variance of each estimator's gradient there."""
        names = list(dict.fromkeys(name for row in self.noises for name in row["estimators"]))
        names.sort(key=lambda name: name != LEARNED)
        rows = [
            [f"{row['model']}, seed {row['seed']}", *(variance_text(row["estimators"].get(name)) for name in names)]
            for row in self.noises
        ]
        return [["at the weights of", *names], *rows]

    def ratios(self) -> list[str]:
        """How each estimator's variance compares with that of the baseline that was trained, in words."""
        told = []
        for row in self.noises:
            for trained in (LEARNED, PAPER):
                one = row["estimators"].get(trained)
                for name, other in row["estimators"].items():
                    if one is not None and name != trained:
                        ratio = ratio_text(other["batches"], one["batches"])
                        where = f"at the weights of {row['model']}, seed {row['seed']}, {name}"
                        told.append(f"{where} has {ratio}, beside {_BESIDE[trained]}")
        return told

    def said(self, name: str) -> str:
        """Whether a row does as well as soft attention: its loss is excluded to be larger than the margin ("as well"),
        it is behind beyond twice the error ("behind"), or neither ("not decided").
        """
        gain, soft = self.beside(name), self.scores[f"{name.partition(' ')[0]} {SOFT}"]
        if self.learned(name) and gain.error is not None and gain.value - 2 * gain.error > -MARGIN * soft.value:
            return "as well"
        return "behind" if sign(gain) < 0 else "not decided"

    def way(self, way: str) -> list[str]:
        """What is said of each translator that is trained one way, in words."""
        names = (name for name in self.scores if name.partition(" ")[2] == way)
        return [
            f"{name.partition(' ')[0]} {self.beside(name).text(self.digits, signed=True)} ({self.said(name)})"
            for name in names
        ]

    def _decide(self) -> Verdict:
        """Whether hard attention does as well as soft, trained as the paper trains: see docs/reports.md."""
        if not any(map(self.learned, self.scores)):
            return NOTHING
        ways = dict.fromkeys(name.partition(" ")[2] for one in self.translators for name in self.hard(one))
        each = "; ".join(f"{way}: {', '.join(self.way(way))}" for way in sorted(ways, key=lambda way: way != XU))
        reason = f"beside soft attention, with twice the error: {each}"
        said = {self.said(f"{translator} {XU}") for translator in self.translators}
        result = _RESULTS.get("".join(said) if len(said) == 1 else "", "not decided")
        held = f"{_SAID[result]}, trained as the paper trains; {reason}"
        if len({row["seed"] for row in self.rows}) < _SEEDS:
            return Verdict("not decided", f"one seed decides nothing, for its chance is in no error; {held}")
        return Verdict(result, held)


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    scores = [f"{found.name} on test, ± twice the standard error", *aligned(found.table())]
    noises = ["variance of the gradient by the attention's weights", *aligned(found.noise())]
    return "\n".join([*scores, "", *noises, *ending(found.verdict, content)])
