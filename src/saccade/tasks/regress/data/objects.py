"""Rows that are Python objects: pairs, lists of numbers, mappings, arrays, and tables of columns."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from torch import Tensor

from saccade.data.dataset import SPLITS, counted, inventory
from saccade.data.splits import SPLIT, SplitNames, split_of
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.objects import Rows, read_rows, rows_of
from saccade.tasks.regress.data.dataset import Table
from saccade.tasks.regress.data.sheet import (
    Columns,
    Row,
    Wanted,
    chosen,
    differing,
    flat,
    of_column,
    several,
)

__all__ = ["named_numbers", "read_objects", "table_rows"]


def read_objects(objects: Any, wanted: Wanted, names: SplitNames) -> Table:
    """Return the rows of Python objects.

    Args:
        objects: an iterable of rows, arrays `(X, y)`, a data frame, a mapping of columns; or a mapping of such by
            splits, one of whose names at least is a split's. A row is a pair of what is asked and what is answered,
            numbers of which the last is the answer, or a mapping of columns, of which one called `split` says which
            split the row is in.
        wanted: which columns are asked and answered.
        names: what splits are called.

    Raises:
        ArgumentError: naming the split and the row that is wrong.

    Example:
        >>> table = read_objects([(x, x * x) for x in range(9)], Wanted(), SplitNames())
        >>> table.features, table.targets, sorted(table.rows.splits)
        (('x',), ('y',), ['test', 'train', 'validation'])
    """
    reader = _Reader(wanted, names)
    if isinstance(objects, Mapping) and not _are_columns(objects, names):
        given: Any = {name: _rows(part) for name, part in objects.items()}
    else:
        given = {names.of("train")[0]: _rows(objects)}
    read = None if objects is None else _by_split(given, reader, names)
    rows: Rows[Row] = rows_of(read, lambda row, _: row, lambda row: str(row[0]), names)
    return Table(rows, () if wanted.sets else reader.features, reader.targets)


def _by_split(parts: Mapping[Any, Any], reader: "_Reader", names: SplitNames) -> dict[Any, Any]:
    """The rows of each split, and unread what is none: by their column `split` those of train, if that is all there is.

    Beside other splits the column has to say what the part says.
    """
    called = [name for name, part in parts.items() if part is not None and name in names.all]
    alone = [names.all[name] for name in called] == ["train"]
    found = {name: part for name, part in parts.items() if name not in called}
    for name in sorted(called, key=lambda name: SPLITS.index(names.all[name])):
        for split, row in read_rows(name, parts[name], partial(reader.read, "" if alone else name)):
            found.setdefault(split or name, []).append(row)
    return found


_Cells: TypeAlias = list[tuple[str, list[float]]]


class _Reader:
    """Reads rows that are all like the first."""

    def __init__(self, wanted: Wanted, names_of_splits: SplitNames) -> None:
        self.wanted, self.splits, self.columns = wanted, names_of_splits, Columns((), ())
        self.first, self.names = "the first row", tuple[str, ...]()
        self.features, self.targets = tuple[str, ...](), tuple[str, ...]()

    def read(self, known: str, row: Any, described: Any) -> tuple[str, Row]:
        """Return what the split of a row is called, `known` where no column says it, and its numbers."""
        if not isinstance(row, Mapping):
            return known, self._row(row, *_pair(row))
        by_name = {str(name): value for name, value in row.items()}
        if not self.names:
            self._begin(row, tuple(by_name))
        return self._split(by_name, known), self._row(row, *self._cells(by_name))

    def _row(self, row: Any, asked: _Cells, answered: _Cells) -> Row:
        numbers, answers = (tuple(one for _, values in part for one in values) for part in (asked, answered))
        if not numbers or not answers:
            raise ValueError(f"expected numbers to ask and to answer, got {row!r:.60}")
        if not self.targets:
            self.features, self.targets = (tuple(name for name, _ in named_numbers(part)) for part in (asked, answered))
        for wanted, found, fixed in ((self.features, numbers, not self.wanted.sets), (self.targets, answers, True)):
            if fixed and len(found) != len(wanted):
                hint = "; sets=True where rows are sets" if wanted is self.features else ""
                raise ValueError(f"expected {counted(len(wanted), 'numbers')}, as in row 1, got {len(found)}{hint}")
        return numbers, answers

    def _split(self, by_name: Mapping[str, Any], known: str) -> str:
        there = SPLIT in by_name
        if not known and there != (SPLIT in self.names):
            how = "with" if there else "without"
            raise ValueError(f"expected the columns of {self.first}, got others: {how} {SPLIT}")
        return split_of(by_name[SPLIT], self.splits, known) if there and self.columns.divided else known

    def _cells(self, by_name: Mapping[str, Any]) -> tuple[_Cells, _Cells]:
        features, targets = self.columns
        if self.wanted.sets:  # which have no places: those of the row, whatever others have
            features = tuple(name for name in by_name if self._may_be_asked(name))
        elif others := differing(tuple(by_name), self.names, self.columns, self.wanted):
            raise ValueError(f"expected the columns of {self.first}, got others: {others}")
        if missing := [name for name in targets if name not in by_name]:
            raise ValueError(f"expected a column {missing[0]}, got {inventory(by_name)}")
        read = several if self.wanted.sets else flat
        asked = [(name, of_column(name, by_name[name], read, "features")) for name in features]
        return asked, [(name, of_column(name, by_name[name], flat, "target")) for name in targets]

    def _begin(self, row: Any, names: tuple[str, ...]) -> None:
        """Know the columns by the first row: what is wrong with them is no fault of that row."""
        try:
            self.columns = chosen(names, self.wanted, str(getattr(row, "file", "data")))
        except ArgumentError as error:
            raise SaccadeError(str(error)) from None
        self.first, self.names = getattr(row, "where", self.first), names

    def _may_be_asked(self, name: str) -> bool:
        return name in self.columns.features if self.wanted.features else name not in (*self.columns.targets, SPLIT)


def _rows(part: Any) -> Any:
    """What is iterated over: of arrays (X, y) their rows, of a data frame its records."""
    if isinstance(part, tuple) and len(part) == 2 and all(isinstance(one, np.ndarray | Tensor) for one in part):
        if len(part[0]) != len(part[1]):
            raise ArgumentError(f"data: expected as many rows in X and y, got {len(part[0])} and {len(part[1])}")
        return list(zip(*part, strict=True))
    found = table_rows(part, "data")
    return part if found is None else found


def table_rows(part: Any, where: str) -> list[Mapping[Any, Any]] | None:
    """Return the rows of a data frame or of a mapping of columns; None of what is neither.

    Args:
        part: it.
        where: it is, for messages.

    Raises:
        ArgumentError: if columns are not of one length.

    Example:
        >>> table_rows({"x": [1, 2], "y": np.zeros(2)}, "data")[0]
        {'x': 1, 'y': np.float64(0.0)}
    """
    if hasattr(part, "to_dicts"):  # polars
        found: list[Mapping[Any, Any]] = part.to_dicts()
        return found
    if hasattr(part, "to_dict") and hasattr(part, "columns"):  # pandas
        return list(part.to_dict("records"))
    if not isinstance(part, Mapping):
        return None
    lengths = {name: _length(column) for name, column in part.items()}
    if None in lengths.values() or len(set(lengths.values())) > 1:
        got = inventory(f"{length or 'none'} of {name}" for name, length in lengths.items())
        way_out = "of splits one is called train"
        raise ArgumentError(f"{where}: expected columns of as many numbers each, got {got}; {way_out}")
    return [dict(zip(part, cells, strict=True)) for cells in zip(*part.values(), strict=True)]


def _length(column: Any) -> int | None:
    """How many cells a column has; None of what has none."""
    try:
        return None if isinstance(column, str | bytes) else len(column)
    except TypeError:
        return None


def _are_columns(given: Mapping[Any, Any], names: SplitNames) -> bool:
    """Whether a mapping is a table: no name in it is a split's, and each has cells."""
    sized = all(_length(part) is not None for part in given.values())
    return sized and not any(names.split(str(name)) for name in given)


def _pair(row: Any) -> tuple[_Cells, _Cells]:
    if isinstance(row, Tensor | np.ndarray):
        row = row.tolist()
    if isinstance(row, str) or not isinstance(row, Sequence) or len(row) < 2:
        raise ValueError(f"expected what is asked and what is answered, got {row!r:.60}")
    asked = row[0] if len(row) == 2 else row[:-1]
    return [("x", flat(asked))], [("y", flat(row[-1]))]


def named_numbers(parts: Sequence[tuple[str, Sequence[float]]]) -> list[tuple[str, float]]:
    """Return the numbers of some cells by their names: of a column with several its name with a number behind.

    >>> named_numbers([("age", [3.0]), ("x", [1.0, 2.0])])
    [('age', 3.0), ('x1', 1.0), ('x2', 2.0)]
    """
    return [
        (name if len(values) == 1 else f"{name}{place}", value)
        for name, values in parts
        for place, value in enumerate(values, 1)
    ]
