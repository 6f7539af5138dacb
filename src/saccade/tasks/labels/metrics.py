"""Metrics of labels: accuracy, F1 by label, and the confusion matrix."""

from collections import Counter
from collections.abc import Sequence

from saccade.train.task import Metric

__all__ = ["HEADLINE", "accuracy", "confusion", "f1", "measured"]

HEADLINE = "accuracy"
_MATRIX = 100  # most labels of a whole confusion matrix


def accuracy(found: Sequence[int], wanted: Sequence[int]) -> float:
    """Return the share of the answers that are right.

    >>> accuracy([0, 1, 1, 1], [0, 1, 0, 1])
    0.75
    """
    return sum(one == other for one, other in zip(found, wanted, strict=True)) / max(1, len(wanted))


def f1(found: Sequence[int], wanted: Sequence[int], label: int) -> float:
    r"""Return the harmonic mean of a class's precision and recall, \(2 t / (f + w)\).

    Args:
        found: what was answered.
        wanted: what is true.
        label: the class, of which t answers are right, f were given, and w are true.

    Example:
        >>> f1([0, 0, 1], [0, 1, 1], 0)
        0.6666666666666666
    """
    right = sum(one == other == label for one, other in zip(found, wanted, strict=True))
    given = sum(one == label for one in found) + sum(other == label for other in wanted)
    return 2 * right / given if given else 0.0


def confusion(targets: Sequence[str], predictions: Sequence[str], labels: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the number of examples by label and prediction, in the order of labels.

    With more than 100 labels these are the 50 most frequent confusions of two labels alone.

    Example:
        >>> confusion(["cat", "dog", "dog"], ["cat", "cat", "dog"], ["cat", "dog"])
        {'cat': {'cat': 1}, 'dog': {'cat': 1, 'dog': 1}}
    """
    order = {label: number for number, label in enumerate(dict.fromkeys([*labels, *targets, *predictions]))}
    pairs = Counter(zip(targets, predictions, strict=True))
    rows = sorted(pairs.items(), key=lambda pair: (order[pair[0][0]], order[pair[0][1]]))
    if len(order) > _MATRIX:
        wrong = [row for row in rows if row[0][0] != row[0][1]]
        rows = sorted(wrong, key=lambda row: -row[1])[: _MATRIX // 2]
    counts: dict[str, dict[str, int]] = {}
    for (label, prediction), count in rows:
        counts.setdefault(label, {})[prediction] = count
    return counts


def measured(
    found: Sequence[int], wanted: Sequence[int], labels: Sequence[str], groups: Sequence[str]
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return accuracy and mean F1 of all answers, and both by class; accuracy by other groups too.

    Args:
        found: the numbers of the classes that were answered.
        wanted: those that are true.
        labels: names of the classes.
        groups: of each example, "" for none.

    Example:
        >>> metrics, parts = measured([0, 1, 1], [0, 1, 0], ["a", "b"], ["", "x", "x"])
        >>> parts["accuracy"]
        {'a': 0.5, 'b': 1.0, 'x': 0.5}
    """
    scores = {labels[label]: f1(found, wanted, label) for label in sorted(set(wanted) | set(found))}
    places: dict[str, list[int]] = {}
    for place, (label, group) in enumerate(zip(wanted, groups, strict=True)):
        for name in filter(None, (labels[label], group)):
            places.setdefault(name, []).append(place)
    shares = {name: accuracy([found[n] for n in own], [wanted[n] for n in own]) for name, own in places.items()}
    metrics: dict[str, Metric] = {HEADLINE: accuracy(found, wanted), "macro_f1": sum(scores.values()) / len(scores)}
    return metrics, {HEADLINE: shares, "macro_f1": scores}
