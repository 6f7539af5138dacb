"""What a translator has to beat: the source as it is, and a target of a training source that is as long."""

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
    """Return what copying and what knowing nothing but the length come to.

    Args:
        train: training pairs.
        sources: what is to be translated.
        score: measures as many outputs.
        name: of that metric.
        language: of the sources, by its code: some are counted in characters.
    """

    def measured(about: str, outputs: Callable[[], Sequence[str]]) -> Baseline:
        began = time.perf_counter()
        found = score(outputs())
        return Baseline({name: found}, about, round(time.perf_counter() - began, 3))

    unit = length_unit(language)
    about = f"the target of a source as long, of {len(train):,} training pairs"
    return {
        "copy": measured("the source as it is", lambda: sources),
        "length": measured(about, lambda: by_length(train, sources, unit)),
    }


def by_length(train: Sequence[Pair], sources: Sequence[str], unit: str) -> list[str]:
    """Return for each source the target of the first training pair whose source is as long, or the nearest in length.

    Args:
        train: training pairs, one at least.
        sources: what is to be translated.
        unit: "words" (between spaces) or "characters".

    Example:
        >>> by_length([Pair("ein Wort", "one word", ""), Pair("ja", "yes", "")], ["gut so", "nein", "a b c"], "words")
        ['one word', 'yes', 'one word']
    """
    targets: dict[int, str] = {}
    for pair in train:
        targets.setdefault(length(pair.source, unit), pair.target)
    known = sorted(targets)

    def nearest(wanted: int) -> int:
        place = bisect_left(known, wanted)
        return min(known[max(0, place - 1) : place + 1], key=lambda other: abs(other - wanted))

    return [targets[nearest(length(source, unit))] for source in sources]
