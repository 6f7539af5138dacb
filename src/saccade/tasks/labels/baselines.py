"""What a classifier has to beat: the most frequent class, and whatever else answers with classes."""

import time
from collections import Counter
from collections.abc import Callable, Sequence

from saccade.tasks.labels.metrics import measured
from saccade.train.task import Baseline

__all__ = ["majority", "timed"]


def majority(train: Sequence[int], wanted: Sequence[int], labels: Sequence[str]) -> Baseline:
    """Return what always answering the class that most of some training examples have comes to.

    Args:
        train: the numbers of training examples' classes; of classes that as many have, the lowest counts.
        wanted: those of the split that is measured.
        labels: names of the classes.

    Example:
        >>> majority([0, 1, 1], [1, 0, 1, 1], ["bad", "good"]).about
        'always good'
    """
    counts = Counter(train)
    best = min(counts, key=lambda label: (-counts[label], label))
    return timed(lambda: [best] * len(wanted), wanted, labels, f"always {labels[best]:.40}")


def timed(predict: Callable[[], Sequence[int]], wanted: Sequence[int], labels: Sequence[str], about: str) -> Baseline:
    """Return what some way of answering comes to.

    Args:
        predict: returns the numbers of the classes that it answers, as many as are wanted.
        wanted: those that are true.
        labels: names of the classes.
        about: what it does.
    """
    began = time.perf_counter()
    found = predict()
    metrics, _ = measured(found, wanted, labels, [""] * len(wanted))
    return Baseline(metrics, about, round(time.perf_counter() - began, 3))
