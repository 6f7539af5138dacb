"""Rows of numbers: the columns that are asked and answered, and the numbers in their cells."""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from torch import Tensor

from saccade.data import Row
from saccade.data.dataset import counted, inventory
from saccade.data.splits import SPLIT
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.regress.data.cells import flat, of_column, several

__all__ = ["ChoiceError", "Reader", "Wanted", "named_numbers"]

_Cells: TypeAlias = list[tuple[str, list[float]]]


class ChoiceError(SaccadeError):
    """A choice of columns that no row has: no fault of the row that shows it."""


class Wanted(NamedTuple):
    """The options of a run that choose columns.

    >>> Wanted(target="price").sets
    False
    """

    target: str | None = None
    """Names with commas between; None: the last column."""
    features: str | None = None
    """Names with commas between; None: all others."""
    sets: bool = False
    """Whether the features of a row are a set, of any size."""

    @property
    def divided(self) -> bool:
        """Whether a column `split` divides the rows, which it does unless it is a feature or a target."""
        return SPLIT not in (*_names(self.target), *_names(self.features))


class Reader:
    """Reads rows that are all like the first.

    Args:
        wanted: the options that choose columns.
        where: the data, for messages.
    """

    def __init__(self, wanted: Wanted, where: str) -> None:
        self.wanted, self.where, self.names = wanted, where, tuple[str, ...]()
        self.asked, self.answered = tuple[str, ...](), tuple[str, ...]()
        self.features, self.targets = tuple[str, ...](), tuple[str, ...]()

    def read(self, row: Any, labels: object) -> Row:
        """Return the numbers of a row and its answers.

        Raises:
            ValueError: if the row is none, or is not like the first.
        """
        asked, answered = self._cells(row) if isinstance(row, Mapping) else _pair(row)
        numbers, answers = (tuple(number for _, values in part for number in values) for part in (asked, answered))
        if not numbers or not answers:
            what = "a set of one number or more" if self.wanted.sets else "numbers to ask and to answer"
            raise ValueError(f"expected {what}, got none")
        if not self.targets:
            self.features, self.targets = (tuple(name for name, _ in named_numbers(part)) for part in (asked, answered))
        if not self.wanted.sets and len(numbers) != len(self.features):
            wanted = f"expected {counted(len(self.features), 'numbers')}, as in row 1, got {len(numbers)}"
            raise ValueError(f"{wanted}; sets=True where rows are sets")
        if len(answers) != len(self.targets):
            raise ValueError(f"expected {counted(len(self.targets), 'numbers')}, as in row 1, got {len(answers)}")
        return {"numbers": numbers, "answers": answers}

    def _cells(self, row: Mapping[Any, Any]) -> tuple[_Cells, _Cells]:
        by_name = {str(name): value for name, value in row.items()}
        if not self.names:
            self._choose(tuple(by_name))
        asked = self.asked
        if self.wanted.sets and not self.wanted.features:  # sets have no places: all columns of this row
            asked = tuple(name for name in by_name if name not in (*self.answered, SPLIT))
        elif others := self._differing(by_name):
            raise ValueError(f"expected the columns of the first row, got others: {others}")
        if missing := [name for name in (*asked, *self.answered) if name not in by_name]:
            raise ValueError(f"expected a column {missing[0]}, got {inventory(by_name)}")
        read = several if self.wanted.sets else flat
        cells = [(name, of_column(name, by_name[name], read, "features")) for name in asked]
        return cells, [(name, of_column(name, by_name[name], flat, "target")) for name in self.answered]

    def _differing(self, there: Mapping[str, Any]) -> str:
        """The differences from the columns of the first row, "" if none counts."""
        missing = [name for name in (*self.asked, *self.answered) if name not in there]
        more = [] if self.wanted.features else [name for name in there if name not in {*self.names, SPLIT}]
        parts = (("without", missing), ("with", more))
        return ", ".join(f"{word} {inventory(part)}" for word, part in parts if part)

    def _choose(self, names: tuple[str, ...]) -> None:
        """Choose the columns by the first row; a wrong option is no fault of that row."""
        usable = [name for name in names if name != SPLIT]
        try:
            answered = self._named(self.wanted.target, names, "target") if self.wanted.target else usable[-1:]
            left = [name for name in usable if name not in answered]
            asked = self._named(self.wanted.features, names, "features") if self.wanted.features else left
            if both := [name for name in asked if name in answered]:
                raise ArgumentError(f"--features: expected other columns than --target, got {both[0]} in both")
            if not asked and self.wanted.target and usable:
                got = f"got all of {self.where} ({inventory(usable)})"
                raise ArgumentError(f"--target: expected to leave a column or more to ask, {got}; leave one out")
            if not asked:
                wanted = "expected two columns or more, one to ask and one to answer"
                raise ArgumentError(f"{self.where}: {wanted}, got {len(names)}")
        except ArgumentError as error:
            raise ChoiceError(str(error)) from None
        self.names, self.asked, self.answered = names, tuple(asked), tuple(answered)

    def _named(self, listed: str, names: Sequence[str], option: str) -> list[str]:
        columns = _names(listed)
        for name in columns:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {near[0]}?" if near else f"there is {inventory(names)}"
                raise ArgumentError(f"--{option}: expected a column of {self.where}, got {name}; {hint}")
        if max(Counter(columns).values()) > 1:
            raise ArgumentError(f"--{option}: expected each column once, got {listed}")
        return columns


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


def _names(listed: str | None) -> list[str]:
    return [name.strip() for name in listed.split(",")] if listed else []


def _pair(row: Any) -> tuple[_Cells, _Cells]:
    """The numbers of a pair, or of numbers of which the last is the answer."""
    if isinstance(row, Tensor | np.ndarray):
        row = row.tolist()
    if isinstance(row, str) or not isinstance(row, Sequence) or len(row) < 2:
        raise ValueError(f"expected numbers to ask and to answer, got {row!r:.60}")
    return [("x", flat(row[0] if len(row) == 2 else row[:-1]))], [("y", flat(row[-1]))]
