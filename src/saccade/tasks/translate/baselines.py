"""Baselines of translation: the source, and the target of a training source.

This training source is nearest in length.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence

from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.metrics import length, length_unit
from saccade.train.task import Baseline, Metric

__all__ = ["baselines", "by_length"]


def baselines(
    train: Sequence[Pair],
    sources: Sequence[str],
    score: Callable[[Sequence[str]], Metric],
    name: str,
    language: str | None,
) -> dict[str, Baseline]:
    """Measure copies of the sources, and targets of training sources of like length.

    Args:
        train: training pairs.
        sources: to be translated.
        score: metric of outputs, one for each source.
        name: of the metric.
        language: code of the sources' language. Some are counted in characters.
    """

    def measured(about: str, outputs: Callable[[], Sequence[str]]) -> Baseline:
        began = time.perf_counter()
        metric = score(outputs())
        return Baseline({name: metric}, about, round(time.perf_counter() - began, 3))

    unit = length_unit(language)
    about = f"the target of a source as long, of {len(train):,} training pairs"
    return {
        "copy": measured("the source as it is", lambda: sources),
        "length": measured(about, lambda: by_length(train, sources, unit)),
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

    def nearest(count: int) -> int:
        index = bisect_left(lengths, count)
        return min(lengths[max(0, index - 1) : index + 1], key=lambda other: abs(other - count))

    return [targets[nearest(length(source, unit))] for source in sources]
