"""Rows of numbers: columns by name, features and targets, and groups.

Groups have metrics of their own.
"""

import difflib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from saccade.data import Examples, Row, Rows
from saccade.data.columns import CellError, is_empty
from saccade.data.dataset import Dataset, counted, inventory
from saccade.data.naming import first_rows
from saccade.data.splits import SPLIT, wholes
from saccade.data.table import Table
from saccade.data.tables import INDEX
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.regress.data.columns import as_usual, column_cells, column_numbers
from saccade.tasks.regress.data.encoding import Cell, Encoding, fit_encoding, is_no_number
from saccade.tasks.regress.data.identifiers import find_identifiers
from saccade.tasks.regress.data.written import Written, find_written

__all__ = [
    "Choice",
    "ChoiceError",
    "Example",
    "NumberTable",
    "Numbers",
    "Reader",
    "ranges",
]

_LARGEST = 10_000_000  # rows, which take 4 GiB
_MOST_COLUMNS = 5_000  # of features: reading 8,000 takes 20 seconds
_RANGES = 4  # of a single feature
_SAMPLE = 10_000  # rows that show how numbers are written
_LISTED = 200  # most characters of a list of features
_INDEXES = (INDEX, "__index_level_0__")  # unnamed indexes, as pandas names them in CSV and in parquet
_WAY_OUT = "; correct it, leave the row out, or name other columns by --features and --target"


class Example(NamedTuple):
    """Features or elements of a set, targets, and the group for metrics.

    The group is "" if there is none. Cells are those of the table, () if all are numbers.

    >>> Example((0.5,), (0.48,), "").answers
    (0.48,)
    """

    numbers: tuple[float, ...]
    answers: tuple[float, ...]
    group: str
    cells: tuple[Cell, ...] = ()


class Numbers(Dataset[Example], Protocol):
    """Rows or sets of numbers with targets, in three splits."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, () for sets."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the targets."""

    @property
    def encoding(self) -> Encoding | None:
        """Codes of the columns, None if all cells are numbers."""


