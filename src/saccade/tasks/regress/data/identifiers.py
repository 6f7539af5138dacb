"""Columns that number or name the rows of a table and predict nothing."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from saccade.data.tables import is_readable, number_of

__all__ = ["find_identifiers"]

_IDS = {"id", "index", "idx", "uuid", "guid", "pid", "rowid", "rownames"}  # last words of names
_NUMBERS = {"no", "nr", "num", "number", "row", "obs", "order", "#"}  # likewise, if they count the rows
_FEWEST, _COUNTED = 3, 10  # rows
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|#")


def find_identifiers(columns: Mapping[str, Sequence[Any]]) -> tuple[list[str], list[str]]:
    """Return the names of columns to leave out, and of others that count the rows.

    A column to leave out has the name of an identifier, and other integers or texts in each row. Or it has the name of
    a row number, and counts the rows.

    Args:
        columns: cells by column, in the order of the rows.

    Example:
        >>> rows = range(1, 11)
        >>> find_identifiers({"PassengerId": rows, "Order": rows, "month": rows, "row": [7] * 10})
        (['PassengerId', 'Order'], ['month'])
    """
    identifiers, counters = list[str](), list[str]()
    for name, cells in columns.items():
        last, counts = (_WORDS.findall(name) or [""])[-1].lower(), _counts_rows(cells)
        if (last in _IDS and _are_different(cells)) or (last in _IDS | _NUMBERS and counts):
            identifiers.append(name)
        elif counts:
            counters.append(name)
    return identifiers, counters


def _are_different(cells: Sequence[Any]) -> bool:
    texts = [cell for cell in map(_spelled, cells) if cell]
    return len(set(texts)) == len(cells) >= _FEWEST


def _spelled(cell: Any) -> str:
    """Return an integer or a text as text, "" for blanks and other numbers."""
    if isinstance(cell, str):
        cell = cell.strip()
        return cell if cell.isdecimal() or not is_readable(number_of, cell) else ""
    return str(cell) if isinstance(cell, int | np.integer) and not isinstance(cell, bool) else ""


def _counts_rows(cells: Sequence[Any]) -> bool:
    texts = [_spelled(cell) for cell in cells]
    start = texts[0] if texts else ""
    return start in ("0", "1") and len(texts) >= _COUNTED and texts == [str(int(start) + n) for n in range(len(texts))]
