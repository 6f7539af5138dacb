"""A file of labelled texts, in any of the forms that such come in, as rows of text and label by their numbers."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ArgumentError
from saccade.tasks.conversions import converted
from saccade.tasks.text.files import Numbers, keep, read_filled, text_hash
from saccade.tasks.text.lines import Lines

__all__ = ["Scanned", "Table", "open_table", "scan"]

_TEXT, _LABEL = ("text", "sentence"), ("label",)  # what a header may call the columns
_LABEL_FIRST = (".all", ".train", ".dev", ".test")
_END = "end"  # a line behind the others: if it is no row of its own, the row before has no end
_LONGEST_FIELD = 2**31 - 1  # characters: a text of a CSV file may be a whole book


@dataclass(frozen=True)
class Table:
    """The rows of a file.

    Args:
        lines: the rows; a row of a CSV file may be several lines of it.
        read: from a row to its text and label; raises ValueError with what is wrong.
        header: how many rows come before the first example: the header, and blank ones before it.
        numbers: the line that each row begins in, from 0 on.
    """

    lines: Lines
    read: Callable[[str], tuple[str, str]]
    header: int
    numbers: Numbers

    def __getitem__(self, line: int) -> tuple[str, str]:
        """Return text and label of a row, white space around them taken off; that within a label is a space each.

        Raises:
            ArgumentError: naming file and line, if there are no such two.
        """
        try:
            text, label = self.read(self.lines[line])
        except (ValueError, csv.Error) as error:
            raise ArgumentError(f"{self.place(line)}: {error}") from None
        return text.strip(), " ".join(label.split())

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
        note: what a user should know, "" if nothing.
    """

    table: Table
    kept: NDArray[np.int64]
    labels: dict[str, int]
    codes: NDArray[np.int64]
    note: str

    def hashes(self) -> NDArray[np.uint64]:
        """Return a hash of the text of each kept row."""
        return np.array([text_hash(self.table[int(row)][0]) for row in self.kept], np.uint64)


def open_table(path: Path) -> Table:
    """Open a file of labelled texts, packed by gzip or not, in UTF-8 or else Latin-1.

    - A name that ends in .csv: columns between commas (or semicolons, or tabs), perhaps in quotes, below a header that
      names `text` (or `sentence`) and `label`.
    - Rows with tabs: text, tab, label; or columns below such a header.
    - Else, and where a name ends in .all, .train, .dev or .test: a label, a space, a text.

    Args:
        path: the file.

    Raises:
        ArgumentError: naming what is wrong.
        OSError: if it cannot be read.
    """
    if way_out := converted(path):
        raise ArgumentError(f"{path}: expected rows of a text and a label, got another kind of file{way_out}")
    lines = read_filled(path, latin1=True)
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix == ".csv":
        return _csv(lines)
    first = next((lines[number] for number in range(len(lines)) if lines[number].strip()), "")
    if suffix == ".tsv" or ("\t" in first and suffix not in _LABEL_FIRST):
        return _tsv(lines)
    return Table(lines, _label_first, 0, range(len(lines)))


def scan(table: Table) -> Scanned:
    """Read every row once: which have a text, and which label each has.

    Raises:
        ArgumentError: naming the first row that is none, or that has a text but no label; if none has a text.
    """
    blank, codes, labels = np.zeros(len(table.lines), np.bool_), np.zeros(len(table.lines), np.int64), dict[str, int]()
    numbered: dict[str, int] = {}
    for row in range(table.header, len(table.lines)):
        text, label = table[row] if table.lines[row].strip() else ("", "")
        blank[row] = not text
        if text and not label:
            raise ArgumentError(f"{table.place(row)}: expected a label beside the text, got none")
        if text:
            codes[row] = numbered.setdefault(label, len(numbered))
            labels.setdefault(label, row)
    path, what = table.lines.path, "rows, which have a blank text"
    if len(table.lines) == table.header:
        raise ArgumentError(f"{path}: expected rows below the header, got none")
    chosen, note = keep(blank[table.header :], path, what, lambda row: f"line {table.line(row + table.header)}")
    kept = np.asarray(chosen, np.int64) + table.header
    if table.lines.encoding != "utf-8":
        note = "; ".join(filter(None, [note, f"{path}: it is no UTF-8, and was read as Latin-1"]))
    return Scanned(table, kept, labels, codes[kept], note)