class Choice(NamedTuple):
    """Options of a run that choose columns.

    >>> Choice(target="price").sets
    False
    """

    target: str | None = None
    """Names separated by commas. None: the last column."""
    features: str | None = None
    """Names separated by commas, or, with a minus, to leave out. None: all others."""
    sets: bool = False
    """Whether the features of a row are a set, of any size."""
    decimal: str | None = None
    """Mark of decimals in texts. None: by the cells of each column."""

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
        rows: with "numbers" and "answers". Numbers are cells of any kind.
        columns: names of the feature columns, () for sets.
        targets: names of the targets.
        note: about the columns.
        named: whether rows have names of columns, for errors.
        written: how columns are written.
    """

    def __init__(
        self,
        rows: Rows[Row],
        columns: tuple[str, ...],
        targets: tuple[str, ...],
        note: str = "",
        *,
        named: bool = True,
        written: Mapping[str, Written] | None = None,
    ) -> None:
        super().__init__(rows, self._example)
        self.columns, self.features, self.targets, self._note, self._named = columns, columns, targets, note, named
        self._written = written or {}
        to_measure = wholes() is not None  # by the codes of a run
        self.encoding = self._encoding() if columns and not to_measure else None
        if self.encoding is not None:
            self.features = self.encoding.features
        single = len(columns) == 1 and self.encoding is None and not to_measure
        column = [row["numbers"][0] for row in rows.splits["train"]] if single else []
        quantiles = np.quantile(column, np.linspace(0, 1, _RANGES + 1)).tolist() if column else ()
        self.edges = sorted(set(quantiles))

    def _example(self, row: Row) -> Example:
        numbers, answers = row["numbers"], row["answers"]
        if self.encoding is not None:
            return Example(self.encoding.encode(numbers), answers, "", numbers)
        if not self.columns:
            return Example(numbers, answers, str(len(numbers)))
        group = ranges(self.edges)[bisect_right(self.edges[1:-1], numbers[0])] if len(self.edges) > 1 else ""
        return Example(numbers, answers, group)

    def _encoding(self) -> Encoding | None:
        """Fit the codes of the columns, and check the cells of all rows."""

        def error(split: str, index: int, reason: CellError) -> ArgumentError:
            return ArgumentError(
                f"{self.rows.where(split, index)}{f', {reason}' if self._named else f': {reason.reason}'}"
            )

        train = [row["numbers"] for row in self.rows.splits["train"]]
        others = (row for split in ("validation", "test") for row in self.rows.splits[split])
        blank = any(map(is_no_number, chain.from_iterable(row["numbers"] for row in others)))
        encoding, notes = fit_encoding(self.columns, train, partial(error, "train"), self._written, blank=blank)
        for split, rows in self.rows.splits.items():
            for index, row in enumerate(rows):
                if encoding.plain and all(isinstance(cell, float) and cell == cell for cell in row["numbers"]):
                    continue
                try:
                    encoding.encode(row["numbers"], _WAY_OUT)
                except CellError as reason:
                    raise error(split, index, reason) from None
        self._note = "; ".join(filter(None, [self._note, *notes]))
        return None if encoding.plain else encoding

    @property
    def fingerprint(self) -> str:
        """Number and hash of the rows, and the names of the columns."""
        return f"{super().fingerprint}, columns {', '.join(self.columns) or 'sets'} → {', '.join(self.targets)}"

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
        self.named, self.left, self.written = True, tuple[str, ...](), dict[str, Written]()

    def prepare(self, table: Table) -> None:
        """Choose the columns, and the format of their numbers, by the first training rows.

        Features of other data are read as those of the run (`known_columns`).

        Raises:
            ArgumentError: if the numbers or dates of a column have two meanings.
            ChoiceError: if the table lacks a column of an option, or has no texts for the mark of decimals.
        """
        rows, to_measure = list(first_rows(table, _SAMPLE)), wholes() is not None
        cells = dict[str, list[Any]]()
        if rows and all(isinstance(row, Mapping) for row in rows):
            self._choose(tuple(map(str, rows[0])))
            used = {*self.inputs, *self.outputs}
            cells = {str(name): [row.get(name) for row in rows] for name in rows[0] if str(name) in used}
            if not to_measure:
                self._leave_out({name: cells[name] for name in self.inputs})
        named = self.outputs if to_measure else (*self.inputs, *self.outputs)
        texts = {name: _texts(column) for name, column in cells.items() if name in named}
        if self.choice.decimal and not to_measure and not any(texts.values()):
            got = f"got {self.choice.decimal}; leave it out"
            raise ChoiceError(f"--decimal: expected none for {self.where}, whose numbers are no texts, {got}")
        if not self.choice.sets:
            try:
                self.written, notes = find_written(texts, self.choice.decimal)
            except CellError as error:
                raise ArgumentError(f"{self.where}, {error}") from None
            self.note = "; ".join(filter(None, [self.note, *notes]))

    def read(self, row: Any, labels: object) -> Row:
        """Return the numbers of a row and its answers.

        Raises:
            ValueError: if the row has other columns, or other kinds of cells.
        """
        self.count += 1
        if self.count > _LARGEST:
            raise ValueError(f"expected at most {_LARGEST:,} rows, got more; train on fewer")
        self.named = isinstance(row, Mapping)
        named = row if isinstance(row, Mapping) else _pair(row)
        cells = {str(name): cell for name, cell in named.items()}
        if not self.names:
            self._choose(tuple(cells))
        names, sets = self._inputs(cells), self.choice.sets
        inputs: list[tuple[str, Any]]
        if sets:
            inputs = column_numbers(names, cells, _WAY_OUT, sets=True)
        else:
            inputs = column_cells(names, cells, _WAY_OUT, self.written)
            if wholes() is not None:
                texts = {name: cell for name, cell in cells.items() if isinstance(cell, str)}
                inputs = [(name, texts.get(name, cell)) for name, cell in inputs]
        outputs = column_numbers(self.outputs, as_usual(cells, self.outputs, self.written), _WAY_OUT)
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
            return [name for name in cells if name not in (*self.outputs, *self.left, *_INDEXES, SPLIT)]
        missing = [name for name in (*self.inputs, *self.outputs) if name not in cells]
        expected = cells if self.choice.features else {*self.names, *_INDEXES, SPLIT}
        parts = (("without", missing), ("with", [name for name in cells if name not in expected]))
        if differences := ", ".join(f"{word} {inventory(part)}" for word, part in parts if part):
            raise ValueError(f"expected the columns of the first row, got others: {differences}")
        return self.inputs

    def _choose(self, names: tuple[str, ...]) -> None:
        """Choose the columns by the first row."""
        target, features = self.choice.target, self.choice.features
        usable = [name for name in names if name not in (*_INDEXES, SPLIT)]
        outputs = self._named(target, names, "target") if target else usable[-1:]
        rest = [name for name in usable if name not in outputs]
        if features and all(name.startswith("-") and name not in names for name in _names(features)):
            out = self._named(",".join(name.removeprefix("-") for name in _names(features)), names, "features")
            inputs = [name for name in rest if name not in out]
        else:
            inputs = self._named(features, names, "features") if features else rest
        if both := [name for name in inputs if name in outputs]:
            raise ChoiceError(f"--features: expected other columns than --target, got {both[0]} in both")
        if not inputs and target and usable:
            got = f"got all of {self.where} ({inventory(usable)})"
            raise ChoiceError(f"--target: expected a column beside the targets, {got}; leave one out")
        if not inputs:
            got = f"got {len(usable)} ({inventory(names)})"
            raise ChoiceError(f"{self.where}: expected two columns or more, features and a target, {got}")
        if len(inputs) > _MOST_COLUMNS:
            got = f"got {len(inputs):,}; choose some by --features"
            raise ChoiceError(f"{self.where}: expected at most {_MOST_COLUMNS:,} columns of features, {got}")
        self.names, self.inputs, self.outputs = names, tuple(inputs), tuple(outputs)
        if unused := [name for name in names if name in _INDEXES and name not in (*inputs, *outputs)]:
            way_out = "" if features else f'; --features "{",".join([*unused, *inputs])}" uses it'
            self.note = f"{self.where}: left out the column {unused[0]}, an unnamed index of the rows{way_out}"

    def _leave_out(self, cells: Mapping[str, Sequence[Any]]) -> None:
        """Leave out features that identify rows, unless an option names them.

        A note names further features that count the rows.
        """
        features = _names(self.choice.features)
        if len(self.inputs) < 2 or (features and set(features) & set(self.names)):
            return
        identifiers, counters = find_identifiers(cells)
        rest = tuple(name for name in self.inputs if name not in identifiers)
        notes = [self.note]
        if identifiers and rest:
            self.left, option = tuple(identifiers), ",".join([*identifiers, *rest])
            listed = f' "{option}"' if len(option) <= _LISTED else ""
            names = f"column{'s' * (len(identifiers) > 1)} {inventory(identifiers)}"
            notes.append(f"{self.where}: left out the {names}, which only names the rows; --features{listed} uses it")
            self.inputs = rest
        notes += [f'column {name} counts the rows; --features="-{name}" leaves it out' for name in counters]
        self.note = "; ".join(filter(None, notes))

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


def _texts(cells: Sequence[Any]) -> list[str]:
    """Return the texts of a column without blanks, [] for cells of other kinds."""
    filled = [cell for cell in cells if not is_empty(cell)]
    if not all(isinstance(cell, str) for cell in filled):
        return []
    return [cell for cell in filled if not is_no_number(cell.strip())]


def _names(option: str | None) -> list[str]:
    return [name.strip() for name in option.split(",")] if option else []


def _pair(row: Any) -> Row:
    """The cells of a row without names."""
    if isinstance(row, Tensor | np.ndarray):
        row = row.tolist()
    if isinstance(row, str) or not isinstance(row, Sequence) or len(row) < 2:
        raise ValueError(f"expected features and targets, got {row!r:.60}")
    return {"x": row[0] if len(row) == 2 else row[:-1], "y": row[-1]}
