"""What a model that writes has to beat: the most frequent text of the training split, whatever the input."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from saccade.train.task import Baseline, Metric

__all__ = ["most_frequent"]


def most_frequent(train: Iterable[str], measure: Callable[[str], Mapping[str, Metric]]) -> Baseline:
    """Return what writing the most frequent text comes to.

    Args:
        train: training texts, of which spaces are not looked at; of those that are as frequent, the first in the
            alphabet counts.
        measure: what it comes to if it is written of everything.

    Example:
        >>> most_frequent(["no", "yes", "yes"], lambda text: {"letters": float(len(text))})
        Baseline(metrics={'letters': 3.0}, about="always 'yes'", seconds=0.0)
    """
    began, counts = time.perf_counter(), Counter(" ".join(text.split()) for text in train)
    best = min(counts, key=lambda text: (-counts[text], text))
    metrics = dict(measure(best))
    return Baseline(metrics, f"always {best[:38]!r}", round(time.perf_counter() - began, 3))
