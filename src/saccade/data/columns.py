"""Columns of a task: their names and the kinds of their values."""

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from saccade._definitions.argument_hints import suggest
from saccade.data.cleaning import composed
from saccade.data.dataset import inventory, joined
from saccade.errors import ArgumentError

__all__ = [
    "FILL",
    "CellError",
    "Column",
    "Listed",
    "check_once",
    "file_name",
    "find_columns",
    "is_empty",
    "label",
    "label_of",
    "read_columns",
    "text",
    "words",
]

FILL = "fill it, or leave the row out"
"""Way out of the error for an empty cell."""


class CellError(ValueError):
    """Error for an invalid cell.

    Args:
        column: the name of its column.
        reason: the expected and the actual value.

    Example:
        >>> print(CellError("price", "expected a number, got 'old'"))
        column "price": expected a number, got 'old'
    """

    def __init__(self, column: str, reason: object) -> None:
        super().__init__(f'column "{column}": {reason}')
        self.reason = reason


class Listed(str):
    """Name of a file of a published collection, missing or in any folder."""

    __slots__ = ()


def is_empty(cell: Any) -> bool:
    """Return whether a cell is None, NaN, or NA or NaT of pandas.

    >>> is_empty(None), is_empty(float("nan")), is_empty("")
    (True, True, False)
    """
    nan = isinstance(cell, float | np.floating) and bool(np.isnan(cell))
    return cell is None or nan or type(cell).__name__ in ("NAType", "NaTType")


def text(cell: Any) -> str:
    """Return a stripped text in normal form C. Integers become digits.

    >>> text(" a fine film "), text(7)
    ('a fine film', '7')
    """
    if not isinstance(cell, str):
        if isinstance(cell, bool) or not isinstance(cell, int | np.integer):
            raise ValueError(f"expected a text, got {type(cell).__name__}")
        cell = str(cell)
    cell.encode()  # raises for half a surrogate pair
    return composed(cell.strip())


def label(cell: Any) -> str:
    r"""Return a class name, with one space between words. A blank cell is an error.

    >>> label(" rock\nand  roll"), label(True), label(4.5)
    ('rock and roll', 'True', '4.5')
    """
    if isinstance(cell, bool | np.bool_ | float | np.floating):
        cell = str(cell)
    if not (name := " ".join(text(cell).split())):
        raise ValueError(f"expected a label, got an empty cell; {FILL}")
    return name


def words(cell: Any) -> str:
    """Return a text, or the words of a list or an array, with single spaces.

    >>> words(["Ada", "lives"]), words(" Ada  lives ")
    ('Ada lives', 'Ada lives')
    """
    if isinstance(cell, list | tuple | np.ndarray):
        cell = " ".join(text(part.item() if isinstance(part, np.generic) else part) for part in cell)
    return " ".join(text(cell).split())


def file_name(cell: Any) -> str:
    """Return a normalized path, the only name of a file, or "" for an empty cell.

    >>> file_name(" ./photos//a.jpg"), file_name(" ")
    ('photos/a.jpg', '')
    """
    if not isinstance(cell, str):
        raise ValueError(f"expected the name of a file, got {type(cell).__name__}")
    return posixpath.normpath(cell.strip()) if cell.strip() else ""


@dataclass(frozen=True)
class Column:
    """A column of a task.

    Args:
        name: key of its values in a row.
        names: accepted names in files, regardless of case, the preferred name first.
        kind: from a cell to a value. It raises ValueError for a cell of another kind.
        needed: whether a missing column or an empty cell is an error. Otherwise the value is None.
        what: its values, for messages.
        looks: whether the cells of a column of another name look like this one. Default: no cells do.
        given: whether an option of the user names it.

    Example:
        >>> Column("text", ("text", "sentence")).find(["Id", "Sentence"])
        'Sentence'
    """

    name: str
    names: tuple[str, ...]
    kind: Callable[[Any], Any] = text
    needed: bool = True
    what: str = "a text"
    looks: Callable[[Sequence[Any]], bool] | None = None
    given: bool = False

    @property
    def option(self) -> str:
        """Option that names this column."""
        return f"--{self.name}-column"

    def find(self, names: Sequence[Any]) -> Any:
        """Return the name of this column in a table, None if the table lacks it.

        Names in data frames may be numbers.
        """
        exact = {str(name): name for name in names}
        lower = {name.strip().lower(): original for name, original in exact.items()}
        tables = ((exact, self.names), (lower, [name.strip().lower() for name in self.names]))
        return next((table[name] for table, candidates in tables for name in candidates if name in table), None)


