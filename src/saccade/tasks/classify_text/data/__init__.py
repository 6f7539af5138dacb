"""Labelled texts: built-in reviews, files, folders and Python objects."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from saccade.data import OBJECTS, Blank, Column, Examples, Row, Rows, open_rows
from saccade.data.columns import label
from saccade.data.dataset import Dataset
from saccade.data.labels import check_labels
from saccade.data.layouts.sentences import SENTENCES, read_sentences, sentences
from saccade.data.layouts.text_folders import text_folders
from saccade.data.naming import are_few, are_long, chosen
from saccade.data.splits import SplitNames
from saccade.tasks.classify_text.data.reviews import Reviews
from saccade.tasks.labels.labelled import LabelledText
from saccade.tasks.text.markup import without_markup

__all__ = ["BUILTIN", "COLUMNS", "Corpus", "Texts", "open_corpus"]

BUILTIN = {
    "reviews": "sentences about films, positive or negative by their word order; generated on the fly",
}
COLUMNS = (
    Column("text", ("text", "sentence"), looks=are_long),
    Column("label", ("label",), label, what="a label", looks=are_few),
)
"""Columns of texts with labels."""
_HOLDS = "train.csv (.tsv, .txt, .jsonl, .parquet), or a folder of .txt files for each label"
_BLANK = Blank[Row](lambda row: not row["text"], "texts, which are blank")
_BARE = Blank[Row](lambda row: not without_markup(row["text"]).strip(), "texts, which are blank without markup")


class Corpus(Dataset[LabelledText], Protocol):
    """Labelled texts in three splits."""

    @property
    def labels(self) -> Sequence[str]:
        """All labels, sorted."""


class Texts(Examples[LabelledText]):
    """A corpus of rows with a text and a label.

    Args:
        rows: the rows.
        where: the data, for messages.

    Raises:
        ArgumentError: if there is one label, there are nearly as many as texts, or one has no training text.
    """

    def __init__(self, rows: Rows[Row], where: str) -> None:
        super().__init__(rows, lambda row: LabelledText(**row))
        self.labels = check_labels(rows, lambda row: [row["label"]], where, "texts")


def open_corpus(
    data: str, objects: Any = None, names: SplitNames | None = None, *, strip_markup: bool = False
) -> Corpus:
    """Open labelled texts.

    Args:
        data: a key of `BUILTIN`, a file, a folder, the beginning of file names, or "objects".
        objects: texts with labels, if `data` is "objects".
        names: names of splits and columns.
        strip_markup: whether to remove HTML from the texts.

    Raises:
        ArgumentError: if there are no such data, or they are damaged.

    Example:
        >>> open_corpus("reviews").labels
        ('negative', 'positive')
    """
    source, columns = "data" if data == OBJECTS else data, chosen(COLUMNS, names)
    corpus: Corpus = open_rows(
        data,
        {"reviews": Reviews},
        COLUMNS,
        lambda rows: Texts(_without_markup(rows) if strip_markup else rows, source),
        names,
        objects,
        forms="folder, file or files that begin so",
        holds=_HOLDS,
        layouts=(text_folders, partial(sentences, columns=columns)),
        read=partial(read_sentences, columns=columns),
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
