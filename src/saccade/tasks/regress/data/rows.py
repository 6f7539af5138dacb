"""Rows of numbers: columns by name, features and targets, and groups.

Groups have metrics of their own.
"""

import difflib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from saccade.data import Examples, Row, Rows
from saccade.data.columns import CellError, is_empty
from saccade.data.dataset import Dataset, counted, inventory
from saccade.data.splits import SPLIT
from saccade.data.tables import INDEX
from saccade.errors import SaccadeError
from saccade.tasks.regress.data.cells import flat

__all__ = ["Choice", "ChoiceError", "Example", "NumberTable", "Numbers", "Reader", "column_numbers", "ranges"]

_MOST = 10_000_000  # rows, which take 4 GiB
_RANGES = 4  # of a single feature
_INDEXES = (INDEX, "__index_level_0__")  # unnamed indexes, as pandas names them in CSV and in parquet
_WAY_OUT = "; correct it, leave the row out, or name other columns by --features and --target"


class Example(NamedTuple):
    """Features or elements of a set, targets, and the group for metrics.

    The group is "" if there is none.

    >>> Example((0.5,), (0.48,), "").answers
    (0.48,)
    """

    numbers: tuple[float, ...]
    answers: tuple[float, ...]
    group: str


class Numbers(Dataset[Example], Protocol):
    """Rows or sets of numbers with targets, in three splits."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, () for sets."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the targets."""


class Choice(NamedTuple):
    """Options of a run that choose columns.

    >>> Choice(target="price").sets
    False
    """

    target: str | None = None
    """Names separated by commas. None: the last column."""
    features: str | None = None
    """Names separated by commas. None: all other columns."""
    sets: bool = False
    """Whether the features of a row are a set, of any size."""

    @property
    def divided(self) -> bool:
        """Whether a column `split` divides the rows.

        It does unless it is a feature or a target.
        """
        return SPLIT not in (*_names(self.target), *_names(self.features))


class ChoiceError(SaccadeError):
    """Error of an option for a column that the data lack."""


class NumberTable(Examples[Example]):
    """Rows in memory.

    Args:
        rows: with "numbers" and "answers".
        features: names of the features, () for sets.
        targets: names of the targets.
        note: about the columns.
    """

    def __init__(self, rows: Rows[Row], features: tuple[str, ...], targets: tuple[str, ...], note: str = "") -> None:
        super().__init__(rows, self._example)
        self.features, self.targets, self._note = features, targets, note
        column = [] if len(features) != 1 else [row["numbers"][0] for row in rows.splits["train"]]
        quantiles = np.quantile(column, np.linspace(0, 1, _RANGES + 1)).tolist() if column else ()
        self.edges = sorted(set(quantiles))

    def _example(self, row: Row) -> Example:
        numbers, answers = row["numbers"], row["answers"]
        if not self.features:
            return Example(numbers, answers, str(len(numbers)))
        group = ranges(self.edges)[bisect_right(self.edges[1:-1], numbers[0])] if len(self.edges) > 1 else ""
        return Example(numbers, answers, group)

    @property
    def fingerprint(self) -> str:
        """Number and hash of the rows, and the names of the columns."""
        return f"{super().fingerprint}, columns {', '.join(self.features) or 'sets'} → {', '.join(self.targets)}"

    @property
    def note(self) -> str:
        """Notes about the columns and the rows."""
        return "; ".join(filter(None, [self._note, super().note]))


def ranges(edges: Sequence[float]) -> list[str]:
    """Return the names of the ranges between edges.

    >>> ranges([0, 0.5, 1])
    ['0 to 0.5', '0.5 to 1']
    """
    return [f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)]


