"""A file of labelled texts, in any of the forms that such come in, as rows of text and label by their numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.data.cleaning import composed
from saccade.data.conversions import converted
from saccade.data.dataset import SPLITS
from saccade.data.splits import SPLIT, SplitNames, split_named
from saccade.errors import ArgumentError
from saccade.tasks.text.delimited import Delimited, columns_of, delimited, suffix_of
from saccade.tasks.text.files import Numbers, keep, read_filled, text_hash
from saccade.tasks.text.lines import Lines

__all__ = ["Scanned", "Table", "open_table", "scan"]

_COLUMNS = {"text": ("text", "sentence"), "label": ("label",), SPLIT: (SPLIT,)}  # by the names in a header
_LABEL_FIRST = (".all", ".train", ".dev", ".test")


@dataclass(frozen=True)
class Table:
    """The rows of a file.

    Args:
        lines: a row each; a row of a CSV file may be several lines of the file.
        read: from a row's number to its text, label and split, "" without a column of splits; raises ValueError with
            what is wrong.
        header: how many rows come before the first example: the header, and blank ones before it.
        numbers: the line that each row begins in, from 0 on.
        divided: whether a column says the split of each row.
    """

    lines: Lines
    read: Callable[[int], tuple[str, str, str]]
    header: int
    numbers: Numbers
    divided: bool = False

    def __getitem__(self, row: int) -> tuple[str, str]:
        """Return text and label of a row, white space around them taken off; that within a label is a space each.

        Raises:
            ArgumentError: naming file and line, if there are no such two.
        """
        return self.whole(row)[:2]

    def whole(self, row: int) -> tuple[str, str, str]:
        """Return text, label and split of a row, as `self[row]` has the first two."""
        try:
            text, label, split = self.read(row)
        except ArgumentError:  # of the file, which it names
            raise
        except ValueError as error:
            raise ArgumentError(f"{self.place(row)}: {error}") from None
        return composed(text.strip()), composed(" ".join(label.split())), split

    def line(self, row: int) -> int:
        """Return the line that a row begins in, from 1 on: there may be a header, and rows of several lines."""
        return int(self.numbers[row]) + 1

    def place(self, row: int) -> str:
        """Return the file and the line in it where a row is."""
        return f"{self.lines.path}: line {self.line(row)}"


@dataclass(frozen=True)
class Scanned:
    """What all rows of a file are.

    Args:
        table: the file.
        kept: the numbers of the rows with a text.
        labels: each label, and the first kept row that has it.
        codes: which label each kept row has, as its place in `labels`.
        parts: which split each kept row is in, as its place among `SPLITS`.
        note: what a user should know, "" if nothing.
    """

    table: Table
    kept: NDArray[np.int64]
    labels: dict[str, int]
    codes: NDArray[np.int64]
    parts: NDArray[np.int64]
    note: str

    def hashes(self) -> NDArray[np.uint64]:
        """Return a hash of the text of each kept row."""
        return np.array([text_hash(self.table[int(row)][0]) for row in self.kept], np.uint64)


def open_table(path: Path) -> Table:
    """Open a file of labelled texts, packed by gzip or not, in UTF-8 or else Latin-1.

    - A name that ends in .csv: columns below a header that names `text` (or `sentence`) and `label`.
    - Rows with tabs: text, tab, label; or columns below such a header.
    - Else, and where a name ends in .all, .train, .dev or .test: a label, a space, a text.

    `saccade.tasks.text.delimited` says how columns are cut. A column `split` says which split a row is in.

    Args:
        path: the file.

    Raises:
        ArgumentError: naming what is wrong.
        OSError: if it cannot be read.
    """
    if way_out := converted(path):
        raise ArgumentError(f"{path}: expected rows of a text and a label, got another kind of file{way_out}")
    lines = read_filled(path, latin1=True)
    suffix = suffix_of(path)
    first = next((lines[number] for number in range(len(lines)) if lines[number].strip()), "")
    if suffix not in (".csv", ".tsv") and ("\t" not in first or suffix in _LABEL_FIRST):
        return Table(lines, lambda row: _label_first(lines[row]), 0, range(len(lines)))
    table = delimited(lines)
    names = table.names
    columns = columns_of(names, _COLUMNS, table.place(table.first))
    if {"text", "label"} <= set(columns):
        read = partial(_named, table, columns, len(names))
        return Table(table.lines, read, table.first + 1, table.numbers, SPLIT in columns)
    if suffix == ".csv":
        got = f"got {table.lines[table.first]!r:.60}"
        raise ArgumentError(f"{table.place(table.first)}: expected a header that names text and label, {got}")
    return Table(lines, lambda row: _text_first(table[row]), 0, range(len(lines)))


def scan(table: Table, names: SplitNames, known: str = "") -> Scanned:
    """Read every row once: which have a text, and which label and which split each has.

    Args:
        table: the file.
        names: what splits are called.
        known: the split of all rows, which a column of splits may not contradict; "": the column says it.

    Raises:
        ArgumentError: naming the first row that is none, or that has a text but no label or split; if none has a text.
    """
    count = len(table.lines)
    blank, codes, parts = np.zeros(count, np.bool_), np.zeros(count, np.int64), np.zeros(count, np.int64)
    labels, numbered = dict[str, int](), dict[str, int]()
    for row in range(table.header, count):
        text, label, split = table.whole(row) if table.lines[row].strip() else ("", "", "")
        blank[row] = not text
        if text and not label:
            raise ArgumentError(f"{table.place(row)}: expected a label beside the text, got none")
        if text:
            codes[row] = numbered.setdefault(label, len(numbered))
            labels.setdefault(label, row)
            own = split_named(split, names, known, table.place(row)) if table.divided else known or "train"
            parts[row] = SPLITS.index(own)
    path, what = table.lines.path, "rows, which have a blank text"
    if count == table.header:
        raise ArgumentError(f"{path}: expected rows below the header, got none")
    chosen, note = keep(blank[table.header :], path, what, lambda row: f"line {table.line(row + table.header)}")
    kept = np.asarray(chosen, np.int64) + table.header
    if table.lines.encoding != "utf-8":
        note = "; ".join(filter(None, [note, f"{path}: it is no UTF-8, and was read as Latin-1"]))
    return Scanned(table, kept, labels, codes[kept], parts[kept], note)


def _label_first(row: str) -> tuple[str, str, str]:
    label, _, text = row.strip().partition(" ")
    return text, label, ""


def _text_first(cells: Sequence[str]) -> tuple[str, str, str]:
    if len(cells) != 2:
        got = "no tab" if len(cells) == 1 else f"{len(cells)} columns"
        raise ValueError(f"expected a text, a tab and a label, or a header with text and label above, got {got}")
    return cells[0], cells[1], ""


def _named(table: Delimited, columns: Mapping[str, int], width: int, row: int) -> tuple[str, str, str]:
    """Text, label and split of a row below a header; a cell that the header does not name is a mistake."""
    cells = table[row]
    if len(cells) > width:
        way_out = "put a text with such a mark in quotes, or take it out"
        raise ValueError(f"expected {width} columns, as the header says, got {len(cells)}; {way_out}")
    if len(cells) <= (last := max(columns.values())):
        raise ValueError(f"expected {last + 1} columns or more, as the header says, got {len(cells)}")
    return cells[columns["text"]], cells[columns["label"]], cells[columns[SPLIT]] if SPLIT in columns else ""
