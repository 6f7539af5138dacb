"""What the rows of the report `soft-hard` come to: scores beside soft attention's, noise, and the verdict."""

from collections.abc import Mapping, Sequence
from typing import Any

from saccade.reports.noise import ratio_text, variance_text
from saccade.reports.pages import aligned, ending
from saccade.reports.scoring import SENTENCES, Score, Trial
from saccade.reports.soft_hard.noise import LEARNED, PAPER
from saccade.reports.statistics import Estimate, Result, judged
from saccade.reports.verdict import NOTHING, Claim, Verdict, bars, conclude, told

__all__ = ["BONUS", "MARGIN", "SOFT", "XU", "Findings", "summary"]

SOFT, BONUS, XU = "soft", "reinforce, entropy bonus", f"reinforce, {PAPER}"  # what follows the translator's name
MARGIN = 0.02  # of soft attention's score: what a row may be behind and do as well
_SAID = {
    "reproduced": "every translator does as well",
    "contradicted": "every translator is behind",
    "not decided": "that every translator does as well is not shown",
}
_BESIDE = {LEARNED: "the learned baseline", PAPER: "training as in the paper"}


class Findings(Trial):
    """What the rows come to."""

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

    def claims(self, *, paper: bool) -> list[Claim]:
        """That a row does as well, a loss of the margin or more being excluded: of the rows that train as the paper
        does, or of the others, which decide nothing.
        """
        names = [name for translator in self.translators for name in self.hard(translator)]
        return [
            Claim(f"{name} does as well", self._spared(name), self.beside(name).text(self.digits, signed=True))
            for name in names
            if (name.partition(" ")[2] == XU) == paper
        ]

    def said(self) -> dict[str, str]:
        """What follows for each row with hard attention: "as well", "behind" (by the margin or more), or "not decided";
        those of the paper's training are judged together, and the others.
        """
        said = {"reproduced": "as well", "contradicted": "behind", "not decided": "not decided"}
        found: dict[str, str] = {}
        for paper in (True, False):
            claims = self.claims(paper=paper)
            results = judged([one.found for one in claims])
            names = [one.text.removesuffix(" does as well") for one in claims]
            found |= {name: said[result] for name, result in zip(names, results, strict=True)}
        return found

    def _spared(self, name: str) -> Estimate:
        """How much of the margin is left; nothing is known of what has learned nothing."""
        soft = self.scores[f"{name.partition(' ')[0]} {SOFT}"]
        return (self.scores[name] - soft.times(1 - MARGIN)).found

    def _decide(self) -> Verdict:
        """Whether hard attention does as well as soft, trained as the paper trains: see docs/reports.md."""
        if not any(self.learned(f"{translator} {SOFT}") for translator in self.translators):
            return NOTHING
        claims, others = self.claims(paper=True), told(self.claims(paper=False))
        beside = f"beside soft attention, {MARGIN:.0%} of its score being the margin"
        if len(claims) < len(self.translators):
            return Verdict("not decided", f"not every translator is trained as the paper trains; {beside}, {others}")
        found = conclude(claims, _alike)
        held = f"{_SAID[found.result]}, trained as the paper trains; {beside}, {found.reason}"
        return Verdict(found.result, f"{held}; trained otherwise, which decides nothing, {others}" if others else held)


def _alike(results: Sequence[Result]) -> Result:
    """What is said of every translator, if it is the same."""
    return results[0] if len({*results}) == 1 else "not decided"


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    scores = [f"{found.name} on test", *aligned(found.table()), bars(SENTENCES, found.seeds)]
    noises = ["variance of the gradient by the attention's weights", *aligned(found.noise())]
    return "\n".join([*scores, "", *noises, *ending(found.verdict, content)])
