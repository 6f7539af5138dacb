"""The score of a trained model on sentences, with what its error is from; and such scores compared."""

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from saccade.reports.slope import replicates, standard_error
from saccade.tasks.generate.generate import best_texts
from saccade.tasks.translate import Translate
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.metrics import in_place, score
from saccade.tasks.translate.source import encode_sources
from saccade.train.randomness import seeded
from saccade.train.task import Metric, value

__all__ = ["ERRORS", "Score", "Trial", "digits", "mean", "measured", "metric_name", "sign"]

ERRORS = (
    "Standard errors are those of the choice of sentences, by a delete-a-group jackknife of ten groups; how training "
    "differs from seed to seed is not in them. All models translate the same sentences, so the error of a difference "
    "is that of the difference itself, replicate by replicate."
)
_METRICS = {"bleu": "BLEU", "exact_match": "exact match", "dates_in_place": "dates right"}


@dataclass(frozen=True)
class Score:
    """A score, or the difference of two on the same sentences.

    Args:
        value: of all sentences together.
        error: its standard error, None where it is not known (a single sentence).
        replicates: what the error is from (`saccade.reports.slope.replicates`).
    """

    value: float
    error: float | None
    replicates: Sequence[float]

    def __sub__(self, other: "Score") -> "Score":
        """The difference, replicate by replicate.

        >>> one, other = Score(0.9, 0.1, [0.8, 1.0]), Score(0.5, 0.1, [0.4, 0.6])
        >>> round((one - other).value, 3), (one - other).error
        (0.4, 0.0)
        """
        differences = [mine - its for mine, its in zip(self.replicates, other.replicates, strict=True)]
        return Score(self.value - other.value, standard_error(differences), differences)

    def text(self, decimals: int, *, signed: bool = False) -> str:
        """Return the score with twice its error.

        >>> Score(0.5, 0.01, []).text(2, signed=True), Score(0.5, None, []).text(1)
        ('+0.50 ± 0.02', '0.5')
        """
        number = round(self.value, decimals) + 0.0  # not -0.0
        around = "" if self.error is None else f" ± {2 * self.error:.{decimals}f}"
        return f"{number:{'+' if signed else ''}.{decimals}f}{around}"


def sign(difference: Score) -> int:
    """Return whether a difference is above 0 by more than twice its error (1), below it so (-1), or neither (0).

    >>> sign(Score(0.3, 0.1, [])), sign(Score(-0.3, 0.1, [])), sign(Score(0.2, 0.1, [])), sign(Score(9.0, None, []))
    (1, -1, 0, 0)
    """
    error = math.inf if difference.error is None else difference.error
    return (difference.value > 2 * error) - (difference.value < -2 * error)


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


def mean(rows: Sequence[Mapping[str, Any]]) -> Score:
    """Return the mean score of rows that are one but for their seeds.

    Their sentences are the same, so their errors do not average out.
    """
    errors = [row["error"] for row in rows]
    error = None if None in errors else statistics.fmean(errors)
    partial = [statistics.fmean(scores) for scores in zip(*(row["replicates"] for row in rows), strict=True)]
    return Score(statistics.fmean(row["score"] for row in rows), error, partial)


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


class Trial:
    """Models that were each trained and scored on the whole test split.

    Args:
        content: of report.json; of its rows those with a score count.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows: list[dict[str, Any]] = [row for row in content["rows"] if "score" in row]
        models = dict.fromkeys(row["model"] for row in self.rows)
        self.scores = {model: mean([row for row in self.rows if row["model"] == model]) for model in models}
        first = self.rows[0]
        self.sentences, self.name, self.digits = (
            first["sentences"],
            metric_name(first["metric"]),
            digits(first["metric"]),
        )

    def learned(self, model: str) -> bool:
        """Whether a model gets something right, beyond twice the error."""
        return sign(self.scores[model]) > 0

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
