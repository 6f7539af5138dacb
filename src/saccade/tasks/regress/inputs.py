"""Inputs of predictions: numbers from lines, and lines from Python objects."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from saccade._system.notes import say
from saccade.data.columns import CellError
from saccade.data.dataset import counted, inventory
from saccade.errors import ArgumentError
from saccade.tasks.regress.data.cells import exact, flat
from saccade.tasks.regress.data.columns import column_cells, column_numbers
from saccade.tasks.regress.data.encoding import Cell, Encoding

__all__ = ["MOST", "Question", "lines_of", "read_cells", "read_numbers"]

MOST = 10_000
"""Largest size of a set."""

_BETWEEN = re.compile(r"\s*[,;]\s*|\s+")


class Question(NamedTuple):
    """Features of a row or elements of a set, and cells of the line.

    There are no cells if all features are numbers.
    """

    numbers: tuple[float, ...]
    cells: tuple[Cell, ...] = ()

    @property
    def shown(self) -> list[str]:
        """Cells as texts. A blank cell is an empty text."""
        return [cell if isinstance(cell, str) else "" if cell != cell else exact([cell]) for cell in self.cells]


def read_numbers(line: str, number: int, features: Sequence[str]) -> tuple[float, ...]:
    """Return the numbers of a line, separated by commas, semicolons or spaces.

    Args:
        line: the line.
        number: its number from 1, for messages.
        features: names of the features, () for a set of any size.

    Raises:
        ArgumentError: if there are more or fewer, or something is no finite number.

    Example:
        >>> read_numbers("0.5, 2 1e3", 1, ())
        (0.5, 2.0, 1000.0)
    """
    parts = _BETWEEN.split(text) if (text := line.strip()) else []
    expected = f"{counted(len(features), 'numbers')} ({inventory(features)})" if features else "a set of numbers"
    if not parts:
        raise ArgumentError(f"line {number}: expected {expected}, got none")
    if features and len(parts) != len(features):
        raise ArgumentError(f"line {number}: expected {expected}, got {len(parts)}")
    if len(parts) > MOST:
        raise ArgumentError(f"line {number}: expected at most {MOST:,} numbers, got {len(parts):,}")
    try:
        return tuple(flat(parts))
    except ValueError as error:
        raise ArgumentError(f"line {number}: {error}") from None


def read_cells(line: str, number: int, encoding: Encoding) -> Question:
    """Return the features of a line of cells, and note unknown categories.

    Commas, semicolons or tabs stand between cells: the first of these marks that makes enough cells.
    A single cell may contain semicolons and tabs.

    Args:
        line: the line. Quotes enclose a cell with a comma.
        number: its number from 1, for messages.
        encoding: codes of the columns.

    Raises:
        ArgumentError: if there are more or fewer cells, or a cell of numbers or dates is neither.
    """
    count, usual = len(encoding.columns), encoding.marks[0]
    marks = [mark for mark in encoding.marks if mark in line and count > 1] or [usual]
    try:
        cut = [next(csv.reader([line.strip(" \r\n")], delimiter=mark, skipinitialspace=True), []) for mark in marks]
        parts = next((cells for cells in cut if len(cells) == count), cut[0])
        cells = tuple(_checked(parts, encoding))
        numbers = encoding.encode(cells)
    except CellError as error:
        raise ArgumentError(f"line {number}, {error}") from None
    except csv.Error as error:
        raise ArgumentError(f"line {number}: expected a line of CSV, got an error: {error}") from None
    except ValueError as error:
        raise ArgumentError(f"line {number}: {error}") from None
    if note := encoding.unknown(cells):
        say(f"line {number}: {note}")
    return Question(numbers, cells)


def lines_of(inputs: Any, features: Sequence[str], encoding: Encoding | None = None) -> Iterator[str]:
    """Return Python objects as lines.

    Args:
        inputs: a text or several, rows of numbers, or rows that are mappings. Rows of numbers are for example an array
            `(rows, features)`, or numbers if there is one feature. Other columns are ignored.
        features: names of the features, () for sets.
        encoding: codes of the columns, None if all cells are numbers.

    Raises:
        ArgumentError: if a row is something else.

    Example:
        >>> list(lines_of(np.array([[1.0, 2.5]]), ("a", "b"))), list(lines_of([{"b": 2.5, "a": 1}], ("a", "b")))
        (['1,2.5'], ['1,2.5'])
    """
    if _is_number(inputs):  # a text is a scalar too
        inputs = [inputs]
    if not isinstance(inputs, Iterable):
        expected = "expected texts, rows of numbers, or columns by their names"
        raise ArgumentError(f"inputs: {expected}, got {type(inputs).__name__}")
    for number, row in enumerate(inputs, 1):
        if isinstance(row, str | Path):
            yield str(row)
            continue
        try:
            if encoding is not None:
                yield encoding.line(_cells(row, encoding))
            else:
                yield exact(_by_name(row, features) if isinstance(row, Mapping) else _of_row(row, features))
        except CellError as error:
            raise ArgumentError(f"inputs: row {number}, {error}") from None
        except ValueError as error:
            raise ArgumentError(f"inputs: row {number}: {error}") from None


def _is_number(value: Any) -> bool:
    return bool(np.isscalar(value)) or getattr(value, "ndim", 1) == 0


def _cells(row: Any, encoding: Encoding) -> list[Cell]:
    if isinstance(row, Mapping):
        cells = {str(name): cell for name, cell in row.items()}
        return [cell for _, cell in column_cells(encoding.names, cells, written=encoding.written)]
    row = row.tolist() if hasattr(row, "tolist") else row
    return _checked([row] if _is_number(row) or not isinstance(row, Iterable) else list(row), encoding)


def _checked(row: Sequence[Any], encoding: Encoding) -> list[Cell]:
    cells = list[Cell]()
    for name, value in zip(encoding.names, row, strict=False):
        cells += [cell for _, cell in column_cells([name], {name: value}, written=encoding.written)]
    for count in (len(row), len(cells)):
        if count != len(encoding.columns):
            expected = f"expected {counted(len(encoding.columns), 'cells')} ({inventory(encoding.names)})"
            raise ValueError(f"{expected}, got {count or 'none'}")
    return cells


def _of_row(row: Any, features: Sequence[str]) -> list[float]:
    if len(features) != 1 and _is_number(row):
        expected = f"a row of {counted(len(features), 'numbers')} ({inventory(features)})" if features else "a set"
        raise ValueError(f"expected {expected}, got {row!r:.40} alone; a single one is [[...]]")
    return flat(row)


def _by_name(row: Mapping[Any, Any], features: Sequence[str]) -> list[float]:
    if not features:
        raise ValueError("expected the numbers of a set, got columns by their names; pass a list of numbers")
    used = {str(name): cell for name, cell in row.items() if str(name) in features or not np.isscalar(cell)}
    numbers = dict(column_numbers(used, used))
    if missing := [name for name in features if name not in numbers]:
        raise ValueError(f"expected columns {inventory(features)}, got {inventory(row)}: without {inventory(missing)}")
    return [numbers[name] for name in features]
