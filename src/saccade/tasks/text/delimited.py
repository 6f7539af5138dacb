"""Delimited tables (.csv, .tsv and the like) as rows of cells: one reader, and one rule of quotes, for every task.

    text,label                    text<TAB>label
    "dull, and long",bad          "dull", and long<TAB>bad

A cell between commas or semicolons may be in quotes: then it may hold these, line breaks, and quotes written twice
(RFC 4180). A quote elsewhere in such a cell is text. Between tabs every quote is text, because a tab or the end of the
line always ends a cell (text/tab-separated-values of IANA). Only around the name of a column are quotes taken off.

A file called .tsv has tabs, and so has one that is not called .csv and has a tab in its first line. Any other has the
mark that its first line has most, outside quotes. Excel's first line `sep=;` names the mark itself.

Source:
    Shafranovich 2005, RFC 4180, section 2 (https://www.rfc-editor.org/rfc/rfc4180).
"""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from saccade.data.splits import SPLIT
from saccade.errors import ArgumentError
from saccade.tasks.text.files import Numbers
from saccade.tasks.text.lines import Lines

__all__ = ["Delimited", "columns_of", "delimited", "number_of", "perhaps_headed", "suffix_of"]

_MARKS = ",;\t"
_QUOTED = re.compile(r'(?:^|(?<=[,;\t]))"(?:[^"]|"")*(?:"(?=[,;\t]|$)|$)')
_OPEN = re.compile(r'(?:^|[,;\t])"(?:[^"]|"")*$')
_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?', re.IGNORECASE)
_HEADER_LINES = 20  # of a header with line breaks between quotes


