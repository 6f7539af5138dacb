"""Labelled texts: the built-in corpus, and those of files, folders and Python objects."""

from dataclasses import replace
from functools import partial
from typing import Any

from saccade.data import OBJECTS, Blank, Column, Row, Rows, load
from saccade.data.columns import label
from saccade.data.dataset import no_such_data
from saccade.data.layouts.sentences import SENTENCES, read_sentences, sentences
from saccade.data.layouts.text_folders import text_folders
from saccade.data.splits import SplitNames
from saccade.tasks.classify_text.data.corpus import Corpus, Texts
from saccade.tasks.classify_text.data.reviews import Reviews
from saccade.tasks.text.markup import without_markup

__all__ = ["BUILTIN", "open_corpus"]

BUILTIN = {
    "reviews": "sentences about films, positive or negative by their word order; generated on the fly",
}
_COLUMNS = (Column("text", ("text", "sentence")), Column("label", ("label",), label))
_LAYOUTS = (text_folders, partial(sentences, columns=_COLUMNS))
_HOLDS = "train.csv (.tsv, .txt, .jsonl, .parquet), or a folder of .txt files for each label"


def open_corpus(
    data: str, objects: Any = None, names: SplitNames | None = None, *, strip_markup: bool = False
) -> Corpus:
    """Return the corpus that --data names: the built-in one, a file, a folder, or the beginning of files' names.

    Args:
        data: its name.
        objects: the texts and labels themselves, if `data` is "objects".
        names: the names of splits.
        strip_markup: whether to take HTML out of the texts.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.

    Example:
        >>> open_corpus("reviews").labels
        ('negative', 'positive')
    """
    names = names or SplitNames()
    if data in BUILTIN:
        names.refuse(data)
        return Reviews()
    blank = _BARE if strip_markup else _BLANK
    read = partial(read_sentences, columns=_COLUMNS)
    rows = load(data, _COLUMNS, names, objects, layouts=_LAYOUTS, read=read, ends=SENTENCES, blank=blank, what="texts")
    if rows is None:
        names.check("train", data)
        raise no_such_data(data, BUILTIN, "folder, file or files that begin so", _HOLDS)
    rows = _without_markup(rows) if strip_markup else rows
    return Texts(rows, "data" if data == OBJECTS else data)


_BLANK = Blank[Row](lambda row: not row["text"], "texts, which are blank")
_BARE = Blank[Row](lambda row: not without_markup(row["text"]).strip(), "texts, which are blank without markup")


def _without_markup(rows: Rows[Row]) -> Rows[Row]:
    splits = {
        split: [{**row, "text": without_markup(row["text"])} for row in part] for split, part in rows.splits.items()
    }
    return replace(rows, splits=splits, fingerprint=f"{rows.fingerprint}, without markup")