def check_once(names: Sequence[Any]) -> None:
    """Reject a table with two columns of one name.

    >>> check_once(["text", "label", "text"])
    Traceback (most recent call last):
    ValueError: expected columns of different names, got text twice
    """
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"expected columns of different names, got {twice} twice")


def find_columns(columns: Sequence[Column], names: Sequence[Any], where: str) -> list[Any]:
    """Return the name of each column in a table, None for a missing column.

    Raises:
        ArgumentError: if two columns have one name, or a column of an option is missing.

    Example:
        >>> find_columns([Column("text", ("text", "sentence")), Column("label", ("label",))], ["Sentence"], "row 1")
        ['Sentence', None]
    """
    matches = [column.find(names) for column in columns]
    exact = [str(name) for name in names]
    lower = [name.strip().lower() for name in exact]
    for column, name in zip(columns, matches, strict=True):
        if name is None and column.given:
            hint = suggest(column.names[0], exact, f"there is {inventory(exact)}")
            raise ArgumentError(f"{column.option}: expected a column of {where}, got {column.names[0]}; {hint}")
        times = 0 if name is None else exact.count(str(name))
        if times > 1 or (times and not column.given and lower.count(str(name).strip().lower()) > 1):
            raise ArgumentError(f"{where}: expected one column {name}, got several; rename the others")
    return matches


def read_columns(columns: Sequence[Column], row: Any, labels: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the values of a row by the names of a task's columns.

    Args:
        columns: the columns of the task.
        row: a mapping with at least these columns, or a sequence with exactly these cells.
        labels: class names by column.

    Raises:
        ValueError: if the row has other columns.
        CellError: if a cell is empty or of another kind.

    Example:
        >>> columns = [Column("text", ("text", "sentence")), Column("label", ("label",), label)]
        >>> read_columns(columns, {"sentence": "dull", "label": 0}, {"label": ["negative", "positive"]})
        {'text': 'dull', 'label': 'negative'}
    """
    if isinstance(row, Mapping):
        names = [column.names[0] if column.names[0] in row else column.find(list(row)) for column in columns]
    else:
        needed = [column.names[0] for column in columns if column.needed]
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != len(needed):
            raise ValueError(f"expected {joined(needed)}, got {row!r:.60}")
        row = dict(zip(needed, row, strict=True))
        names = [column.names[0] if column.needed else None for column in columns]
    return {column.name: _value(column, name, row, labels) for column, name in zip(columns, names, strict=True)}


def _value(column: Column, name: Any, row: Mapping[Any, Any], labels: Mapping[str, Sequence[str]]) -> Any:
    if name is None and column.needed:
        raise ValueError(f"expected a column {' or '.join(column.names)}, got {', '.join(map(str, row))}")
    cell = None if name is None else row[name]
    try:
        if is_empty(cell):
            if column.needed:
                raise ValueError(f"expected {column.what}, got an empty cell; {FILL}")
            cell = None
        return column.kind(_named(cell, labels[name]) if name in labels else cell)
    except (ValueError, TypeError) as error:
        raise CellError(name or column.names[0], error) from error


def _named(cell: Any, labels: Sequence[str]) -> Any:
    """Return the class name for a class number. A name stays."""
    try:
        number = index(getattr(cell, "item", lambda: cell)())
    except (TypeError, RuntimeError):  # a name
        return cell
    return label_of(labels, number)


def label_of(labels: Sequence[str], number: int) -> str:
    """Return the class name for a number. In collections, -1 means no class.

    >>> label_of(["no", "yes"], 1)
    'yes'
    """
    if not 0 <= number < len(labels):
        raise ValueError(f"expected a label from 0 to {len(labels) - 1}, got {number}")
    return labels[number]
