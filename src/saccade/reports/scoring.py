"""The score of a trained model on sentences, with what its error is from; and such scores compared."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import nn

from saccade.reports.resampling import Cell, contrast, pseudo_values
from saccade.reports.slope import replicates, standard_error
from saccade.reports.statistics import Estimate
from saccade.tasks.generate.generate import best_texts
from saccade.tasks.translate import Translate
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.metrics import in_place, score
from saccade.tasks.translate.source import encode_sources
from saccade.train.randomness import seeded
from saccade.train.task import Metric, value

__all__ = ["ERRORS", "SENTENCES", "Score", "Trial", "by_model", "digits", "learned", "mean", "measured", "metric_name"]

SENTENCES = "sentences"

ERRORS = (
    "Scores vary with the choice of sentences, by a delete-a-group jackknife of ten groups (nine degrees of freedom; "
    "of fewer sentences than ten, as many groups), and with the seed; what a difference of two models has of both is "
    "in its interval together. All models translate the same sentences, so what they owe to their choice alike is in "
    "no difference."
)
_METRICS = {"bleu": "BLEU", "exact_match": "exact match", "dates_in_place": "dates right"}


@dataclass(frozen=True)
class Score:
    """A score over seeds, or a sum of several on the same sentences or on others.

    Args:
        cells: its terms.

    Example:
        >>> one, other = (Score((Cell(name, [[1.0, 2.0], [1.5, 2.5]]),)) for name in "ab")
        >>> (one - other).text(1), one.times(2.0).value
        ('0.0 ± 1.5', 3.5)
    """

    cells: tuple[Cell, ...]

    @cached_property
    def found(self) -> Estimate:
        """The number with its errors by seeds and by sentences."""
        return contrast(self.cells, SENTENCES)

    @property
    def value(self) -> float:
        """The number."""
        return self.found.value

    @property
    def half(self) -> float:
        """Half its interval, by what is known of its error."""
        return self.found.known.half()

    def __add__(self, other: "Score") -> "Score":
        """The sum."""
        return Score(self.cells + other.cells)

    def __sub__(self, other: "Score") -> "Score":
        """The difference: what both owe to the same sentences, or to the same training, falls out of it."""
        return self + other.times(-1.0)

    def times(self, factor: float) -> "Score":
        """Return a multiple."""
        return Score(tuple(replace(cell, weight=factor * cell.weight) for cell in self.cells))

    def text(self, decimals: int, *, signed: bool = False) -> str:
        """Return the score with half its interval."""
        return self.found.text(decimals, signed=signed)


def measured(task: Translate, model: nn.Module, pairs: Sequence[Pair], seed: int) -> dict[str, Any]:
    """Translate sentences as the run's own evaluation does, and score them together.

    Returns:
        What a row of a report says of them: "score" is that of all as one corpus, "error" its standard error,
        "replicates" what the error is from, "seconds" the time that it took to translate them.
    """
    began = time.perf_counter()
    with torch.inference_mode(), seeded(seed, "test"):
        sources = encode_sources([pair.source for pair in pairs], task.vocabulary.source, task.most)
        outputs = best_texts([answer.outputs for answer in task.answer(model, sources, None)])
    seconds = time.perf_counter() - began
    references = [pair.target for pair in pairs]
    several = task.settings.data == "several-dates"

    def scored(places: Sequence[int]) -> Metric:
        texts = [outputs[place] for place in places], [references[place] for place in places]
        return in_place(*texts) if several else score(*texts, task.settings.data, task.settings.target)

    metric = scored(range(len(outputs)))
    partial = replicates(lambda places: value(scored(places)), len(outputs))
    return {
        "sentences": len(outputs),
        "metric": "dates_in_place" if several else task.headline,
        "score": value(metric),
        "signature": metric["signature"] if isinstance(metric, dict) else None,
        "error": standard_error(partial),
        "replicates": [round(one, 6) for one in partial],
        "seconds": round(seconds, 3),
    }


def mean(rows: Sequence[Mapping[str, Any]], sample: str = "") -> Score:
    """Return the mean score of rows that are one but for their seeds.

    Args:
        rows: of one model.
        sample: names the sentences, where a model was scored on several sets of them.
    """
    values = [pseudo_values(row["score"], row["replicates"]) if row["replicates"] else [row["score"]] for row in rows]
    score = statistics.fmean(row["score"] for row in rows)
    return Score((Cell(rows[0]["model"], values, sample=sample, value=score, count=rows[0]["sentences"]),))


def metric_name(metric: str) -> str:
    """Return what a metric is called.

    >>> metric_name("bleu"), metric_name("exact_match")
    ('BLEU', 'exact match')
    """
    return _METRICS.get(metric, metric)


def digits(metric: str) -> int:
    """Return the decimals that say something: a fraction needs more than a score between 0 and 100.

    >>> digits("bleu"), digits("exact_match")
    (2, 4)
    """
    return 2 if metric == "bleu" else 4


def learned(score: Score) -> bool:
    """Whether a score is above 0, by what is known of its error: of one seed by the sentences alone."""
    return score.found.known.beyond() > 0


def by_model(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each model, models in the order in which they come first.

    >>> by_model([{"model": "b", "seed": 1}, {"model": "a", "seed": 1}, {"model": "b", "seed": 2}])["b"]
    [{'model': 'b', 'seed': 1}, {'model': 'b', 'seed': 2}]
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["model"], []).append(row)
    return found


class Trial:
    """Models that were each trained and scored on the whole test split.

    Args:
        content: of report.json; of its rows those with a score count.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows: list[dict[str, Any]] = [row for row in content["rows"] if "score" in row]
        self.scores = {model: mean(rows) for model, rows in by_model(self.rows).items()}
        first = self.rows[0]
        self.seeds = len({row["seed"] for row in self.rows})
        self.sentences, self.name, self.digits = (
            first["sentences"],
            metric_name(first["metric"]),
            digits(first["metric"]),
        )

    def learned(self, model: str) -> bool:
        """Whether a model gets something right: above 0 by what is known of its error."""
        return learned(self.scores[model])

    def tabled(self, header: tuple[str, str], beside: Callable[[str], Score | None]) -> list[list[str]]:
        """Return a header and a row a model: its score, what it is beside another, and what it cost.

        Args:
            header: what the models are, and what the differences are.
            beside: from a model to its difference from another; None for no other.
        """
        costs = ["steps", "seconds", "tokens/s in training", "parameters"]
        rows = []
        for model, own in self.scores.items():
            other = beside(model)
            difference = "" if other is None else other.text(self.digits, signed=True)
            rows.append([model, own.text(self.digits), difference, *self._costs(model)])
        return [[header[0], self.name, header[1], *costs], *rows]

    def _costs(self, model: str) -> list[str]:
        """The means over seeds."""
        runs = [run for run in self.content["runs"].values() if run["model"] == model]
        steps, seconds = (statistics.fmean(run[key] for run in runs) for key in ("steps", "seconds"))
        speed = statistics.fmean(run["tokens_per_second"]["train"] for run in runs)
        return [f"{steps:.0f}", f"{seconds:.0f}", f"{speed:,.0f}", f"{runs[0]['parameters']:,}"]
