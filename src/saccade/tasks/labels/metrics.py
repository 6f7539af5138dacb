"""Metrics of labels: accuracy, F1 by label, and the confusion matrix."""

from collections import Counter
from collections.abc import Sequence

from saccade.train.task import Metric

__all__ = ["HEADLINE", "accuracy", "confusion", "f1", "measured"]

HEADLINE = "accuracy"
_MATRIX = 100  # most labels of a whole confusion matrix


def accuracy(predictions: Sequence[int], targets: Sequence[int]) -> float:
    """Return the share of right predictions.

    >>> accuracy([0, 1, 1, 1], [0, 1, 0, 1])
    0.75
    """
    pairs = zip(predictions, targets, strict=True)
    return sum(prediction == target for prediction, target in pairs) / max(1, len(targets))


def f1(predictions: Sequence[int], targets: Sequence[int], label: int) -> float:
    r"""Return F1, the harmonic mean of precision and recall, \(2 t / (p + n)\).

    Args:
        predictions: p of them are the label.
        targets: n of them are the label, and t with the same prediction.
        label: its number.

    Example:
        >>> f1([0, 0, 1], [0, 1, 1], 0)
        0.6666666666666666
    """
    right = sum(prediction == target == label for prediction, target in zip(predictions, targets, strict=True))
    count = list(predictions).count(label) + list(targets).count(label)
    return 2 * right / count if count else 0.0


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
    predictions: Sequence[int], targets: Sequence[int], labels: Sequence[str], groups: Sequence[str]
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return accuracy and mean F1, both by label too, and accuracy by group.

    Args:
        predictions: numbers of labels.
        targets: numbers of the true labels.
        labels: their names.
        groups: of each example, "" for none.

    Example:
        >>> metrics, parts = measured([0, 1, 1], [0, 1, 0], ["a", "b"], ["", "x", "x"])
        >>> parts["accuracy"]
        {'a': 0.5, 'b': 1.0, 'x': 0.5}
    """
    scores = {labels[label]: f1(predictions, targets, label) for label in sorted(set(targets) | set(predictions))}
    parts: dict[str, list[int]] = {}
    for index, (label, group) in enumerate(zip(targets, groups, strict=True)):
        for name in filter(None, (labels[label], group)):
            parts.setdefault(name, []).append(index)
    shares = {
        name: accuracy([predictions[n] for n in part], [targets[n] for n in part]) for name, part in parts.items()
    }
    mean = sum(scores.values()) / len(scores)
    metrics: dict[str, Metric] = {HEADLINE: accuracy(predictions, targets), "macro_f1": mean}
    return metrics, {HEADLINE: shares, "macro_f1": scores}
