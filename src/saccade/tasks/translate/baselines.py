"""Baselines of translation: the source, and the target of a training source.

This training source is nearest in length, or in its words.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.metrics import length, length_unit
from saccade.train.task import Baseline, Metric

__all__ = ["baselines", "by_length", "nearest"]

_ROWS = 64  # sources that are compared with all training sources at once
_ADVICE = "train longer (a larger --max-minutes), or copy the target of the nearest source as this baseline does"


def baselines(
    train: Sequence[Pair],
    sources: Sequence[str],
    score: Callable[[Sequence[str]], Metric],
    name: str,
    language: str | None,
) -> dict[str, Baseline]:
    """Measure copies of the sources, and targets of similar training sources.

    These have a similar length or similar words.

    Args:
        train: training pairs.
        sources: to be translated.
        score: metric of outputs, one for each source.
        name: of the metric.
        language: code of the sources' language. Some are counted in characters.
    """

    def measured(about: str, outputs: Callable[[], Sequence[str]], advice: str = "") -> Baseline:
        began = time.perf_counter()
        metric = score(outputs())
        return Baseline({name: metric}, about, round(time.perf_counter() - began, 3), advice)

    unit = length_unit(language)
    of = f"of {len(train):,} training pairs"
    return {
        "copy": measured("the source as it is", lambda: sources),
        "length": measured(f"the target of a source as long, {of}", lambda: by_length(train, sources, unit)),
        "nearest": measured(
            f"the target of the source with the most similar words, by TF-IDF, {of}",
            lambda: nearest(train, sources, unit),
            _ADVICE,
        ),
    }


def by_length(train: Sequence[Pair], sources: Sequence[str], unit: str) -> list[str]:
    """Return the target of the training source nearest in length, for each source.

    Args:
        train: training pairs, one at least. Of equal lengths the first pair counts.
        sources: to be translated.
        unit: "words" (between spaces) or "characters".

    Example:
        >>> by_length([Pair("ein Wort", "one word", ""), Pair("ja", "yes", "")], ["gut so", "nein", "a b c"], "words")
        ['one word', 'yes', 'one word']
    """
    targets: dict[int, str] = {}
    for pair in train:
        targets.setdefault(length(pair.source, unit), pair.target)
    lengths = sorted(targets)

    def closest(count: int) -> int:
        index = bisect_left(lengths, count)
        return min(lengths[max(0, index - 1) : index + 1], key=lambda other: abs(other - count))

    return [targets[closest(length(source, unit))] for source in sources]


def nearest(train: Sequence[Pair], sources: Sequence[str], unit: str) -> list[str]:
    """Return the target of the training source most similar to each source.

    The similarity is the cosine of TF-IDF vectors of single words and pairs of words. Texts that are counted in
    characters have vectors of one to three characters. Of equal similarities the first pair counts.

    Args:
        train: training pairs, one at least.
        sources: to be translated.
        unit: "words" (between spaces) or "characters".

    Example:
        >>> nearest([Pair("ein Wort", "one word", ""), Pair("ja", "yes", "")], ["ein Buch", "Ja!"], "words")
        ['one word', 'yes']
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # here: it takes a second to import

    parts: dict[str, Any] = {"token_pattern": r"\w+|[^\w\s]", "ngram_range": (1, 2)}
    if unit == "characters":
        parts = {"analyzer": "char", "ngram_range": (1, 3)}
    vectors = TfidfVectorizer(**parts, dtype=np.float32)
    if not any(pair.source.split() for pair in train):
        return [train[0].target] * len(sources)
    keys = vectors.fit_transform([pair.source for pair in train]).T.tocsr()
    queries, best = vectors.transform(sources), list[int]()
    for first in range(0, len(sources), _ROWS):
        best += (queries[first : first + _ROWS] @ keys).toarray().argmax(1).tolist()
    return [train[index].target for index in best]
