"""Scores by the length of the source (Bahdanau, Cho, Bengio 2015, figure 2)."""

import statistics
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from saccade import look
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.tasks.translate.metrics import length, length_groups, length_unit
from studies.frame.claims import NOTHING, Claim, Verdict, bars, conclude, rule
from studies.frame.folder import select
from studies.frame.growth import fit, weights
from studies.frame.options import Trained
from studies.frame.page import about_data, curve, paragraphs, picture, sentence, signatures
from studies.frame.scores import ERRORS, SENTENCES, Score, digits, learned, mean, metric_name
from studies.frame.study import Study
from studies.frame.training import Part, Trainings, Variant, scored, tested

MODELS = ("rnnsearch", "encoder-decoder")  # with attention, and the same without
FEW = 30  # sentences: a score of fewer is marked
HALF = 0.5  # margin: a fall with attention of this share of the fall without is excluded
_WIDTHS = {"words": 5, "characters": 10}
_DATA = {
    "dates": "The length of a date is that of its language and form, not of its content, so these data can hardly show "
    "the claim.",
    "several-dates": "The data are rows of one to three dates, each in one of twenty languages. The score is the share "
    "of dates that are right at their place, so three are not harder for being three. The rows are built to need more "
    "than one vector holds, so this is a demonstration. A corpus tests the claim.",
}


def parts(corpus: Corpus, options: Trained) -> list[Part]:
    """Return the score of each five words, or ten characters as of dates."""
    unit = "characters" if options.data in _DATA else length_unit(options.source)
    pairs, groups = tested(corpus), dict[str, list[Pair]]()
    for pair, name in zip(pairs, length_groups([pair.source for pair in pairs], unit, _WIDTHS[unit]), strict=True):
        groups.setdefault(name, []).append(pair)
    means = {name: statistics.fmean(length(pair.source, unit) for pair in group) for name, group in groups.items()}
    return [
        scored({"unit": unit, "lengths": name}, groups[name], length=round(middle, 3), few=len(groups[name]) < FEW)
        for name, middle in sorted(means.items(), key=lambda named: named[1])
    ]


class Findings:
    """Scores by length, lines through them, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows: list[dict[str, Any]] = sorted(content["rows"], key=lambda row: row["length"])
        self.groups = {row["lengths"]: row for row in self.rows}
        self.unit, self.metric = str(self.rows[0]["unit"]), str(self.rows[0]["metric"])
        self.scores = dict[str, dict[str, Score]]()
        for model in dict.fromkeys(run["model"] for run in content["runs"].values()):  # with attention first
            self.scores[model] = {n: mean(select(self.rows, model=model, lengths=n), n) for n in self.groups}
        self.fitted = [row for row in self.groups.values() if row["replicates"]]  # those with an error
        self.lengths, self.counts = ([row[key] for row in self.fitted] for key in ("length", SENTENCES))
        self.heading = sentence(f"{metric_name(self.metric)} by length of the source")
        self.slopes = list[Score]()  # with attention, without, and their difference
        if (ws := weights(self.lengths, self.counts)) is not None:
            attention, none = (
                reduce(add, (by_length[row["lengths"]].times(w) for row, w in zip(self.fitted, ws, strict=True)))
                for by_length in self.scores.values()
            )
            self.slopes = [attention, none, attention - none]
        texts = [slope.times(10.0).text(digits(self.metric), signed=True) for slope in self.slopes]
        self.changes = texts or ["-", "-", "-"]
        if not any(learned(score) for scores in self.scores.values() for score in scores.values()):
            self.verdict = NOTHING
        elif not self.slopes:
            self.verdict = Verdict("not decided", "there are too few sentences of different lengths to fit a line")
        else:
            attention, none, _ = self.slopes
            stays = (attention - none.times(HALF)).number  # a test of one side against a margin: non-inferiority
            changes = [f"{change} in ten {self.unit} more" for change in self.changes]
            falls = Claim("without attention the score falls", none.times(-1.0).number, changes[1])
            half = "with attention it falls by less than half of that, or not at all"
            self.verdict = conclude([falls, Claim(half, stays, changes[0])])

    def fields(self) -> dict[str, Any]:
        *changes, gain = self.changes
        table = [[f"{self.unit} in the source", SENTENCES, *self.scores]]
        for name, row in self.groups.items():
            scores = (by_length[name].text(digits(self.metric)) for by_length in self.scores.values())
            table.append([f"{name}{' *' if row['few'] else ''}", str(row[SENTENCES]), *scores])
        seeds, count = (len({row["seed"] for row in self.rows}), sum(row[SENTENCES] for row in self.groups.values()))
        meaning = f"{bars(SENTENCES, seeds)} The gain by attention changes, in ten {self.unit} more, by {gain}."
        few = f" * fewer than {FEW} sentences: one more or less would move the score."
        data = about_data(self.content, count, f"; lengths are in {self.unit}")
        return {
            "scores": [*table, [f"change in 10 {self.unit}", "", *changes]],
            "bars": meaning + few * any(row["few"] for row in self.rows),
            "rule": rule(2),
            "data": paragraphs(data, ERRORS, _DATA.get(self.content["data"], ""), signatures(self.rows)),
        }


def plot(result: Findings, folder: Path) -> dict[str, str]:
    """Draw scores by length, with lines through them."""
    rows, name = list(result.groups.values()), metric_name(result.metric)
    few, lengths = [row["few"] for row in rows], [row["length"] for row in rows]
    curves, tops = [], []
    for model, scores in result.scores.items():
        line = fit(result.lengths, [scores[row["lengths"]].value for row in result.fitted], result.counts)
        trend = None if line is None else (line.at(lengths[0]), line.at(lengths[-1]))
        estimates = [score.number for score in scores.values()]
        curves.append(replace(curve(model, lengths, estimates, trend=trend), hollow=few))
        tops += [score.value + score.half * (not hollow) for score, hollow in zip(scores.values(), few, strict=True)]
    drawn = look.curves(
        curves,
        folder / "length",
        ticks=[(row["length"], f"{row['lengths']}\nn={row[SENTENCES]}") for row in rows],
        labels=(f"{result.unit} in the source, n sentences; hollow: few; bars: 95% intervals", name),
        title=result.heading,
        bounds=(0.0, (1.05 * max(tops) or None) if result.metric == "bleu" else 1.03),
        note="The claim: without attention it falls with length, with attention less than half as much",
    )
    return {"picture": picture(drawn, result.heading)}


STUDY = Study(
    sentence="BLEU falls with source length, less with attention (Bahdanau, Cho, Bengio 2015, figure 2)",
    title="Scores by length of the source, with and without attention",
    claim="A translator without attention has to press the source into one vector, and translates worse the longer the "
    "source is. Those with attention are more robust to it, the one trained on up to 50 words without any loss. The "
    "test is that with attention a fall of half as much or more is excluded, a margin of ours.",
    source="Bahdanau, Cho, Bengio 2015, section 5.1 and figure 2, https://arxiv.org/abs/1409.0473",
    options=Trained,
    measure=Trainings(
        lambda options: [Variant(model, model, recipe=MODELS[0]) for model in MODELS], parts, "several-dates"
    ),
    compare=Findings,
    plot=plot,
    body="""
{picture}

## Scores

{scores}

{bars}

{rule}

## How it was measured

Both models have the same recipe, that of the model with attention: data, batches, sizes, budget and seeds. Each group
of lengths is scored as a corpus of its own, decoded as the run's own evaluation decodes. The change is that of a line
fitted by least squares, each group weighed by its size.

{data}

{runs}
""",
)
