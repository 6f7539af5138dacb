"""Labelled texts in three splits."""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

from saccade.data import Examples, Row, Rows
from saccade.data.dataset import SPLITS, Dataset
from saccade.errors import ArgumentError

__all__ = ["Corpus", "Example", "Texts", "check_labels"]

_FEW = 10  # labels that there may be however few the texts


class Example(NamedTuple):
    """A text, its label, and the group that it is measured in beside its class, "" if none.

    >>> Example("a fine film", "positive", "").label
    'positive'
    """

    text: str
    label: str
    group: str


class Corpus(Dataset[Example], Protocol):
    """Labelled texts in three splits."""

    @property
    def labels(self) -> Sequence[str]:
        """All labels, sorted."""


class Texts(Examples[Example]):
    """A corpus of rows with a text and a label.

    Args:
        rows: the rows.
        where: the data, for messages.

    Raises:
        ArgumentError: if the labels cannot be learned, or a label is in no text to train on.
    """

    def __init__(self, rows: Rows[Row], where: str) -> None:
        super().__init__(rows, lambda row: Example(**row, group=""))
        check_labels(self.labels, rows.size("train"), where)
        labels = set(self.labels)
        for split in SPLITS[1:]:
            for index, row in enumerate(rows.splits[split]):
                if row["label"] not in labels:
                    wrong = f"the label {row['label']!r:.60} of the {split} split is in no text to train on"
                    way_out = "leave it out, or add texts that have it"
                    raise ArgumentError(f"{rows.where(split, index)}: {wrong}; {way_out}")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All labels of the training split, sorted."""
        return tuple(sorted({row["label"] for row in self.rows.splits["train"]}))


def check_labels(labels: Collection[str], count: int, where: object) -> None:
    """Reject labels that texts cannot be trained on.

    Args:
        labels: the different ones.
        count: the number of texts.
        where: the data, for the message.

    Raises:
        ArgumentError: if there is one alone, or nearly as many as texts.

    Example:
        >>> check_labels(["good"], 3, "texts.tsv")
        Traceback (most recent call last):
        saccade.errors.ArgumentError: texts.tsv: expected two labels or more to train on, got 'good' alone
    """
    if len(labels) < 2:
        [only] = labels
        raise ArgumentError(f"{where}: expected two labels or more to train on, got {only!r:.60} alone")
    if len(labels) > _FEW and 2 * len(labels) > count:
        got = f"got {len(labels)} different ones for {count} texts; are these the labels?"
        raise ArgumentError(f"{where}: expected labels that several texts have, {got}")
