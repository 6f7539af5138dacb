"""Columns of tables as numbers: blanks, categories and dates.

The kind of a column, its categories and its median follow from the training rows.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from saccade.data.columns import CellError
from saccade.data.dataset import counted, inventory
from saccade.data.tables import is_readable, number_of
from saccade.tasks.regress.data.cells import exact, flat
from saccade.tasks.regress.data.written import Written, left_out

__all__ = ["BLANK", "Cell", "ColumnCode", "Encoding", "cell_of", "fit_encoding", "is_no_number"]

Cell: TypeAlias = float | str
"""A number, NaN for a blank cell, or a text."""

BLANK = "blank"
"""Name of the category of blank cells."""

_NO_NUMBER = {"", "na", "n/a", "nan", "null", "none", "?"}  # texts of a blank cell in a column of numbers, in any case
_CATEGORIES = 100  # of a column
_EPOCH, _DAY = datetime(1970, 1, 1, tzinfo=UTC), 86_400


def cell_of(value: Any) -> Cell:
    """Return a scalar as a cell.

    >>> cell_of("2.5"), cell_of(" red "), cell_of(None), cell_of(date(2020, 5, 10))
    (2.5, 'red', nan, '2020-05-10')
    """
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, date | datetime):
        return "" if str(value) == "NaT" else value.isoformat()
    if isinstance(value, str):
        text = " ".join(value.split())
        try:
            number = number_of(text)
        except ValueError:
            return text or math.nan
        return number if math.isnan(number) else flat(number)[0]
    return math.nan if _is_blank(value) else flat(value)[0]


@dataclass(frozen=True)
class ColumnCode:
    """Code of a column.

    Args:
        name: of the column.
        kind: of its cells.
        median: replaces a blank cell of numbers and dates, which are days since 1970. None in a table of numbers alone
            without blanks.
        categories: in the order of their features.
        written: how its numbers or dates are written. None: with decimal points, and in ISO 8601.
    """

    name: str
    kind: Literal["number", "date", "category"]
    median: float | None = None
    categories: tuple[str, ...] = ()
    written: Written | None = None

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name} = {category}" for category in self.categories] or [self.name]

    def encode(self, cell: Cell, way_out: str = "") -> list[float]:
        """Return the features of a cell. An unknown category has zeros.

        Raises:
            CellError: if the cell is no number, or no date.
        """
        if self.kind == "category":
            name = _category(cell)
            return [float(name == category) for category in self.categories]
        if is_no_number(cell) and self.median is not None:
            return [self.median]
        try:
            return [_days(cell)] if self.kind == "date" and not _is_blank(cell) else flat(cell, way_out)
        except ValueError as error:
            raise CellError(self.name, error) from None

    def knows(self, cell: Cell) -> bool:
        """Whether a cell has one of the categories, if they are categories."""
        return self.kind != "category" or _category(cell) in self.categories

    def decode(self, numbers: Sequence[float]) -> str:
        """Return the text of a cell from its features."""
        if self.kind == "category":
            return next((name for name, number in zip(self.categories, numbers, strict=True) if number), "?")
        [number] = numbers
        if self.kind == "date":
            return (
                datetime.fromtimestamp(number * _DAY, UTC).isoformat().removesuffix("+00:00").removesuffix("T00:00:00")
            )
        return f"{number:.4g}"


@dataclass(frozen=True)
class Encoding:
    """Codes of all columns of a table.

    Args:
        columns: the codes.

    Example:
        >>> code = Encoding((ColumnCode("area", "number", 50.0), ColumnCode("city", "category", None, ("Bonn", "Ulm"))))
        >>> code.features, code.encode((float("nan"), "Ulm")), code.decode((70.0, 1.0, 0.0))
        (('area', 'city = Bonn', 'city = Ulm'), (50.0, 0.0, 1.0), ['70', 'Bonn'])
    """

    columns: tuple[ColumnCode, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of all features."""
        return tuple(name for column in self.columns for name in column.features)

    @cached_property
    def parts(self) -> tuple[range, ...]:
        """Indices of the features of each column."""
        ends = np.cumsum([len(column.features) for column in self.columns]).tolist()
        return tuple(range(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True))

    @property
    def plain(self) -> bool:
        """Whether all cells are numbers without blanks."""
        return all(
            column.kind == "number" and column.median is None and column.written is None for column in self.columns
        )

    @cached_property
    def written(self) -> dict[str, Written]:
        """Formats of the numbers and dates of columns, by name."""
        return {column.name: column.written for column in self.columns if column.written is not None}

    @property
    def marks(self) -> str:
        """Marks between the cells of a line, the usual one first."""
        return ";\t," if any(not written.first for written in self.written.values()) else ",;\t"

    def line(self, cells: Sequence[Cell]) -> str:
        """Return cells as a line of CSV.

        >>> codes = (ColumnCode("area", "number"), ColumnCode("colour", "category"), ColumnCode("age", "number", 3.0))
        >>> Encoding(codes).line((2.5, "red, dark", float("nan")))
        '2.5,"red, dark",'
        """
        file, texts = io.StringIO(), list[str]()
        for column, cell in zip(self.columns, cells, strict=True):
            text = "" if _is_blank(cell) else cell if isinstance(cell, str) else exact([cell])
            texts.append(text if column.written is None else column.written.write(text))
        csv.writer(file, delimiter=self.marks[0], lineterminator="").writerow(texts)
        return file.getvalue()

    def encode(self, cells: Sequence[Cell], way_out: str = "") -> tuple[float, ...]:
        """Return the features of a row.

        Raises:
            CellError: if a cell of numbers or dates is neither.
        """
        pairs = zip(self.columns, cells, strict=True)
        return tuple(number for column, cell in pairs for number in column.encode(cell, way_out))

    def unknown(self, cells: Sequence[Cell]) -> str:
        """Return a note on categories that training did not have, "" if there are none."""
        pairs = zip(self.columns, cells, strict=True)
        new = [f"column {column.name}: {_category(cell)!r:.40}" for column, cell in pairs if not column.knows(cell)]
        return f"{'; '.join(new)}: not among the categories of training, taken as none of them" if new else ""

    def decode(self, numbers: Sequence[float]) -> list[str]:
        """Return the texts of the cells of a row."""
        return [
            column.decode([numbers[index] for index in part])
            for column, part in zip(self.columns, self.parts, strict=True)
        ]

    def to_json(self) -> list[dict[str, Any]]:
        """Return the content of a file."""
        return [asdict(column) for column in self.columns]

    @classmethod
    def of_json(cls, content: Sequence[Mapping[str, Any]]) -> "Encoding":
        """Return the codes from the content of a file."""
        columns = list[ColumnCode]()
        for column in content:
            written = Written(*column["written"]) if column.get("written") else None
            columns.append(ColumnCode(**{**column, "categories": tuple(column["categories"]), "written": written}))
        return cls(tuple(columns))


