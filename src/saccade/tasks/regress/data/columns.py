"""Cells of a row by the names of columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from saccade.data.columns import CellError, is_empty
from saccade.data.dataset import inventory
from saccade.tasks.regress.data.cells import flat
from saccade.tasks.regress.data.encoding import Cell, cell_of
from saccade.tasks.regress.data.written import Written

__all__ = ["as_usual", "column_cells", "column_numbers"]


def column_cells(
    names: Iterable[str], cells: Mapping[str, Any], way_out: str = "", written: Mapping[str, Written] | None = None
) -> list[tuple[str, Cell]]:
    """Return the cells of columns by name. Several numbers of a cell are numbered.

    Args:
        names: of the columns.
        cells: of a row.
        way_out: the end of an error of a cell.
        written: how columns are written, by name.

    Raises:
        ValueError: if a column is missing.
        CellError: if a cell is neither a number nor a text, a date or blank.

    Example:
        >>> column_cells(["age", "city", "x"], {"age": "3", "x": [1, 2], "city": "Bonn"})
        [('age', 3.0), ('city', 'Bonn'), ('x1', 1.0), ('x2', 2.0)]
    """
    result, names = list[tuple[str, Cell]](), list(names)
    cells = as_usual(cells, names, written or {})
    for name in names:
        cell = cells.get(name)
        if name not in cells or (isinstance(cell, Sequence | np.ndarray | Tensor) and not isinstance(cell, str)):
            result += column_numbers([name], cells, way_out)
            continue
        try:
            result.append((name, cell_of(cell)))
        except ValueError as error:
            raise CellError(name, f"{error}{way_out}") from None
    return result


def column_numbers(
    names: Iterable[str], cells: Mapping[str, Any], way_out: str = "", *, sets: bool = False
) -> list[tuple[str, float]]:
    """Return the numbers of columns by name. Several numbers of a cell are numbered.

    Args:
        names: of the columns.
        cells: of a row.
        way_out: the end of an error of a cell.
        sets: whether cells may be empty, or texts of several numbers.

    Raises:
        ValueError: if a column is missing.
        CellError: if a cell has no finite numbers.

    Example:
        >>> column_numbers(["age", "x"], {"age": 3, "x": [1, 2], "city": "Bonn"})
        [('age', 3.0), ('x1', 1.0), ('x2', 2.0)]
    """
    numbers = list[tuple[str, float]]()
    for name in names:
        if name not in cells:
            raise ValueError(f"expected a column {name}, got {inventory(cells)}")
        cell = cells[name]
        if sets:
            cell = [] if is_empty(cell) else cell.split() if isinstance(cell, str) else cell
        try:
            values = flat(cell, way_out)
        except ValueError as error:
            raise CellError(name, error) from None
        numbers += [(name if len(values) == 1 else f"{name}{n}", value) for n, value in enumerate(values, 1)]
    return numbers


def as_usual(cells: Mapping[str, Any], names: Iterable[str], written: Mapping[str, Written]) -> Mapping[str, Any]:
    """Return cells with decimal points and dates in ISO 8601.

    Args:
        cells: of a row.
        names: of the columns to change.
        written: how columns are written.

    Example:
        >>> as_usual({"a": "3,14", "b": "3,14"}, ["a"], {"a": Written(",")})
        {'a': '3.14', 'b': '3,14'}
    """
    texts = {name: cells[name] for name in names if name in written and isinstance(cells.get(name), str)}
    return {**cells, **{name: written[name].read(text) for name, text in texts.items()}} if texts else cells