class Reader:
    """Reader of rows with the columns of the first row.

    A row is a mapping, a pair of features and targets, or features with the target behind them.

    Args:
        choice: options that choose columns.
        where: the data, for messages.
    """

    def __init__(self, choice: Choice, where: str) -> None:
        self.choice, self.where, self.note, self.count = choice, where, "", 0
        self.names = self.inputs = self.outputs = self.features = self.targets = tuple[str, ...]()

    def read(self, row: Any, labels: object) -> Row:
        """Return the numbers of a row and its answers.

        Raises:
            ValueError: if the row has other columns, or other kinds of cells.
        """
        self.count += 1
        if self.count > _MOST:
            raise ValueError(f"expected at most {_MOST:,} rows, got more; train on fewer")
        named = row if isinstance(row, Mapping) else _pair(row)
        cells = {str(name): cell for name, cell in named.items()}
        if not self.names:
            self._choose(tuple(cells))
        inputs = column_numbers(self._inputs(cells), cells, _WAY_OUT, sets=self.choice.sets)
        outputs = column_numbers(self.outputs, cells, _WAY_OUT)
        if not inputs or not outputs:
            what = "a set of one number or more" if self.choice.sets else "features and targets"
            raise ValueError(f"expected {what}, got none")
        if not self.targets:
            self.features, self.targets = (tuple(name for name, _ in part) for part in (inputs, outputs))
        for part, names in ((inputs, () if self.choice.sets else self.features), (outputs, self.targets)):
            if names and len(part) != len(names):
                expected = f"expected {counted(len(names), 'numbers')}, as in row 1, got {len(part)}"
                raise ValueError(f"{expected}; sets=True if rows are sets" if part is inputs else expected)
        numbers, answers = (tuple(number for _, number in part) for part in (inputs, outputs))
        return {"numbers": numbers, "answers": answers}

    def _inputs(self, cells: Mapping[str, Any]) -> Sequence[str]:
        """The input columns of a row: those of the first row, or any of a set."""
        if self.choice.sets and not self.choice.features:
            return [name for name in cells if name not in (*self.outputs, *_INDEXES, SPLIT)]
        missing = [name for name in (*self.inputs, *self.outputs) if name not in cells]
        known = cells if self.choice.features else {*self.names, *_INDEXES, SPLIT}
        parts = (("without", missing), ("with", [name for name in cells if name not in known]))
        if differences := ", ".join(f"{word} {inventory(part)}" for word, part in parts if part):
            raise ValueError(f"expected the columns of the first row, got others: {differences}")
        return self.inputs

    def _choose(self, names: tuple[str, ...]) -> None:
        """Choose the columns by the first row."""
        target, features = self.choice.target, self.choice.features
        usable = [name for name in names if name not in (*_INDEXES, SPLIT)]
        outputs = self._named(target, names, "target") if target else usable[-1:]
        inputs = self._named(features, names, "features") if features else [n for n in usable if n not in outputs]
        if both := [name for name in inputs if name in outputs]:
            raise ChoiceError(f"--features: expected other columns than --target, got {both[0]} in both")
        if not inputs and target and usable:
            got = f"got all of {self.where} ({inventory(usable)})"
            raise ChoiceError(f"--target: expected a column beside the targets, {got}; leave one out")
        if not inputs:
            got = f"got {len(usable)} ({inventory(names)})"
            raise ChoiceError(f"{self.where}: expected two columns or more, features and a target, {got}")
        self.names, self.inputs, self.outputs = names, tuple(inputs), tuple(outputs)
        if unused := [name for name in names if name in _INDEXES and name not in (*inputs, *outputs)]:
            way_out = "" if features else f'; --features "{",".join([*unused, *inputs])}" uses it'
            self.note = f"{self.where}: left out the column {unused[0]}, an unnamed index of the rows{way_out}"

    def _named(self, option: str, names: Sequence[str], what: str) -> list[str]:
        columns = _names(option)
        for name in columns:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {near[0]}?" if near else f"there is {inventory(names)}"
                raise ChoiceError(f"--{what}: expected a column of {self.where}, got {name}; {hint}")
        if len(set(columns)) < len(columns):
            raise ChoiceError(f"--{what}: expected each column once, got {option}")
        return columns


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


def _names(option: str | None) -> list[str]:
    return [name.strip() for name in option.split(",")] if option else []


def _pair(row: Any) -> Row:
    """The cells of a row without names."""
    if isinstance(row, Tensor | np.ndarray):
        row = row.tolist()
    if isinstance(row, str) or not isinstance(row, Sequence) or len(row) < 2:
        raise ValueError(f"expected features and targets, got {row!r:.60}")
    return {"x": row[0] if len(row) == 2 else row[:-1], "y": row[-1]}
