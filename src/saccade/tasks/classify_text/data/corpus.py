"""What a corpus of labelled texts is, and the one that is read from files."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.data.dataset import SPLITS, Dataset, check_index
from saccade.errors import ArgumentError
from saccade.tasks.text.files import Splits
from saccade.tasks.text.markup import without_markup

__all__ = ["Corpus", "Example", "Files", "WithoutMarkup", "check_labels", "unknown_label"]

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


@dataclass(frozen=True)
class Files(Splits):
    """A corpus that is read from files as it is asked for.

    Args:
        labels: all of them, sorted.
    """

    labels: tuple[str, ...]

    def example(self, split: str, index: int) -> Example:
        """Return one example of a split; its group is "".

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        return Example(*self.row(split, index), "")


@dataclass(frozen=True)
class WithoutMarkup:
    """A corpus whose texts are HTML, taken out of them; a text of which nothing is left is left out.

    Args:
        corpus: the texts as they are.
    """

    corpus: Corpus

    def example(self, split: str, index: int) -> Example:
        """Return one example of a split.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        check_index(split, index, self.size(split))
        kept = self._kept.get(split)
        found = self.corpus.example(split, index if kept is None else int(kept[index]))
        return found._replace(text=without_markup(found.text))

    def size(self, split: str) -> int | None:
        """Return how many examples a split has."""
        kept = self._kept.get(split)
        return self.corpus.size(split) if kept is None else len(kept)

    @property
    def labels(self) -> Sequence[str]:
        """All labels, sorted.

        Raises:
            ArgumentError: if those of the texts that are left cannot be learned.
        """
        if "train" not in self._kept:
            return self.corpus.labels
        found = self._labels("train")
        check_labels(found, len(self._kept["train"]), "without markup")
        for split in SPLITS:
            for label in sorted(self._labels(split) - found):
                raise unknown_label(label, split, "without markup")
        return sorted(found)

    @property
    def note(self) -> str:
        """What a user should know of the texts."""
        out = ", ".join(f"{count} of {self.corpus.size(split)} texts of {split}" for split, count in self._out.items())
        said = f"left out, as nothing is left of them without markup: {out}" if out else ""
        return "; ".join(filter(None, [self.corpus.note, said]))

    @property
    def fingerprint(self) -> str:
        """What the examples are, in one string."""
        out = sum(self._out.values())
        return f"{self.corpus.fingerprint}, without markup{f', {out} left out' if out else ''}"

    @cached_property
    def _kept(self) -> dict[str, NDArray[np.int64]]:
        """The texts that are left, of the splits that are not whole."""
        found = {}
        for split in SPLITS:
            size = self.corpus.size(split) or 0
            texts = (self.corpus.example(split, index).text for index in range(size))
            filled = np.array([bool(without_markup(text).strip()) for text in texts], np.bool_)
            if size and not filled.any():
                way_out = "leave --strip-markup out, or add texts"
                raise ArgumentError(f"without markup: no text of {split} is left, of {size}; {way_out}")
            if not filled.all():
                found[split] = np.flatnonzero(filled)
        return found

    def _labels(self, split: str) -> set[str]:
        """Those of the texts of a split that are left."""
        left = self._kept.get(split, range(self.corpus.size(split) or 0))
        return {self.corpus.example(split, int(index)).label for index in left}

    @property
    def _out(self) -> dict[str, int]:
        """How many texts are left out, of the splits that are not whole."""
        return {split: (self.corpus.size(split) or 0) - len(kept) for split, kept in self._kept.items()}


def check_labels(labels: Collection[str], count: int, where: object) -> None:
    """Refuse what cannot be the labels of texts to train on.

    Args:
        labels: the different ones.
        count: of the texts.
        where: they are from, for the message.

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


def unknown_label(label: str, split: str, place: str) -> ArgumentError:
    """Return the error for a label that no training text has.

    Args:
        label: it.
        split: which has it.
        place: of the text that has it.

    Example:
        >>> unknown_label("fair", "test", "test.tsv: line 3")
        ArgumentError("test.tsv: line 3: the label 'fair' of the test split is in no text to train on; ... have it")
    """
    wrong = f"the label {label!r:.60} of the {split} split is in no text to train on"
    return ArgumentError(f"{place}: {wrong}; leave it out, or add texts that have it")