@dataclass(frozen=True, eq=False)
class Delimited:
    """The rows of a table, each cut into cells when it is read.

    Args:
        lines: a row each.
        delimiter: the mark between two cells.
        numbers: the line in which each row begins, from 0 on.
        first: the first row that is not blank: the header, if there is one.
    """

    lines: Lines
    delimiter: str
    numbers: Numbers
    first: int

    def __len__(self) -> int:
        """How many rows there are, blank ones included."""
        return len(self.lines)

    def __getitem__(self, row: int) -> list[str]:
        """Return the cells of a row."""
        return _cut(self.lines[row], self.delimiter)

    @property
    def names(self) -> list[str]:
        """The cells of the first row, as names of columns."""
        return [cell.strip().removeprefix('"').removesuffix('"') for cell in self[self.first]]

    def place(self, row: int) -> str:
        """Return the file and the line in which a row begins, for messages."""
        return f"{self.lines.path}: line {int(self.numbers[row]) + 1}"

    def filled(self, *, headed: bool = True) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the cells of each row that is not blank, without the header if there is one."""
        for row in range(self.first + headed, len(self)):
            cells = self[row]
            if any(cell.strip() for cell in cells):
                yield row, cells


def delimited(lines: Lines, delimiter: str | None = None) -> Delimited:
    r"""Find the rows of a table.

    Args:
        lines: of the file.
        delimiter: the mark between two cells; None: as the module says.

    Raises:
        ArgumentError: naming the line with a quote that opens a cell and ends none.

    Example:
        >>> from saccade.tasks.text.lines import gather
        >>> table = delimited(gather(Path("a.csv"), ["text;label", '"a ""b"";', 'c";yes']))
        >>> table.names, table[1], table.place(1)
        (['text', 'label'], ['a "b";\nc', 'yes'], 'a.csv: line 2')
    """
    count = len(lines)
    filled = (number for number in range(count) if lines[number].strip())
    first = next(filled, 0)
    if count and (named := _SEPARATOR.fullmatch(lines[first])) and (header := next(filled, None)) is not None:
        first, delimiter = header, delimiter or named[1]
    mark = delimiter or _delimiter(lines, first)
    starts = range(count) if mark == "\t" else np.asarray(_starts(lines, mark, first))
    rows = lines if len(starts) == count else replace(lines, starts=lines.starts[np.append(starts, count)])
    return Delimited(rows, mark, starts, first)


def columns_of(names: Sequence[str], known: Mapping[str, Sequence[str]], where: str) -> dict[str, int]:
    """Return the place of each column that a header names, whatever its case.

    Args:
        names: the header.
        known: of each column the names that it may have.
        where: the header is, for messages.

    Raises:
        ArgumentError: if a column is there twice.

    Example:
        >>> columns_of(["Sentence", "id"], {"text": ("text", "sentence"), "label": ("label",)}, "a.csv: line 1")
        {'text': 0}
    """
    lower, found = [name.strip().lower() for name in names], dict[str, int]()
    for column, spelled in known.items():
        places = [place for place, name in enumerate(lower) if name in spelled]
        if len(places) > 1:
            got = " and ".join(lower[place] for place in places)
            raise ArgumentError(f"{where}: expected one column {' or '.join(spelled)}, got {got}; rename the others")
        if places:
            found[column] = places[0]
    return found


def perhaps_headed(lines: Lines, known: Mapping[str, Sequence[str]]) -> tuple[Delimited, dict[str, int]]:
    r"""Return a table and the places of its columns if a header names all but `split`; else rows with tabs, and {}.

    Args:
        lines: of the file.
        known: as `columns_of` has it.

    Raises:
        ArgumentError: as `delimited` and `columns_of`.

    Example:
        >>> from saccade.tasks.text.lines import gather
        >>> known = {"image": ("image",), "caption": ("caption",)}
        >>> perhaps_headed(gather(Path("a.csv"), ["caption,image", "a dog,a.png"]), known)[1]
        {'image': 1, 'caption': 0}
    """
    table = delimited(lines)
    columns = columns_of(table.names, known, table.place(table.first))
    if set(known) - {SPLIT} <= set(columns):
        return table, columns
    return (table if table.delimiter == "\t" else delimited(lines, "\t")), {}


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


def suffix_of(path: Path) -> str:
    """Return what the name of a file ends in, packed or not.

    >>> suffix_of(Path("A.CSV.gz"))
    '.csv'
    """
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _delimiter(lines: Lines, first: int) -> str:
    """The mark between two cells, by the name of the file and its first row."""
    suffix, header = suffix_of(lines.path), lines[first] if len(lines) else ""
    if suffix == ".tsv" or (suffix != ".csv" and "\t" in header):
        return "\t"
    for number in range(first + 1, min(first + _HEADER_LINES, len(lines))):
        if not _OPEN.search(header):
            break
        header += f"\n{lines[number]}"
    return max(_MARKS, key=_QUOTED.sub("", header).count)


def _starts(lines: Lines, mark: str, first: int) -> "array[int]":  # in quotes for Python 3.11
    """The lines in which rows begin."""
    starts, inside = array("q", range(first)), False
    for number in range(first, len(lines)):
        line = lines[number]
        if not inside:
            starts.append(number)
        if inside or '"' in line:
            try:
                inside = _left_open(line, mark, inside=inside)
            except ValueError:
                raise _unclosed(lines, starts[-1], mark) from None
    if inside:
        raise _unclosed(lines, starts[-1], mark)
    return starts


def _left_open(line: str, mark: str, *, inside: bool) -> bool:
    """Whether a line ends within a quoted cell, as the line before it did or not; ValueError: text behind a cell."""
    opening, place = f'{mark}"', 0
    if not inside and not line.startswith('"'):
        place = line.find(opening) + 1
        if not place:
            return False
    place += not inside
    while (end := _closing(line, place)) >= 0:
        if line[end + 1 : end + 2] not in ("", mark):
            raise ValueError(end)
        place = line.find(opening, end + 1) + 2
        if place < 2:
            return False
    return True


def _unclosed(lines: Lines, number: int, mark: str) -> ArgumentError:
    wanted = f"expected a quote that ends the cell that a quote opens, and {mark!r} or the end of the line behind it"
    way_out = "write a quote within such a cell twice"
    return ArgumentError(f"{lines.path}: line {number + 1}: {wanted}, got {lines[number]!r:.60}; {way_out}")


def _closing(line: str, place: int) -> int:
    """Where the quote is that ends a cell, from a place within it on; -1 if there is none."""
    while (end := line.find('"', place)) >= 0 and line.startswith('"', end + 1):
        place = end + 2
    return end


def _cut(row: str, mark: str) -> list[str]:
    """The cells of a row, whose quotes are known to be right."""
    if mark == "\t" or '"' not in row:
        return row.split(mark)
    cells, place = list[str](), 0
    while place <= len(row):
        if row.startswith('"', place):
            end = _closing(row, place + 1)
            cells.append(row[place + 1 : end].replace('""', '"'))
            end += 1
        else:
            end = row.find(mark, place)
            end = len(row) if end < 0 else end
            cells.append(row[place:end])
        place = end + 1
    return cells
