"""What the rows of the report `soft-hard` come to: scores beside soft attention's, noise, and the verdict."""

from collections.abc import Mapping
from typing import Any

from saccade.reports.noise import ratio_text, variance_text
from saccade.reports.pages import aligned, ending
from saccade.reports.scoring import Score, Trial, sign
from saccade.reports.soft_hard.noise import LEARNED
from saccade.reports.verdict import NOTHING, Verdict

__all__ = ["BONUS", "MARGIN", "SOFT", "Findings", "summary"]

SOFT, BONUS = "soft", "reinforce, entropy bonus"  # what follows the translator's name
MARGIN = 0.02  # of soft attention's score: what a row may be behind and do as well


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
        """How each estimator's variance compares with the learned baseline's, where both were measured, in words."""
        told = []
        for row in self.noises:
            learned = row["estimators"].get(LEARNED)
            for name, other in row["estimators"].items():
                if learned is not None and name != LEARNED:
                    ratio = ratio_text(other["batches"], learned["batches"])
                    told.append(f"at the weights of {row['model']}, seed {row['seed']}, {name} has {ratio}")
        return told

    def said(self, name: str) -> str:
        """Whether a row does as well as soft attention: its loss is excluded to be larger than the margin ("as well"),
        it is behind beyond twice the error ("behind"), or neither ("not decided").
        """
        gain, soft = self.beside(name), self.scores[f"{name.partition(' ')[0]} {SOFT}"]
        if self.learned(name) and gain.error is not None and gain.value - 2 * gain.error > -MARGIN * soft.value:
            return "as well"
        return "behind" if sign(gain) < 0 else "not decided"

    def _decide(self) -> Verdict:
        """Whether hard attention does as well as soft: see docs/reports.md."""
        if not any(map(self.learned, self.scores)):
            return NOTHING
        found = {one: {name: self.said(name) for name in self.hard(one)} for one in self.translators}
        told = (
            f"{name} {self.beside(name).text(self.digits, signed=True)} ({said})"
            for own in found.values()
            for name, said in own.items()
        )
        reason = f"beside soft attention, with twice the error: {', '.join(told)}"
        well = [translator for translator, own in found.items() if "as well" in own.values()]
        if len(well) == len(found):
            all_do = "every translator does as well with hard attention, trained some way"
            return Verdict("reproduced", f"{all_do}; {reason}")
        if all(said == "behind" for own in found.values() for said in own.values()):
            return Verdict("contradicted", f"all hard attention is behind beyond twice the error; {reason}")
        some = f"{', '.join(well)} does as well with hard attention, trained some way, and not every translator does"
        return Verdict("not decided", f"{some if well else 'no hard attention is seen to do as well'}; {reason}")


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    scores = [f"{found.name} on test, ± twice the standard error", *aligned(found.table())]
    noises = ["variance of the gradient by the attention's weights", *aligned(found.noise())]
    return "\n".join([*scores, "", *noises, *ending(found.verdict, content)])
