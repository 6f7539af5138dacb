"""Tables in text: CSV, TSV and JSON lines from Excel, pandas and corpora.

    text,label                    text<TAB>label                 {"text": "dull", "label": "bad"}
    "dull, and long",bad          "dull", and long<TAB>bad       {"text": "fine", "label": "good"}

A cell between commas, semicolons or bars may be in quotes (RFC 4180). Between tabs, quotes are text, as in corpora,
unless all of them are around cells, as Excel and pandas write them. A .tsv file has tabs. Any file except .csv has tabs
if its first line has one. Other files have the most frequent delimiter of their first row. In files of Excel, a first
line `sep=;` names the delimiter.

Source:
    Shafranovich 2005, RFC 4180, section 2 (https://www.rfc-editor.org/rfc/rfc4180).
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from saccade.data.columns import Column, check_once, find_columns
from saccade.data.conversions import converted
from saccade.data.dataset import counted, joined
from saccade.data.naming import alike
from saccade.data.splits import SPLIT
from saccade.data.table import Table
from saccade.data.texts import read_text, suffix_of
from saccade.errors import ArgumentError

__all__ = ["INDEX", "JSON", "is_readable", "number_of", "read_table"]

INDEX = "Unnamed: 0"
"""Name that pandas gives to a first column of row numbers without a header."""

JSON = (".jsonl", ".ndjson", ".json")
_MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_QUOTED = re.compile(r'(?<![^\t\n])"(?:[^"\t\n]|"")*+"(?=[\t\r\n]|\Z)')  # a cell between tabs
_LONG_QUOTED = re.compile(r'(?<![^\t\n])"(?:[^"]|"")*+"(?=[\t\r\n]|\Z)')  # a cell with tabs and line breaks
_NAME = 3  # most words of the name of a column
_FILE = re.compile(r"\.\w{2,5}$")
_SEPARATOR = re.compile(r'\s*"?sep=([,;\t|])"?\s*', re.IGNORECASE)


def read_table(path: Path, columns: Sequence[Column] | None = None, *, more: bool = False) -> Table:
    """Read a table of text, packed by gzip or not.

    Rows are mappings, with the names of a header. Rows with tabs need no header. Blank rows are left out.

    Args:
        path: the file.
        columns: the columns that a header has to name. Default: the first row is a header.
        more: whether to ignore cells after `columns` in a file without a header.

    Raises:
        ArgumentError: for an invalid row, with its number.
        OSError: if the file cannot be read.
    """
    needed = joined([column.names[0] for column in columns or () if column.needed] or ["columns"])
    if way_out := converted(path):
        raise ArgumentError(f"{path}: expected a table with {needed}, got another kind of file{way_out}")
    text, note = read_text(path)
    if not text.strip():
        raise ArgumentError(f"{path}: expected a table with {needed}, got an empty file")
    if suffix_of(path) in JSON:
        numbers, rows = _json(text, path)
        note = "; ".join(filter(None, [note, _blank(path, numbers)]))
        return Table(rows, _numbered(path, numbers), note=note, size=len(rows), numbers=numbers)
    body, mark = _dialect(text, path)
    quoted = mark != "\t" or _is_quoted(body)
    numbers, cells = [], list[list[str]]()
    for number, row in enumerate(_rows(body, mark, path, quoted), 1 if body is text else 2):
        if any(cell.strip() for cell in row):
            numbers.append(number)
            cells.append(row)
    usual = {".csv": ",", ".tsv": "\t"}.get(suffix_of(path), "\t,")
    notes = [
        note,
        f"{path}: its columns have {_MARKS[mark]} between them" * (mark not in usual),
        f"{path}: the quotes around its cells are left out" * (quoted and mark == "\t"),
        _blank(path, numbers),
    ]
    note = "; ".join(filter(None, notes))
    return _headed(cells, columns, mark, more, note, path, numbers)


def _blank(path: Path, numbers: Sequence[int]) -> str:
    """Return a note of blank rows between others, "" if there are none."""
    count = numbers[-1] - numbers[0] + 1 - len(numbers) if numbers else 0
    return f"{path}: left out {counted(count, 'blank rows')}" if count else ""


def _numbered(path: Path, numbers: Sequence[int]) -> Callable[[int], str]:
    return lambda index: f"row {numbers[index]} of {path}"


def _headed(
    cells: list[list[str]],
    columns: Sequence[Column] | None,
    mark: str,
    more: bool,
    note: str,
    path: Path,
    numbers: Sequence[int],
) -> Table:
    """Return rows as mappings, by a header, or by position for tabs without a header."""
    where = _numbered(path, numbers)
    names = [cell.strip().removeprefix('"').removesuffix('"') for cell in cells[0]]
    if not names[0] and _is_index([row[0].strip('" ') for row in cells[1:]]):
        names[0] = INDEX
    names = [SPLIT if name.lower() == SPLIT else name or f"column {position}" for position, name in enumerate(names, 1)]
    if columns is None and all(is_readable(number_of, name) for name in names):
        got = f"got {mark.join(cells[0])!r:.60}; add a line of names"
        raise ArgumentError(f"{where(0)}: expected names of the columns, {got}")
    matches = dict(zip(columns or (), find_columns(columns or (), names, where(0)), strict=True))
    needed = [column for column in matches if column.needed]
    is_named = all(matches[column] is not None for column in needed)
    if is_named or (_is_header(names, cells[1:]) and (mark != "\t" or _are_alike(needed, names, cells[1:]))):
        if not (columns and is_named) and (twice := next((name for name in names if names.count(name) > 1), None)):
            raise ArgumentError(f"{where(0)}: expected columns of different names, got {twice} twice")
        rows, below = _Named(names, cells[1:]), numbers[1:]
        return Table(rows, _numbered(path, below), note=note, size=len(below), head=where(0), numbers=below)
    titles, count = joined(column.names[0] for column in needed), len(needed)
    if mark != "\t":
        raise ArgumentError(f"{where(0)}: expected a header that names {titles}, got {mark.join(cells[0])!r:.60}")
    for index, row in enumerate(cells):
        if len(row) < count or (not more and any(cell.strip() for cell in row[count:])):
            got = "no tab" if len(row) == 1 else f"{len(row)} columns"
            way_out = f"; cut -f 1-{count} keeps the first {count}" if len(row) > count else ""
            expected = f"expected {titles} with a tab between, or a header that names them"
            raise ArgumentError(f"{where(index)}: {expected}, got {got}{way_out}")
    ordered = [dict(zip((column.names[0] for column in needed), row, strict=False)) for row in cells]
    return Table(ordered, where, note=note, size=len(cells), numbers=numbers)


def _is_index(cells: Sequence[str]) -> bool:
    """Return whether the cells of a column are distinct integers, in any order."""
    return all(cell.isdecimal() for cell in cells) and len(set(cells)) == len(cells)


def _is_header(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a first row of unknown names is a header, not a row of values.

    A name has few words, is no number or file, and is no value of its column.
    """
    short = all(
        len(name.split()) <= _NAME and not is_readable(number_of, name) and not _FILE.search(name) for name in names
    )
    repeated = any(name == cell.strip() for row in rows for name, cell in zip(names, row, strict=False))
    return bool(rows) and len(names) > 1 and short and not repeated


