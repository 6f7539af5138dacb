"""What the rows of the report `pooling` come to: accuracies, what a "not" does, and the verdict."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from saccade.reports.difference import spread, unpacked
from saccade.reports.pages import aligned, ending
from saccade.reports.resampling import Cell, contrast, over_seeds
from saccade.reports.scoring import SENTENCES, by_model
from saccade.reports.statistics import Estimate, Part, judged
from saccade.reports.verdict import Claim, Verdict, bars, conclude, nothing

__all__ = ["CONTEXT", "OTHERS", "VECTORS", "Findings", "summary"]

OTHERS = {"SWEM, pooled words (Shen et al. 2018)": 84.3}
"""Accuracies on the test split of SST-2 that others report, with word vectors that were learned elsewhere."""
VECTORS = ", vectors"
"""What follows the name of a model whose words begin with vectors from a file."""
CONTEXT = ("self-attention", "rnn-attention")
"""Models of which a word's weight hangs on its neighbours: of the others it is the word's own."""
_CHANCE = 0.5
_LEARNED = 0.05  # above chance


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        measured = [row for row in content["rows"] if row["measured"] == "accuracy"]
        self.probes = [row for row in content["rows"] if row["measured"] == "not"]
        self.texts: int = measured[0]["texts"]
        self.rows = by_model(measured)
        self.models = list(self.rows)
        self.seeds = len({row["seed"] for row in measured})
        self.ladders = [
            own for ends in (False, True) if (own := [m for m in self.models if m.endswith(VECTORS) is ends])
        ]
        self.verdict = self._decide()

    def accuracies(self, model: str, key: str = "accuracy") -> list[float]:
        """The accuracies of a model, one a seed."""
        return [row[key] for row in self.rows[model]]

    @property
    def sentences_known(self) -> bool:
        """Whether rows say of each sentence if it was classified rightly; those of old reports do not."""
        return all("right" in row for rows in self.rows.values() for row in rows)

    def gain(self, one: str, other: str) -> Estimate:
        r"""By how much a model is better than another, with its errors by seeds and by sentences.

        Where rows do not say which sentences were right, their error is the largest that it may be:

        .. math:: \sigma_i^2 \le \frac{p_a (1 - p_a) + p_c (1 - p_c)}{N}

        of accuracies \(p_a\) and \(p_c\), for what is hard for one is not easier than others for the other.
        """
        if self.sentences_known:
            pair = zip((one, other), (1.0, -1.0), strict=True)
            return contrast([Cell(model, self._right(model), sign) for model, sign in pair], SENTENCES)
        found = over_seeds(self.accuracies(one), self.accuracies(other))
        shares = (statistics.fmean(self.accuracies(model)) for model in (one, other))
        most = math.sqrt(sum(share * (1 - share) for share in shares) / self.texts)
        return Estimate(found.value, (*found.parts, Part(SENTENCES, most, self.texts - 1, self.texts)))

    def _right(self, model: str) -> list[list[bool]]:
        return [unpacked(row["right"], self.texts) for row in self.rows[model]]

    @cached_property
    def _said(self) -> dict[str, str]:
        """What follows for each claim, by its text."""
        claims = self.claims()
        return dict(zip((one.text for one in claims), judged([one.found for one in claims]), strict=True))

    def table(self, ladder: int = 0) -> list[list[str]]:
        """Header, and a row a model: its accuracies, and what it cost."""
        header = ["model", "test accuracy", "beside the one above", "it is better", "validation", "steps", "seconds"]
        models, rows = self.ladders[ladder], []
        for above, model in zip([None, *models], models, strict=False):
            gain = ("", "") if above is None else (self.gain(model, above).short(), self._said[_step(model, above)])
            runs = [run for run in self.content["runs"].values() if run["model"] == model]
            costs = [f"{statistics.fmean(run[key] for run in runs):.0f}" for key in ("steps", "seconds")]
            scores = [spread(self.accuracies(model)), *gain, spread(self.accuracies(model, "validation"))]
            rows.append([model, *scores, *costs, f"{runs[0]['parameters']:,}"])
        return [[*header, "parameters"], *rows]

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

    def lowered(self, model: str) -> Estimate | None:
        """By how many nats a "not" lowers what the word that it denies weighs beside the others, over seeds and pairs;
        None where rows do not say, or nothing is attended to.
        """
        own = [row["pairs"] for row in self.probes if row["model"] == model]
        if not all("relative" in pair for pairs in own for pair in pairs):
            return None
        falls = [[pair["relative"][0] - pair["relative"][1] for pair in pairs] for pairs in own]
        return contrast([Cell(model, falls)], "pairs")

    def weighed(self) -> list[list[str]]:
        """Header, and a row a model that attends: the weight of the denied word, before and after; none of old rows."""
        rows = []
        for model in self.models:
            if (fall := self.lowered(model)) is None:
                continue
            pairs = [pair["weights"] for row in self.probes if row["model"] == model for pair in row["pairs"]]
            before, after = (f"{statistics.fmean(own):.3f}" for own in zip(*pairs, strict=True))
            rows.append([model, before, after, fall.text(signed=True), self._said.get(_weight(model), "its own alone")])
        header = ["model", "weight without a not", "with it", "lowered beside the others, nats", "it is lowered"]
        return [header, *rows] if rows else []

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

    def drawn(self) -> tuple[str, list[list[Any]]] | None:
        """The first model whose words are projected, and these; None of old rows."""
        found = ((row["model"], row["directions"]) for row in self.probes if row.get("directions"))
        return next(found, None)

    @property
    def note(self) -> str:
        """What ± is."""
        told = bars(SENTENCES, self.seeds)
        bound = " Rows of this report do not say which sentences were right, so that their error is the largest that "
        bound += "it may be, as of models that err independently."
        return told if self.sentences_known else told + bound

    def claims(self) -> list[Claim]:
        """That each way is better than the one before, the last than the first, and that a not lowers weights."""
        found = []
        for models in self.ladders:
            for one, other in [*pairwise(models), (models[0], models[-1])]:
                gain = self.gain(other, one)
                found.append(Claim(_step(other, one), gain, gain.long()))
        falls = {model: self.lowered(model) for model in self.models if model.removesuffix(VECTORS) in CONTEXT}
        return found + [
            Claim(_weight(model), fall, f"by {fall.text(signed=True)} nats")
            for model, fall in falls.items()
            if fall is not None
        ]

    def _decide(self) -> Verdict:
        """Whether each way is better, and weights hear a not: see docs/reports.md."""
        if not any(statistics.fmean(self.accuracies(model)) > _CHANCE + _LEARNED for model in self.models):
            return nothing("no model got clearly more than half right; train them longer")
        heard = ", ".join(f"{model} {self.hears(model):.0%}" for model in self.models)
        found = conclude(self.claims())
        return replace(found, reason=f"{found.reason}. A not moves the score the right way in: {heard}")


def _step(model: str, above: str) -> str:
    return f"{model} is better than {above}"


def _weight(model: str) -> str:
    return f"a not lowers what the word that it denies weighs in {model}"


def _right(pair: Mapping[str, Any]) -> bool:
    before, after = pair["probabilities"]
    return bool((before > _CHANCE) is pair["positive"] and (after > _CHANCE) is not pair["positive"])


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines: list[str] = ["accuracy in percent, ± the standard deviation over seeds; beside the one above, in points:"]
    lines += [found.note]
    tables: Sequence[list[list[str]]] = [
        *map(found.table, range(len(found.ladders))),
        found.negation(),
        found.weighed(),
    ]
    for table in filter(None, tables):
        lines += [*aligned(table), ""]
    return "\n".join([*lines[:-1], *ending(found.verdict, content)])
