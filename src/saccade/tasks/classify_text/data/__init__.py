"""Labelled texts: built-in reviews, files, folders and Python objects."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Protocol

from saccade.data import OBJECTS, Blank, Column, Examples, Row, Rows, open_rows
from saccade.data.columns import label
from saccade.data.dataset import SPLITS, Dataset
from saccade.data.layouts.sentences import SENTENCES, read_sentences, sentences
from saccade.data.layouts.text_folders import text_folders
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.reviews import Example, Reviews
from saccade.tasks.text.markup import without_markup

__all__ = ["BUILTIN", "Corpus", "Texts", "open_corpus"]

BUILTIN = {
    "reviews": "sentences about films, positive or negative by their word order; generated on the fly",
}
_COLUMNS = (Column("text", ("text", "sentence")), Column("label", ("label",), label, what="a label"))
_LAYOUTS = (text_folders, partial(sentences, columns=_COLUMNS))
_HOLDS = "train.csv (.tsv, .txt, .jsonl, .parquet), or a folder of .txt files for each label"
_FEW = 10  # labels that any number of texts may have
_BLANK = Blank[Row](lambda row: not row["text"], "texts, which are blank")
_BARE = Blank[Row](lambda row: not without_markup(row["text"]).strip(), "texts, which are blank without markup")


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
        ArgumentError: if there is one label, there are nearly as many as texts, or one has no training text.
    """

    def __init__(self, rows: Rows[Row], where: str) -> None:
        super().__init__(rows, lambda row: Example(**row, group=""))
        labels, size = set(self.labels), rows.size("train")
        if len(labels) < 2:
            got = f"got {self.labels[0]!r:.60} alone"
            raise ArgumentError(f"{where}: expected two labels or more to train on, {got}")
        if len(labels) > _FEW and 2 * len(labels) > size:
            got = f"got {len(labels)} different ones for {size} texts; are these the labels?"
            raise ArgumentError(f"{where}: expected labels that several texts have, {got}")
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


def open_corpus(
    data: str, objects: Any = None, names: SplitNames | None = None, *, strip_markup: bool = False
) -> Corpus:
    """Open labelled texts.

    Args:
        data: a key of `BUILTIN`, a file, a folder, the beginning of file names, or "objects".
        objects: texts with labels, if `data` is "objects".
        names: names of the splits.
        strip_markup: whether to remove HTML from the texts.

    Raises:
        ArgumentError: if there are no such data, or they are damaged.

    Example:
        >>> open_corpus("reviews").labels
        ('negative', 'positive')
    """
    place = "data" if data == OBJECTS else data
    corpus: Corpus = open_rows(
        data,
        {"reviews": Reviews},
        _COLUMNS,
        lambda rows: Texts(_without_markup(rows) if strip_markup else rows, place),
        names,
        objects,
        forms="folder, file or files that begin so",
        holds=_HOLDS,
        layouts=_LAYOUTS,
        read=partial(read_sentences, columns=_COLUMNS),
        ends=SENTENCES,
        blank=_BARE if strip_markup else _BLANK,
        what="texts",
    )
    return corpus


def _without_markup(rows: Rows[Row]) -> Rows[Row]:
    splits = {
        split: [{**row, "text": without_markup(row["text"])} for row in part] for split, part in rows.splits.items()
    }
    return replace(rows, splits=splits, fingerprint=f"{rows.fingerprint}, without markup")
