"""Checks of the labels of rows."""

from collections.abc import Callable, Sequence
from typing import Any

from saccade.data.dataset import SPLITS
from saccade.data.rows import Rows
from saccade.data.splits import wholes
from saccade.errors import ArgumentError

__all__ = ["check_labels"]

_FEW = 10  # number of labels that is never too many for the rows


def check_labels(rows: Rows[Any], labels_of: Callable[[Any], Sequence[str]], where: str, what: str) -> tuple[str, ...]:
    """Return all labels of the training split, sorted.

    Args:
        rows: the rows.
        labels_of: from a row to its labels.
        where: the data, for messages.
        what: the rows, for messages.

    Raises:
        ArgumentError: if there is only one label, if there are more labels than half the rows, or if another split has
            a label that training lacks. Up to ten labels are never too many. Data to measure alone
            (`saccade.data.splits.undivided`) may have any labels.

    Example:
        >>> rows = Rows({split: ["no", "yes"] for split in SPLITS}, "")
        >>> check_labels(rows, lambda row: [row], "data", "texts")
        ('no', 'yes')
    """
    train = rows.splits["train"]
    trained = {label for row in train for label in labels_of(row)}
    labels = sorted(trained)
    if wholes() is not None:  # nothing learns from them
        return tuple(labels)
    if len(labels) < 2:
        got = f"got {labels[0]!r:.60} alone" if labels else "got none"
        raise ArgumentError(f"{where}: expected two labels or more to train on, {got}")
    if len(labels) > _FEW and 2 * len(labels) > len(train):
        got = f"got {len(labels)} different ones for {len(train)} {what}; are these the labels?"
        raise ArgumentError(f"{where}: expected labels that several {what} have, {got}")
    for split in SPLITS[1:]:
        for index, row in enumerate(rows.splits[split]):
            if unknown := next((label for label in labels_of(row) if label not in trained), None):
                wrong = f"the label {unknown!r:.60} of the {split} split is in no row to train on"
                raise ArgumentError(f"{rows.where(split, index)}: {wrong}; leave it out, or add {what} that have it")
    return tuple(labels)
