"""Texts in a folder for each label, as in aclImdb and 20 Newsgroups.

train/pos/0_9.txt  test/neg/7_1.txt     splits, then labels, without folders unsup
pos/cv000.txt      neg/cv001.txt        labels only: validation and test are held out

Pang and Lee's reviews have the second layout.
"""

from dataclasses import replace
from pathlib import Path

from saccade.data.files import ENDS, split_files
from saccade.data.layouts.class_folders import class_folders, labelled_files
from saccade.data.media import read_bytes
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.data.texts import decoded

__all__ = ["text_folders"]

_LARGEST = 1 << 24  # largest size of a text in bytes, far above a book


def text_folders(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of a text and its label, or None if no folder has texts.

    The label is the name of the folder.

    Raises:
        ArgumentError: for an invalid text or a missing split or label, with its name.
        OSError: if a file cannot be read.
    """
    if not folder.is_dir() or any(path.is_dir() and split_files(path, names, ENDS) for path in folder.iterdir()):
        return None  # a folder of several data sets with splits
    tables = class_folders(labelled_files(folder, names, ("", ".txt")), folder, "texts", names, beside=True)
    return tables and {split: _read(table, folder, split) for split, table in tables.items()}


def _read(table: Table, folder: Path, split: str) -> Table:
    rows, recoded, paths = list[tuple[str, str]](), 0, [row["file"] for row in table.rows]
    for path, row in zip(paths, table.rows, strict=True):
        text, fallback = decoded(read_bytes(path, str(path), "a text", _LARGEST, "cut it"), path, latin1=True)
        rows.append((text, row["label"]))
        recoded += bool(fallback)
    latin1 = f"{folder}: {recoded} texts of {split or 'train'} are no UTF-8, and were read as Latin-1" * bool(recoded)
    return replace(
        table,
        rows=rows,
        where=[str(path) for path in paths].__getitem__,
        note="; ".join(filter(None, [table.note, latin1])),
    )
