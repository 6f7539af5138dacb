"""A table of rows, before the rows are checked and divided into splits."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from saccade.data.columns import CellError
from saccade.errors import ArgumentError

__all__ = ["Row", "Table", "row_of", "values_of"]

R = TypeVar("R")

Row: TypeAlias = Mapping[str, Any]
"""Values of an example by column."""


@dataclass(frozen=True)
class Table:
    """Rows of one file, of one split or of Python objects.

    Args:
        rows: mappings from columns to cells, or sequences of cells.
        where: from the index of a row, from 0, to its place for messages, for example "row 7 of texts.csv".
        labels: class names by the column of class numbers.
        note: remarks for the user on the reading of the rows, "" if there are none.
        size: number of rows, or None before they are counted.
        head: place of the header, "" without one.
        numbers: numbers of the rows in their file, from 1, with the header. None: as they come.
    """

    rows: Iterable[Any]
    where: Callable[[int], str]
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    note: str = ""
    size: int | None = None
    head: str = ""
    numbers: Sequence[int] | None = None


def row_of(where: object) -> Callable[[int], str]:
    """Return a function from an index to the place of a row, without a header.

    >>> row_of("texts.jsonl")(6)
    'row 7 of texts.jsonl'
    """
    return lambda index: f"row {index + 1} of {where}"


def values_of(table: Table, read: Callable[[Any], R]) -> Iterator[R]:
    """Yield the values of all rows.

    Args:
        table: the table.
        read: from a row to its values. It raises ValueError.

    Raises:
        ArgumentError: for an invalid row, with its place.

    Example:
        >>> list(values_of(Table(["1", "2"], str), int))
        [1, 2]
    """
    count, row = 0, None
    try:
        for row in table.rows:
            yield read(row)
            count += 1
    except (ValueError, TypeError, KeyError, IndexError) as error:
        if not isinstance(error, CellError):
            raise ArgumentError(f"{table.where(count)}: {error}") from error
        cell = f", {error}" if isinstance(row, Mapping) else f": {error.reason}"  # tuples have no column names
        raise ArgumentError(f"{table.where(count)}{cell}") from error
