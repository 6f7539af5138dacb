"""Sentences by the length of their source, and the score of those of like length."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from saccade.reports import scoring
from saccade.tasks.translate import Translate
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.metrics import length_groups, length_unit

__all__ = ["FEW", "Bucket", "by_source_length", "measured", "unit"]

FEW = 30  # sentences: a score of fewer is marked, since one sentence more or less would move it
_DATES = ("dates", "several-dates")
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

    >>> unit("corpus", "de"), unit("corpus", "ja"), unit("dates", None), unit("trees", None)
    ('words', 'characters', 'characters', 'words')
    """
    return "characters" if data in _DATES else length_unit(language)


def by_source_length(pairs: Sequence[Pair], counted: str) -> list[Bucket]:
    """Group sentences by the length of their source: five words or ten characters a group.

    Args:
        pairs: the sentences with their references.
        counted: "words" or "characters".
    """
    groups: dict[str, list[Pair]] = {}
    for pair, name in zip(
        pairs, length_groups([pair.source for pair in pairs], counted, _WIDTHS[counted]), strict=True
    ):
        groups.setdefault(name, []).append(pair)
    found = [Bucket(name, _mean_length(members, counted), members) for name, members in groups.items()]
    return sorted(found, key=lambda bucket: bucket.length)


def measured(task: Translate, model: nn.Module, bucket: Bucket, seed: int) -> dict[str, Any]:
    """Return what a row of the report says of a bucket: its length and all that `scoring.measured` returns."""
    found = scoring.measured(task, model, bucket.pairs, seed)
    return {"length": round(bucket.length, 3), "few": len(bucket.pairs) < FEW, **found}


def _mean_length(pairs: Sequence[Pair], counted: str) -> float:
    return statistics.fmean(len(pair.source.split() if counted == "words" else pair.source.strip()) for pair in pairs)