def _are_alike(columns: Sequence[Column], names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether one column each looks like those of a task below unknown names."""
    cells = {name: [row[column] for row in rows if column < len(row)] for column, name in enumerate(names)}
    return all(len(like) == 1 for like in alike(columns, cells).values())


@dataclass(frozen=True)
class _Named:
    """Rows as mappings. Missing cells are blank, and surplus cells an error."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __iter__(self) -> Iterator[dict[str, str]]:
        for row in self.rows:
            if len(row) > len(self.names):
                expected = f"expected {len(self.names)} columns, as the header says, got {len(row)}"
                raise ValueError(f"{expected}. Put a text with such a mark in quotes, or take it out.")
            yield dict(zip_longest(self.names, row, fillvalue=""))


def _dialect(text: str, path: Path) -> tuple[str, str]:
    """Return the text without a first line `sep=`, and the delimiter."""
    head, _, rest = text.partition("\n")
    if (named := _SEPARATOR.fullmatch(head)) and rest.strip():
        return rest, named[1]
    first, suffix = text.lstrip("\r\n ").partition("\n")[0], suffix_of(path)
    if suffix == ".tsv" or (suffix != ".csv" and "\t" in first):
        return text, "\t"
    with _long_cells(text):
        return text, max(",;\t|", key=lambda mark: len(next(filter(any, _cut(text, mark)), [])))


def _is_quoted(text: str) -> bool:
    """Return whether all quotes of a table with tabs are around cells or doubled."""
    if '"' not in text:
        return False
    ragged = len({line.count("\t") for line in text.split("\n") if line.strip()}) > 1
    return '"' not in (_LONG_QUOTED if ragged else _QUOTED).sub("", text)


def _cut(text: str, mark: str, *, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=strict)


def _rows(text: str, mark: str, path: Path, quoted: bool) -> list[list[str]]:
    """Return all rows as cells, with blank rows."""
    if not quoted:
        return [line.removesuffix("\r").split(mark) for line in text.split("\n")]
    rows = list[list[str]]()
    try:
        with _long_cells(text):
            rows.extend(_cut(text, mark, strict=True))
    except csv.Error as error:
        expected = "expected quotes around whole cells, and each quote within them twice"
        raise ArgumentError(f"row {len(rows) + 1} of {path}: {expected}, got another row ({error})") from error
    return rows


@contextmanager
def _long_cells(text: str) -> Iterator[None]:
    """Raise the limit of `csv` on cells to the length of a text. All readers share it."""
    limit = csv.field_size_limit(max(len(text), 1))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _json(text: str, path: Path) -> tuple[Sequence[int], list[Any]]:
    """Return the rows of a JSON array, or of a file with an object in each line."""
    if text.lstrip().startswith("[") and suffix_of(path) == ".json":
        rows = _parsed(text, str(path))
        return range(1, len(rows) + 1), rows
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [number for number, _ in lines], [_parsed(line, f"row {number} of {path}") for number, line in lines]


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{where}: expected JSON, an object a line, got another text ({error})") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    check_once([name for name, _ in pairs])
    return dict(pairs)


def is_readable(read: Callable[[str], object], text: str) -> bool:
    """Return whether a function reads a text without a ValueError.

    >>> is_readable(number_of, "1.5"), is_readable(number_of, "1,5")
    (True, False)
    """
    try:
        read(text)
    except ValueError:
        return False
    return True


def number_of(text: str) -> float:
    """Return the number in a text of ASCII digits, decimal point and exponent.

    Raises:
        ValueError: if the text is no such number.

    Example:
        >>> number_of(" 1.5e3 "), number_of(".5")
        (1500.0, 0.5)
        >>> number_of("1_000")
        Traceback (most recent call last):
        ValueError: could not convert string to float: '1_000'
    """
    if "_" in text or not text.isascii():  # float() accepts underscores and other digits
        raise ValueError(f"could not convert string to float: {text!r}")
    return float(text)
