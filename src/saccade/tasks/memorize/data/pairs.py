"""Sequences of symbols of one's own: pairs of two sides, symbols with spaces between, in files or as Python objects."""

from typing import Any

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.memorize.data.corpus import Item
from saccade.tasks.objects import pair_reader, rows_of
from saccade.tasks.text.files import Splits

__all__ = ["Filed", "Objects"]

_COLUMNS = (("input", "source", "question", "text"), ("output", "target", "answer"))


class Filed:
    """Pairs out of a file, read as they are asked for.

    Args:
        splits: the pairs.
    """

    def __init__(self, splits: Splits) -> None:
        self.splits, self.fingerprint, self.note = splits, splits.fingerprint, splits.note

    def example(self, split: str, index: int) -> Item:
        """Return one pair of a split."""
        return Item(*self.splits.row(split, index))

    def size(self, split: str) -> int:
        """Return how many pairs a split has."""
        return self.splits.size(split)


class Objects:
    """Pairs that are Python objects, or rows of tables.

    Args:
        objects: as `saccade.tasks.objects.rows_of` takes them.
        names: what splits are called.

    Raises:
        ArgumentError: if a row is none, or a side is blank.

    Example:
        >>> pairs = [("a b", "b a"), ("a c", "c a"), ("b c", "c b")]
        >>> Objects(pairs, SplitNames()).size("test")
        1
    """

    def __init__(self, objects: Any, names: SplitNames) -> None:
        read = pair_reader(*_COLUMNS)

        def filled(row: Any, features: Any) -> tuple[str, ...]:
            found = read(row, features)
            if not all(found):
                raise ArgumentError("expected two sides of a symbol or more, got a blank one")
            return found

        self.rows = rows_of(objects, filled, lambda row: row[0], names)
        self.fingerprint, self.note = self.rows.fingerprint, self.rows.note

    def example(self, split: str, index: int) -> Item:
        """Return one pair of a split."""
        return Item(*self.rows.example(split, index))

    def size(self, split: str) -> int:
        """Return how many pairs a split has."""
        return self.rows.size(split)