def fit_encoding(
    names: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    error: Callable[[int, CellError], Exception],
    written: Mapping[str, Written] | None = None,
    *,
    blank: bool = False,
) -> tuple[Encoding, list[str]]:
    """Return the codes of columns, with notes.

    Args:
        names: of the columns.
        rows: the training rows.
        error: from the number of a row and the error of a cell to the error that is raised.
        written: how columns are written, by name.
        blank: whether other rows have blank cells.
    """
    columns, notes = list[ColumnCode](), list[str]()
    for number, name in enumerate(names):
        cells = [row[number] for row in rows]
        try:
            code, note = _fit_column(name, cells)
        except CellError as reason:
            first = next((index for index, cell in enumerate(cells) if isinstance(cell, str)), 0)
            raise error(first, reason) from None
        columns.append(replace(code, written=(written or {}).get(name)))
        notes += [note] if note else []
    if not notes and not written and not blank:  # numbers alone
        columns = [replace(column, median=None) for column in columns]
    if blank:
        notes.append("blanks of validation and test are filled with the medians of training")
    return Encoding(tuple(columns)), notes


def _fit_column(name: str, cells: Sequence[Cell]) -> tuple[ColumnCode, str]:
    full = [cell for cell in cells if not is_no_number(cell)]
    texts = [cell for cell in full if isinstance(cell, str)]
    blanks = len(cells) - len(full)
    if not full:
        raise CellError(name, f"expected numbers or categories, got {counted(blanks, 'blank cells')}{left_out(name)}")
    dates = [text for text in texts if is_readable(_days, text)]
    if 2 * len(texts) < len(full) or 2 * len(dates) > len(full):
        kind: Literal["number", "date"] = "date" if 2 * len(dates) > len(full) else "number"
        numbers = [*map(_days, dates)] if kind == "date" else [cell for cell in full if not isinstance(cell, str)]
        median = float(np.median(numbers))
        about = [
            *(["dates, as days since 1970"] if kind == "date" else []),
            *([f"{counted(blanks, 'blanks')}, filled with the median"] if blanks else []),
        ]
        code = ColumnCode(name, kind, median)
        return code, f"column {name}: {', '.join(about)}" if about else ""
    counts = Counter(map(_category, cells))
    if 2 * len(counts) > len(cells):
        got = f"got {texts[0]!r:.40}, and {len(counts)} different texts in {len(cells)} rows"
        raise CellError(name, f"expected a number, or a category that several rows have, {got}{left_out(name)}")
    categories = tuple(sorted(category for category, _ in counts.most_common(_CATEGORIES)))
    code = ColumnCode(name, "category", None, categories)
    rest = len(counts) - len(categories)
    more = f"; {counted(rest, 'rarer ones')} taken as none of them" if rest else ""
    listed = f"{counted(len(categories), 'categories')} ({inventory(categories)})"
    return code, f"column {name}: {listed}, a feature of 0 or 1 each{more}"


def _is_blank(cell: Any) -> bool:
    return cell is None or cell == "" or cell != cell or type(cell).__name__ in ("NAType", "NaTType")


def is_no_number(cell: Cell) -> bool:
    """Return whether a cell is blank in a column of numbers.

    >>> is_no_number("n/a"), is_no_number("old")
    (True, False)
    """
    return cell.lower() in _NO_NUMBER if isinstance(cell, str) else math.isnan(cell)


def _category(cell: Cell) -> str:
    if _is_blank(cell):
        return BLANK
    return cell if isinstance(cell, str) else exact([cell])


def _days(cell: Cell) -> float:
    """Days since 1970 of a date, or of a time in UTC unless it has another zone."""
    try:
        time = datetime.fromisoformat(cell if isinstance(cell, str) else "")
    except ValueError:
        raise ValueError(f"expected a date such as 2020-05-10, got {_category(cell)!r:.40}") from None
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    return (time - _EPOCH).total_seconds() / _DAY
