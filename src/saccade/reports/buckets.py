"""Sentences by the length of their source, and the score of those of like length."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from saccade.reports.slope import replicates, standard_error
from saccade.tasks.translate import Translate
from saccade.tasks.translate.corpora import BUILTIN
from saccade.tasks.translate.corpus import Corpus, Pair
from saccade.tasks.translate.evaluation import score
from saccade.tasks.translate.metrics import in_place, length_groups, length_unit
from saccade.train.randomness import seeded
from saccade.train.task import Metric, value

__all__ = ["FEW", "Bucket", "by_source_length", "measured", "unit"]

FEW = 30  # sentences: a score of fewer is marked, since one sentence more or less would move it
_WIDTHS = {"words": 5, "characters": 10}


@dataclass(frozen=True)
class Bucket:
    """Sentences of like length.

    Args:
        name: from the shortest length that belongs here to the longest: "6-10".
        length: mean length of the sources.
        pairs: the sentences with their references.
    """

    name: str
    length: float
    pairs: Sequence[Pair]


def unit(data: str, language: str | None) -> str:
    """Return what lengths are counted in: dates have too few words to tell short from long.

    >>> unit("corpus", "de"), unit("corpus", "ja"), unit("dates", None)
    ('words', 'characters', 'characters')
    """
    return "characters" if data in BUILTIN else length_unit(language)


def by_source_length(corpus: Corpus, split: str, counted: str) -> list[Bucket]:
    """Group the sentences of a split by the length of their source: five words or ten characters a group.

    Args:
        corpus: the corpus.
        split: one that ends.
        counted: "words" or "characters".
    """
    pairs = [corpus.example(split, index) for index in range(corpus.size(split) or 0)]
    groups: dict[str, list[Pair]] = {}
    for pair, name in zip(
        pairs, length_groups([pair.source for pair in pairs], counted, _WIDTHS[counted]), strict=True
    ):
        groups.setdefault(name, []).append(pair)
    found = [Bucket(name, _mean_length(members, counted), members) for name, members in groups.items()]
    return sorted(found, key=lambda bucket: bucket.length)


def measured(task: Translate, model: nn.Module, bucket: Bucket, seed: int) -> dict[str, Any]:
    """Translate the sentences of a bucket as the run's own evaluation does, and score them together.

    Returns:
        What a row of the report says of the bucket: "score" is that of all its sentences as one corpus, "error" its
        standard error, "replicates" what the error is from, "seconds" the time that it took to translate them.
    """
    began = time.perf_counter()
    with torch.inference_mode(), seeded(seed, "test"):
        outputs = [best[0] for best in task.predict(model, (pair.source for pair in bucket.pairs), 1)]
    seconds = time.perf_counter() - began
    references = [pair.target for pair in bucket.pairs]
    several = task.settings.data == "several-dates"

    def scored(places: Sequence[int]) -> Metric:
        texts = [outputs[place] for place in places], [references[place] for place in places]
        return in_place(*texts) if several else score(task, *texts)

    metric = scored(range(len(outputs)))
    partial = replicates(lambda places: value(scored(places)), len(outputs))
    return {
        "lengths": bucket.name,
        "length": round(bucket.length, 3),
        "sentences": len(outputs),
        "few": len(outputs) < FEW,
        "metric": "dates_in_place" if several else task.headline,
        "score": value(metric),
        "signature": metric["signature"] if isinstance(metric, dict) else None,
        "error": standard_error(partial),
        "replicates": [round(one, 6) for one in partial],
        "seconds": round(seconds, 3),
    }


def _mean_length(pairs: Sequence[Pair], counted: str) -> float:
    return statistics.fmean(len(pair.source.split() if counted == "words" else pair.source.strip()) for pair in pairs)
