"""A table of rows as it was read, before its rows are checked and divided into splits."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["Row", "Table", "row_of"]

Row: TypeAlias = Mapping[str, Any]
"""One example: values by the names of their columns."""


@dataclass(frozen=True)
class Table:
    """Rows of one file, of one split or of Python objects.

    Args:
        rows: mappings from columns to cells, or sequences of cells.
        where: the place of a row by its index from 0, for messages: "row 7 of texts.csv".
        labels: the names of classes, by the column that holds their numbers.
        note: how the rows were read, if a user should know; "" otherwise.
        size: number of rows, None if it is not known yet.
    """

    rows: Iterable[Any]
    where: Callable[[int], str]
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    note: str = ""
    size: int | None = None


def row_of(where: object) -> Callable[[int], str]:
    """Return the place of each row of a file without a header.

    >>> row_of("texts.jsonl")(6)
    'row 7 of texts.jsonl'
    """
    return lambda index: f"row {index + 1} of {where}"
