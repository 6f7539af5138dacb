"""The most frequent text of the training split as a baseline."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from saccade.train.task import Baseline, Metric

__all__ = ["most_frequent"]


def most_frequent(train: Iterable[str], measure: Callable[[str], Mapping[str, Metric]]) -> Baseline:
    """Measure the most frequent text as the output for every input.

    Args:
        train: training texts. Spaces between words do not count, and ties are broken by the alphabet.
        measure: metrics of a text.

    Example:
        >>> baseline = most_frequent(["no", "yes", "yes"], lambda text: {"letters": float(len(text))})
        >>> baseline.metrics, baseline.about
        ({'letters': 3.0}, "always 'yes'")
    """
    began, counts = time.perf_counter(), Counter(" ".join(text.split()) for text in train)
    best = min(counts, key=lambda text: (-counts[text], text))
    metrics = dict(measure(best))
    return Baseline(metrics, f"always {best[:38]!r}", round(time.perf_counter() - began, 3))
