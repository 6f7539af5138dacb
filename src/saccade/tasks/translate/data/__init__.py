"""Pairs of texts: built in, in files, and as Python objects."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from saccade.data import Blank, Column, Examples, Row, load
from saccade.data.dataset import no_such_data
from saccade.data.files import ENDS
from saccade.data.layouts.aligned import aligned
from saccade.data.layouts.pair_files import PAIR_FILES, read_pair_file
from saccade.data.naming import chosen
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.data.tables import read_table
from saccade.data.texts import suffix_of
from saccade.errors import ArgumentError
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.tasks.translate.data.dates import LANGUAGES, Dates
from saccade.tasks.translate.data.several import COUNTS, SeveralDates
from saccade.tasks.translate.data.trees import LENGTHS, Trees

__all__ = ["BUILTIN", "COLUMNS", "group_names", "open_corpus"]

BUILTIN = {
    "dates": "dates in 20 languages, translated to ISO 8601 (2025-06-18); generated on the fly by Babel",
    "several-dates": "one to three dates in a row, each in another language; generated on the fly",
    "trees": "sentences of a small English grammar, translated to their syntax trees; generated on the fly",
}
_BUILTIN = {"dates": (Dates, LANGUAGES), "several-dates": (SeveralDates, COUNTS), "trees": (Trees, LENGTHS)}
_HOLDS = "files of both sides such as train.de and train.en, or tables such as train.tsv (.csv, .jsonl, .tmx, .xlf)"
COLUMNS = (Column("source", ("source",)), Column("target", ("target",)))
"""Columns of pairs."""
_BLANK = Blank[Row](lambda row: not (row["source"] and row["target"]), "pairs, which have a blank side", ("train",))


def open_corpus(
    data: str,
    source: str | None = None,
    target: str | None = None,
    objects: Any = None,
    names: SplitNames | None = None,
) -> Corpus:
    """Return built-in data, a folder of aligned files, a file of pairs, or tables.

    Args:
        data: a key of `BUILTIN`, or the path of a folder or file.
        source: the side to translate from: the suffix of files, or the column of a table. In a file of pairs the source
            comes first, and this is only its language.
        target: the side to translate to.
        objects: pairs, if `data` is `OBJECTS`.
        names: the names of splits.

    Raises:
        ArgumentError: if there is no such data set, or something is wrong with it.

    Example:
        >>> open_corpus("dates").size("test")
        2000
    """
    names, sides = names or SplitNames(), {"source": source, "target": target}
    if data in BUILTIN:
        names.refuse(data)
        for option, side in sides.items():
            if side is not None:
                raise ArgumentError(f"--{option}: expected none, as {data} says what its sides are; leave {side} out")
        return _BUILTIN[data][0]()
    if source and target and source.lower() == target.lower():
        raise ArgumentError(f"--target: expected another side than --source, got {target} for both")
    columns = [
        replace(column, names=(*filter(None, [side]), *column.names))
        for column, side in zip(COLUMNS, sides.values(), strict=True)
    ]

    def read(path: Path) -> Table:
        if suffix_of(path) in PAIR_FILES:
            return read_pair_file(path, source, target)
        return read_table(path, chosen(columns, names), more=True)

    rows = load(
        data,
        columns,
        names,
        objects,
        layouts=[partial(aligned, source=source, target=target)],
        read=read,
        ends=(*ENDS, *PAIR_FILES),
        nested="translation",
        blank=_BLANK,
        what="pairs",
    )
    if rows is None:
        raise no_such_data(data, BUILTIN, holds=_HOLDS)
    return Examples(rows, lambda row: Pair(**row, group=""))


def group_names(data: str) -> Mapping[str, str] | None:
    """Return the names of the groups of a built-in corpus, or None for others."""
    return _BUILTIN[data][1] if data in BUILTIN else None
