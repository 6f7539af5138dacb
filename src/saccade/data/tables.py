"""Tables in text: CSV and TSV as Excel, pandas and corpora write them, and JSON lines.

    text,label                    text<TAB>label                 {"text": "dull", "label": "bad"}
    "dull, and long",bad          "dull", and long<TAB>bad       {"text": "fine", "label": "good"}

A cell between commas, semicolons or bars may be in quotes (RFC 4180). Between tabs, quotes are text, as in the corpora
of the field, unless all of them are around cells, as Excel and pandas write them. A file called .tsv has tabs, and so
has one that is not called .csv and has a tab in its first line. Another has the delimiter that its first row has most.
Excel's first line `sep=;` names the delimiter itself.

Source:
    Shafranovich 2005, RFC 4180, section 2 (https://www.rfc-editor.org/rfc/rfc4180).
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

from saccade.data.columns import Column, check_once, find_columns
from saccade.data.conversions import converted
from saccade.data.dataset import joined
from saccade.data.splits import SPLIT
from saccade.data.table import Table
from saccade.data.texts import read_text, suffix_of
from saccade.errors import ArgumentError

__all__ = ["INDEX", "JSON", "number_of", "read_table"]

INDEX = "Unnamed: 0"
"""Name of a first column without a header that numbers the rows, as pandas names it."""

JSON = (".jsonl", ".ndjson", ".json")
_MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_QUOTED = re.compile(r'(?<![^\t\n])"(?:[^"\t\n]|"")*+"(?=[\t\r\n]|\Z)')  # a cell between tabs
_LONG_QUOTED = re.compile(r'(?<![^\t\n])"(?:[^"]|"")*+"(?=[\t\r\n]|\Z)')  # which may have tabs and lines
_SEPARATOR = re.compile(r'\s*"?sep=([,;\t|])"?\s*', re.IGNORECASE)


def read_table(path: Path, columns: Sequence[Column] | None = None, *, more: bool = False) -> Table:
    """Read a table of text, packed by gzip or not.

    Rows are mappings, with the names of a header. Rows with tabs need no header. Blank rows are left out.

    Args:
        path: the file.
        columns: the columns that a header has to name; None if the first row is a header in any case.
        more: ignore cells behind those of `columns` in a file without a header.

    Raises:
        ArgumentError: naming the row that is wrong.
        OSError: if the file cannot be read.
    """
    wanted = joined([column.names[0] for column in columns or () if column.needed] or ["columns"])
    if way_out := converted(path):
        raise ArgumentError(f"{path}: expected a table with {wanted}, got another kind of file{way_out}")
    text, note = read_text(path, latin1=True)
    if not text.strip():
        raise ArgumentError(f"{path}: expected a table with {wanted}, got an empty file")
    if suffix_of(path) in JSON:
        numbers, rows = _json(text, path)
        return Table(rows, _numbered(path, numbers), note=note, size=len(rows))
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
    ]
    note = "; ".join(filter(None, notes))
    return _headed(cells, columns, mark, more, note, _numbered(path, numbers))


def _numbered(path: Path, numbers: Sequence[int]) -> Callable[[int], str]:
    return lambda index: f"row {numbers[index]} of {path}"


def _headed(
    cells: list[list[str]],
    columns: Sequence[Column] | None,
    mark: str,
    more: bool,
    note: str,
    where: Callable[[int], str],
) -> Table:
    """Rows below a header as mappings; rows with tabs as they are if their first one is no header."""
    names = [cell.strip().removeprefix('"').removesuffix('"') for cell in cells[0]]
    if not names[0] and _is_index([row[0].strip('" ') for row in cells[1:]]):
        names[0] = INDEX
    names = [SPLIT if name.lower() == SPLIT else name or f"column {place}" for place, name in enumerate(names, 1)]
    if columns is None and all(map(_is_number, names)):
        got = f"got {mark.join(cells[0])!r:.60}; add a line of names"
        raise ArgumentError(f"{where(0)}: expected names of the columns, {got}")
    if columns is None and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ArgumentError(f"{where(0)}: expected columns of different names, got {twice} twice")
    found = dict(zip(columns or (), find_columns(columns or (), names, where(0)), strict=True))
    needed = [column for column in found if column.needed]
    if all(found[column] is not None for column in needed):
        return Table(_named(names, cells[1:]), lambda index: where(index + 1), note=note, size=len(cells) - 1)
    wanted, count = joined(column.names[0] for column in needed), len(needed)
    if mark != "\t":
        raise ArgumentError(f"{where(0)}: expected a header that names {wanted}, got {mark.join(cells[0])!r:.60}")
    for index, row in enumerate(cells):
        if len(row) < count or (not more and any(cell.strip() for cell in row[count:])):
            got = "no tab" if len(row) == 1 else f"{len(row)} columns"
            way_out = f"; cut -f 1-{count} keeps the first {count}" if len(row) > count else ""
            expected = f"expected {wanted} with a tab between, or a header that names them"
            raise ArgumentError(f"{where(index)}: {expected}, got {got}{way_out}")
    rows = [dict(zip((column.names[0] for column in needed), row, strict=False)) for row in cells]
    return Table(rows, where, note=note, size=len(cells))


def _is_index(cells: Sequence[str]) -> bool:
    """Whether cells are different whole numbers: those of all rows, of some, or of shuffled ones."""
    return all(cell.isdecimal() for cell in cells) and len(set(cells)) == len(cells)


def _named(names: Sequence[str], rows: list[list[str]]) -> Iterator[dict[str, str]]:
    """Rows as mappings; a cell that the header does not name is a mistake, one that is missing is blank."""
    for row in rows:
        if len(row) > len(names):
            wanted = f"expected {len(names)} columns, as the header says, got {len(row)}"
            raise ValueError(f"{wanted}; put a text with such a mark in quotes, or take it out")
        yield dict(zip_longest(names, row, fillvalue=""))


def _dialect(text: str, path: Path) -> tuple[str, str]:
    """The text without Excel's first line, and the delimiter."""
    head, _, rest = text.partition("\n")
    if (named := _SEPARATOR.fullmatch(head)) and rest.strip():
        return rest, named[1]
    first, suffix = text.lstrip("\r\n ").partition("\n")[0], suffix_of(path)
    if suffix == ".tsv" or (suffix != ".csv" and "\t" in first):
        return text, "\t"
    with _long_cells(text):
        return text, max(",;\t|", key=lambda mark: len(next(filter(any, _cut(text, mark)), [])))


