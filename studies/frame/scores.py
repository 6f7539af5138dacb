"""Scores of translators, with errors by seeds and sentences, and comparisons."""

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from saccade import look
from saccade.look import Dots
from saccade.tasks.generate.generate import best_texts
from saccade.tasks.task import Job
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.metrics import score
from saccade.train.randomness import generator, seeded
from saccade.train.task import Metric, value
from studies.frame.claims import Estimate
from studies.frame.page import SPEED, costs, picture, sentence
from studies.frame.seeds import Cell, contrast, pseudo_values

SENTENCES = "sentences"
ERRORS = (
    "Scores vary with the choice of sentences, by a delete-a-group jackknife of ten groups (nine degrees of freedom; "
    "of fewer sentences than ten, as many groups), and with the seed. The interval of a difference of two models holds "
    "both. All models translate the same sentences, so common effects of their choice cancel in differences."
)
_METRICS = {"bleu": "BLEU", "exact_match": "exact match", "dates_in_place": "dates right"}
_FOLDS = 10


@dataclass(frozen=True)
class Score:
    """A score over seeds, or a weighted sum of scores.

    >>> a, b = (Score((Cell(name, [[1.0, 2.0], [1.5, 2.5]]),)) for name in "ab")
    >>> (a - b).text(1), a.times(2.0).value
    ('0.0 ± 1.5', 3.5)
    """

    cells: tuple[Cell, ...]

    @cached_property
    def number(self) -> Estimate:
        """The number with its errors by seeds and by sentences."""
        return contrast(self.cells, SENTENCES)

    @property
    def value(self) -> float:
        return self.number.value

    @property
    def half(self) -> float:
        """Half its interval, by the known errors."""
        return self.number.measured.half()

    def __add__(self, other: "Score") -> "Score":
        return Score(self.cells + other.cells)

    def __sub__(self, other: "Score") -> "Score":
        """The difference, with common effects of sentences and training cancelled."""
        return self + other.times(-1.0)

    def times(self, factor: float) -> "Score":
        return Score(tuple(replace(cell, weight=factor * cell.weight) for cell in self.cells))

    def text(self, decimals: int, *, signed: bool = False) -> str:
        return self.number.text(decimals, signed=signed)


def measured(task: Job, model: nn.Module, pairs: Sequence[Pair], seed: int) -> dict[str, Any]:
    """Translate sentences as the run's own evaluation does, and score them together.

    The columns are the "score" of all sentences as a corpus, its standard "error" with its "replicates", the "seconds"
    of translating, and others.
    """
    began = time.perf_counter()
    with torch.inference_mode(), seeded(seed, "test"):
        sources = task.codec.encode(pairs, "test")
        answers: Sequence[Any] = task.answer(model, sources, None)
    outputs = best_texts([answer.outputs for answer in answers])
    seconds = time.perf_counter() - began
    references = [pair.target for pair in pairs]
    several = task.settings.data == "several-dates"

    def scored(indices: Sequence[int]) -> Metric:
        texts = [outputs[index] for index in indices], [references[index] for index in indices]
        return in_place(*texts) if several else score(*texts, task.settings.data, task.settings.target)

    metric = scored(range(len(outputs)))
    partial = replicates(lambda indices: value(scored(indices)), len(outputs))
    return {
        "sentences": len(outputs),
        "metric": "dates_in_place" if several else task.headline,
        "score": value(metric),
        "signature": metric["signature"] if isinstance(metric, dict) else None,
        "error": _standard_error(partial),
        "replicates": [round(number, 6) for number in partial],
        "seconds": round(seconds, 3),
    }


def in_place(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Fraction of the references' words at the same position in the outputs.

    Unlike exact match it does not fall with the number of items in a list.

    >>> in_place(["a b", "c"], ["a x", "c"])
    0.6666666666666666
    """
    rows = [(output.split(" "), text.split(" ")) for output, text in zip(outputs, references, strict=True)]
    right = sum(sum(map(str.__eq__, output, text)) for output, text in rows)
    return right / max(1, sum(len(text) for _, text in rows))


def replicates(score: Callable[[Sequence[int]], float], count: int) -> list[float]:
    """Return the scores of `count` sentences without each group of them in turn.

    The groups are drawn, since every tenth sentence may be of one kind. They depend on the count alone, so the
    replicates of two models on the same sentences can be compared.

    Source:
        Kott 2001, "The Delete-a-Group Jackknife", Journal of Official Statistics 17, after Tukey 1958.
    """
    groups = min(_FOLDS, count)
    if groups < 2:
        return []
    group = [rank % groups for rank in torch.randperm(count, generator=generator(0, "groups", count)).tolist()]
    return [score([index for index in range(count) if group[index] != left_out]) for left_out in range(groups)]


def _standard_error(scores: Sequence[float]) -> float | None:
    r"""Standard error of g replicates, √((g − 1) / g · Σ (θₖ − θ̄)²)."""
    return math.sqrt((len(scores) - 1) * np.var(scores)) if scores else None


def mean(rows: Sequence[Mapping[str, Any]], sample: str = "") -> Score:
    """Return the mean score of rows that differ in their seeds alone."""
    values = [pseudo_values(row["score"], row["replicates"]) if row["replicates"] else [row["score"]] for row in rows]
    average = statistics.fmean(row["score"] for row in rows)
    return Score((Cell(rows[0]["model"], values, sample=sample, value=average, count=rows[0]["sentences"]),))


def metric_name(metric: str) -> str:
    """Return a metric's name in prose."""
    return _METRICS.get(metric, metric)


def digits(metric: str) -> int:
    """Return the number of decimals, more for fractions than for scores up to 100."""
    return 2 if metric == "bleu" else 4


def learned(score: Score) -> bool:
    """Return whether a score is above 0 by its known errors."""
    return score.number.measured.beyond() > 0


def by_model(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each model, in the order of their first rows."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["model"], []).append(row)
    return groups


class Trial:
    """Scores of models on the whole test split, from report.json."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows: list[dict[str, Any]] = [row for row in content["rows"] if "score" in row]
        self.scores = {model: mean(rows) for model, rows in by_model(self.rows).items()}
        self.seeds, self.sentences = len({row["seed"] for row in self.rows}), self.rows[0]["sentences"]
        self.name, self.digits = metric_name(self.rows[0]["metric"]), digits(self.rows[0]["metric"])

    def learned(self, model: str) -> bool:
        return learned(self.scores[model])

    def tabled(self, header: tuple[str, str], beside: Callable[[str], Score | None]) -> list[list[str]]:
        """Return a table of models: scores, differences and costs."""
        columns = costs(self.content, self.scores, header[0], ("steps", "seconds", SPEED, "parameters"))
        scores = [[self.name, header[1]]]
        for model, average in self.scores.items():
            other = beside(model)
            scores.append([average.text(self.digits), "" if other is None else other.text(self.digits, signed=True)])
        return [[row[0], *score, *row[1:]] for row, score in zip(columns, scores, strict=True)]


def dotted(trial: Trial, path: Path, ending: str, note: str) -> str:
    """Draw the score of every model with its interval, and return the picture."""
    scores = trial.scores.values()
    title, label = sentence(f"{trial.name} {ending}"), f"{trial.name}; bars: 95% intervals"
    series = [Dots(trial.name, [score.value for score in scores], [score.half for score in scores])]
    return picture(look.dots(list(trial.scores), series, path, label=label, title=title, note=note), title)
