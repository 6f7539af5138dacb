"""Rows that are Python objects: pairs, lists of numbers, mappings, arrays, and tables of pandas and polars."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from saccade.errors import ArgumentError
from saccade.tasks.objects import Rows, rows_of
from saccade.tasks.regress.data.dataset import Table
from saccade.tasks.regress.data.sheet import Row, Wanted, chosen, flat
from saccade.tasks.splits import SplitNames

__all__ = ["read_objects"]


def read_objects(objects: Any, wanted: Wanted, names: SplitNames) -> Table:
    """Return the rows of Python objects.

    Args:
        objects: an iterable of rows, arrays `(X, y)`, a data frame; or a mapping of such by splits. A row is a pair of
            what is asked and what is answered, numbers of which the last is the answer, or a mapping of columns.
        wanted: which columns are asked and answered.
        names: what splits are called.

    Raises:
        ArgumentError: naming the split and the row that is wrong.

    Example:
        >>> table = read_objects([(x, x * x) for x in range(9)], Wanted(), SplitNames())
        >>> table.features, table.targets, sorted(table.rows.splits)
        (('x',), ('y',), ['test', 'train', 'validation'])
    """
    reader = _Reader(wanted)
    given = {name: _rows(part) for name, part in objects.items()} if isinstance(objects, Mapping) else _rows(objects)
    rows: Rows[Row] = rows_of(given, reader.read, lambda row: str(row[0]), names)
    return Table(rows, () if wanted.sets else reader.features, reader.targets)


class _Reader:
    """Reads rows that are all like the first."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.features, self.targets = tuple[str, ...](), tuple[str, ...]()
        self.read: Callable[[Any, Any], Row] = self._read

    def _read(self, row: Any, described: Any) -> Row:
        parts = self._columns(row) if isinstance(row, Mapping) else _pair(row)
        asked, answered = ([(name, flat(value)) for name, value in part] for part in parts)
        numbers, answers = (tuple(one for _, values in part for one in values) for part in (asked, answered))
        if not numbers or not answers:
            raise ValueError(f"expected numbers to ask and to answer, got {row!r:.60}")
        if not self.targets:
            self.features, self.targets = _names(asked), _names(answered)
        for wanted, found, fixed in ((self.features, numbers, not self.wanted.sets), (self.targets, answers, True)):
            if fixed and len(found) != len(wanted):
                hint = "; sets=True where rows are sets" if wanted is self.features else ""
                raise ValueError(f"expected {len(wanted)} numbers, as in row 1, got {len(found)}{hint}")
        return numbers, answers

    def _columns(self, row: Mapping[Any, Any]) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
        columns = chosen(tuple(map(str, row)), self.wanted, "data")
        by_name = {str(name): value for name, value in row.items()}
        features, targets = ([(name, by_name[name]) for name in part] for part in columns)
        return features, targets


def _rows(part: Any) -> Any:
    """What is iterated over: of arrays (X, y) their rows, of a data frame its records."""
    if isinstance(part, tuple) and len(part) == 2 and all(isinstance(one, np.ndarray | Tensor) for one in part):
        if len(part[0]) != len(part[1]):
            raise ArgumentError(f"data: expected as many rows in X and y, got {len(part[0])} and {len(part[1])}")
        return list(zip(*part, strict=True))
    if hasattr(part, "to_dicts"):  # polars
        return part.to_dicts()
    if hasattr(part, "to_dict") and hasattr(part, "columns"):  # pandas
        return part.to_dict("records")
    return part


def _pair(row: Any) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    if isinstance(row, Tensor | np.ndarray):
        row = row.tolist()
    if isinstance(row, str) or not isinstance(row, Sequence) or len(row) < 2:
        raise ValueError(f"expected what is asked and what is answered, got {row!r:.60}")
    asked = row[0] if len(row) == 2 else row[:-1]
    return [("x", asked)], [("y", row[-1])]


def _names(parts: Sequence[tuple[str, Sequence[float]]]) -> tuple[str, ...]:
    """Names of numbers: of a column with several its name with a number behind."""
    return tuple(
        name if len(values) == 1 else f"{name}{place}" for name, values in parts for place in range(1, len(values) + 1)
    )