def _is_quoted(text: str) -> bool:
    """Whether all quotes of a table with tabs are around cells, or twice within such cells."""
    if '"' not in text:
        return False
    ragged = len({line.count("\t") for line in text.split("\n") if line.strip()}) > 1
    return '"' not in (_LONG_QUOTED if ragged else _QUOTED).sub("", text)


def _cut(text: str, mark: str, *, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=strict)


def _rows(text: str, mark: str, path: Path, quoted: bool) -> list[list[str]]:
    """All rows as cells, blank ones included."""
    if not quoted:
        return [line.removesuffix("\r").split(mark) for line in text.split("\n")]
    rows = list[list[str]]()
    try:
        with _long_cells(text):
            rows.extend(_cut(text, mark, strict=True))
    except csv.Error as error:
        wanted = "expected quotes around whole cells, and each quote within them twice"
        raise ArgumentError(f"row {len(rows) + 1} of {path}: {wanted}, got another row ({error})") from error
    return rows


@contextmanager
def _long_cells(text: str) -> Iterator[None]:
    """Let a cell of a table be as long as its text, for which `csv` has one limit of all readers."""
    limit = csv.field_size_limit(max(len(text), 1))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _json(text: str, path: Path) -> tuple[Sequence[int], list[Any]]:
    """The rows of an array of JSON, or of a file that has an object a line."""
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


def _is_number(text: str) -> bool:
    try:
        number_of(text)
    except ValueError:
        return False
    return True


def number_of(text: str) -> float:
    """Return the number that a text writes in ASCII digits, with a decimal point and perhaps an exponent.

    Raises:
        ValueError: if it writes none.

    Example:
        >>> number_of(" 1.5e3 "), number_of(".5")
        (1500.0, 0.5)
        >>> number_of("1_000")
        Traceback (most recent call last):
        ValueError: could not convert string to float: '1_000'
    """
    if "_" in text or not text.isascii():  # Python's own numbers may have both
        raise ValueError(f"could not convert string to float: {text!r}")
    return float(text)