def _label_first(row: str) -> tuple[str, str]:
    label, _, text = row.strip().partition(" ")
    return text, label


def _tsv(lines: Lines) -> Table:
    """Rows with tabs: two columns, or those that a header names."""
    first = next((number for number in range(len(lines)) if lines[number].strip()), 0)
    columns = _columns(names := lines[first].split("\t"), f"{lines.path}: line {first + 1}")
    numbers = range(len(lines))
    if columns is None:
        return Table(lines, _text_first, 0, numbers)
    return Table(lines, _reader(lambda row: row.split("\t"), columns, len(names)), first + 1, numbers)


def _text_first(row: str) -> tuple[str, str]:
    parts = row.split("\t")
    if len(parts) != 2:
        got = "no tab" if len(parts) == 1 else f"{len(parts)} columns"
        raise ValueError(f"expected a text, a tab and a label, or a header with text and label above, got {got}")
    return parts[0], parts[1]


def _csv(lines: Lines) -> Table:
    """Rows of a CSV file: a line break between quotes is part of a text."""
    csv.field_size_limit(_LONGEST_FIELD)
    for delimiter in ",;\t":
        names = _header(lines, delimiter)
        if (columns := _columns(names, f"{lines.path}: line 1")) is not None:
            numbers = _starts(lines, delimiter)
            rows = replace(lines, starts=lines.starts[[*numbers, len(lines)]])
            return Table(rows, _reader(partial(_fields, delimiter), columns, len(names)), 1, numbers)
    raise ArgumentError(f"{lines.path}: line 1: expected a header that names text and label, got {lines[0]!r:.60}")


def _header(lines: Lines, delimiter: str) -> list[str]:
    """The names of the columns, which may have line breaks between quotes; none where they cannot be read."""
    try:
        return next(csv.reader(_texts(lines), delimiter=delimiter), [])
    except csv.Error:
        return []


def _texts(lines: Lines) -> Iterator[str]:
    return (f"{lines[number]}\n" for number in range(len(lines)))


def _starts(lines: Lines, delimiter: str) -> NDArray[np.int64]:
    """The lines that rows begin in: a quote within a cell, as that of an inch, opens nothing."""
    reader, starts, cells = csv.reader(chain(_texts(lines), [_END]), delimiter=delimiter), [0], list[str]()
    try:
        for row in reader:
            cells = row
            starts.append(reader.line_num)
    except csv.Error as error:
        raise ArgumentError(f"{lines.path}: line {reader.line_num}: {error}") from None
    if cells != [_END]:
        place = f"{lines.path}: line {starts[-2] + 1}"
        raise ArgumentError(f"{place}: expected a quote for each quote that opens a text, got one without its other")
    return np.array(starts[:-2], np.int64)


def _fields(delimiter: str, row: str) -> list[str]:
    return next(csv.reader(io.StringIO(row, newline=""), delimiter=delimiter), [])


def _columns(names: Sequence[str], where: str) -> tuple[int, int] | None:
    """Which columns text and label are in, if this is a header that says so."""
    lower = [name.strip().lower() for name in names]
    texts, labels = ([place for place, name in enumerate(lower) if name in known] for known in (_TEXT, _LABEL))
    if not texts or not labels:
        return None
    for found, known in ((texts, _TEXT), (labels, _LABEL)):
        if len(found) > 1:
            got = f"got {' and '.join(lower[place] for place in found)}"
            raise ArgumentError(f"{where}: expected one column {' or '.join(known)}, {got}; rename the others")
    return texts[0], labels[0]


def _reader(
    cut: Callable[[str], Sequence[str]], columns: tuple[int, int], width: int
) -> Callable[[str], tuple[str, str]]:
    """What reads a row of columns, of which two are wanted; cells that the header does not name are mistakes."""

    def read(row: str) -> tuple[str, str]:
        parts = cut(row)
        if len(parts) > width:
            way_out = "put a text with such a mark in quotes, or take it out"
            raise ValueError(f"expected {width} columns, as the header says, got {len(parts)}; {way_out}")
        if len(parts) <= max(columns):
            raise ValueError(f"expected {max(columns) + 1} columns or more, as the header says, got {len(parts)}")
        return parts[columns[0]], parts[columns[1]]

    return read
