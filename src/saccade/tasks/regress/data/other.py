"""Rows of numbers with the columns of a run, to measure it on other data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from saccade.data.columns import CellError
from saccade.data.dataset import inventory
from saccade.errors import ArgumentError
from saccade.tasks.regress.data.cells import flat
from saccade.tasks.regress.data.columns import column_cells
from saccade.tasks.regress.data.encoding import Encoding
from saccade.tasks.regress.data.rows import Example, Numbers, NumberTable

__all__ = ["KnownColumns", "known_columns"]


def known_columns(
    data: Numbers, features: Sequence[str], targets: Sequence[str], encoding: Encoding | None
) -> "KnownColumns | Numbers":
    """Return data with the columns of a run by name. Further columns are left out.

    Args:
        data: as they were opened to be measured (`saccade.data.splits.undivided`).
        features: names of the features of the run, () for sets.
        targets: names of its targets.
        encoding: its codes, None if all cells are numbers.

    Raises:
        ArgumentError: if a column is missing, or the targets are others.
    """
    columns = list(features if encoding is None else encoding.names)
    table = data if isinstance(data, NumberTable) else None
    names = list(data.features if table is None else table.columns)
    missing = [name for name in columns if name not in names]
    if missing or list(data.targets) != list(targets) or bool(names) != bool(columns):
        expected = (
            f"expected the columns {inventory(columns) or 'of sets'} and the target {inventory(targets)} of the run"
        )
        got = f"got {inventory(names) or 'sets'} and {inventory(data.targets)}"
        raise ArgumentError(f"--data: {expected}, {got}; rename its columns")
    if table is None or not columns:
        return data
    return KnownColumns(table, tuple(map(names.index, columns)), tuple(columns), encoding)


@dataclass(frozen=True, eq=False)
class KnownColumns:
    """A table with the features of a run.

    Args:
        data: the table.
        places: of the columns of the run among those of the table.
        names: of these columns.
        encoding: codes of the run, None if all cells are numbers.
    """

    data: NumberTable
    places: tuple[int, ...]
    names: tuple[str, ...]
    encoding: Encoding | None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data, name)

    def example(self, split: str, index: int) -> Example:
        """Return one example of a split.

        Raises:
            ArgumentError: for a cell of another kind than those of training.
        """
        row = self.data.rows.row(split, index)
        named = {name: row["numbers"][position] for name, position in zip(self.names, self.places, strict=True)}
        written = {} if self.encoding is None else self.encoding.written
        try:
            cells = tuple(cell for _, cell in column_cells(self.names, named, written=written))
            if self.encoding is not None:
                return Example(self.encoding.encode(cells), row["answers"], "", cells)
            return Example(tuple(map(self._number, self.names, cells)), row["answers"], "")
        except CellError as error:
            raise ArgumentError(f"{self.data.rows.where(split, index)}, {error}") from None

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the features of the run."""
        return self.names if self.encoding is None else self.encoding.features

    @staticmethod
    def _number(name: str, cell: Any) -> float:
        try:
            [number] = flat(None if cell != cell else cell, "; the columns of training have numbers alone")
        except ValueError as error:
            raise CellError(name, error) from None
        return number
