"""What a data set of numbers is: rows, or sets, each with its answers."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from saccade.data import Examples, Row, Rows
from saccade.data.dataset import Dataset

__all__ = ["Example", "Numbers", "Table", "exact", "ranges"]

_PARTS = 4  # ranges of a single feature that are measured by themselves


class Example(NamedTuple):
    """The numbers that are asked, those that answer, and the group that it is measured in, "" if none.

    >>> Example((0.5,), (0.48,), "").answers
    (0.48,)
    """

    numbers: tuple[float, ...]
    answers: tuple[float, ...]
    group: str


class Numbers(Dataset[Example], Protocol):
    """Numbers and their answers in three splits."""

    @property
    def features(self) -> tuple[str, ...]:
        """What the numbers of a row are called; none of sets, whose elements have no places."""

    @property
    def targets(self) -> tuple[str, ...]:
        """What the answers are called."""


class Table(Examples[Example]):
    """Rows in memory.

    Args:
        rows: of numbers and of answers.
        features: names of the numbers; none of sets.
        targets: names of the answers.
    """

    def __init__(self, rows: Rows[Row], features: tuple[str, ...], targets: tuple[str, ...]) -> None:
        super().__init__(rows, self._example)
        self.features, self.targets = features, targets
        column = [] if len(features) != 1 else [row["numbers"][0] for row in rows.splits["train"]]
        quartiles = np.quantile(column, np.linspace(0, 1, _PARTS + 1)).tolist() if column else ()
        self.edges = sorted(set(quartiles))

    def _example(self, row: Row) -> Example:
        """An example; its group is the range of a single feature, or the size of a set."""
        numbers, answers = row["numbers"], row["answers"]
        if not self.features:
            return Example(numbers, answers, str(len(numbers)))
        group = ranges(self.edges)[bisect_right(self.edges[1:-1], numbers[0])] if len(self.edges) > 1 else ""
        return Example(numbers, answers, group)

    @property
    def fingerprint(self) -> str:
        """What the numbers are, in one string."""
        named = f"{', '.join(self.features) or 'sets'} → {', '.join(self.targets)}"
        return f"{super().fingerprint}, columns {named}"


def ranges(edges: Sequence[float]) -> list[str]:
    """Return what the ranges between edges are called.

    >>> ranges([0, 0.5, 1])
    ['0 to 0.5', '0.5 to 1']
    """
    return [f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)]


def exact(numbers: Sequence[float]) -> str:
    """Return numbers in a line, so that they are read back as they are.

    >>> exact((0.5, 2.0, 1e300))
    '0.5,2,1e+300'
    """
    return ",".join(repr(number).removesuffix(".0") for number in numbers)
