"""What a data set of numbers is: rows, or sets, each with its answers."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from saccade.data.dataset import Dataset
from saccade.tasks.objects import Rows

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


@dataclass(frozen=True)
class Table:
    """Rows in memory.

    Args:
        rows: of numbers and of answers.
        features: what numbers are called; none of sets.
        targets: what answers are called.
    """

    rows: Rows[tuple[tuple[float, ...], tuple[float, ...]]]
    features: tuple[str, ...]
    targets: tuple[str, ...]

    def example(self, split: str, index: int) -> Example:
        """Return one example of a split; its group is the range of a single feature, or the size of a set."""
        numbers, answers = self.rows.example(split, index)
        if not self.features:
            return Example(numbers, answers, str(len(numbers)))
        edges = self._edges
        group = ranges(edges)[bisect_right(edges[1:-1], numbers[0])] if len(edges) > 1 else ""
        return Example(numbers, answers, group)

    def size(self, split: str) -> int:
        """Return how many examples a split has."""
        return self.rows.size(split)

    @property
    def fingerprint(self) -> str:
        """What the numbers are, in one string."""
        named = f"{', '.join(self.features) or 'sets'} → {', '.join(self.targets)}"
        return f"{self.rows.fingerprint}, columns {named}"

    @property
    def note(self) -> str:
        """What a user should know of the numbers."""
        return self.rows.note

    @cached_property
    def _edges(self) -> list[float]:
        """Quartiles of a single feature in training; none of several features."""
        if len(self.features) != 1:
            return []
        column = [numbers[0] for numbers, _ in self.rows.splits["train"]]
        return sorted(set(np.quantile(column, np.linspace(0, 1, _PARTS + 1)).tolist()))


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
