"""The score of a trained model on sentences, with what its error is from; and such scores compared."""

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from saccade.reports.slope import replicates, standard_error
from saccade.tasks.translate import Translate
from saccade.tasks.translate.corpus import Corpus, Pair
from saccade.tasks.translate.evaluation import score
from saccade.tasks.translate.metrics import in_place
from saccade.train.randomness import seeded
from saccade.train.task import Metric, value

__all__ = ["ERRORS", "Score", "digits", "mean", "measured", "metric_name", "pairs_of", "sign"]

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


def pairs_of(corpus: Corpus, split: str) -> list[Pair]:
    """Return the sentences of a split, one that ends, with their references."""
    return [corpus.example(split, index) for index in range(corpus.size(split) or 0)]


def measured(task: Translate, model: nn.Module, pairs: Sequence[Pair], seed: int) -> dict[str, Any]:
    """Translate sentences as the run's own evaluation does, and score them together.

    Returns:
        What a row of a report says of them: "score" is that of all as one corpus, "error" its standard error,
        "replicates" what the error is from, "seconds" the time that it took to translate them.
    """
    began = time.perf_counter()
    with torch.inference_mode(), seeded(seed, "test"):
        outputs = [best[0] for best in task.predict(model, (pair.source for pair in pairs), 1)]
    seconds = time.perf_counter() - began
    references = [pair.target for pair in pairs]
    several = task.settings.data == "several-dates"

    def scored(places: Sequence[int]) -> Metric:
        texts = [outputs[place] for place in places], [references[place] for place in places]
        return in_place(*texts) if several else score(task, *texts)

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
