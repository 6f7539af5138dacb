"""Inputs from Python: texts, paths, files, data frames, Arrow tables, rows."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from saccade._system.notes import say
from saccade.data.arrow import is_arrow, read_arrow
from saccade.data.columns import find_columns
from saccade.data.dataset import inventory
from saccade.data.files import ENDS
from saccade.data.folders import files_below
from saccade.data.objects import table_rows
from saccade.data.splits import SplitNames
from saccade.data.table import Table, values_of
from saccade.data.tables import JSON, is_readable, number_of, read_table
from saccade.data.texts import lines_of, read_text, suffix_of
from saccade.errors import ArgumentError
from saccade.tasks.stream import Placed
from saccade.tasks.task import Job

__all__ = ["Inputs", "input_lines", "is_table"]


class _Arrow(Protocol):
    def to_pylist(self) -> list[Any]: ...


Inputs: TypeAlias = str | Path | Mapping[str, Any] | Iterable[Any] | _Arrow
"""Inputs of `saccade.runs.Run.predict`."""


def input_lines(task: Job, inputs: Inputs) -> Iterator[str]:
    """Return inputs from Python as lines for `Job.read`.

    Args:
        task: job of the run.
        inputs: as for `saccade.runs.Run.predict`.

    Raises:
        ArgumentError: in one line.
        OSError: if a file cannot be read.
    """
    if isinstance(inputs, Path) or (isinstance(inputs, str) and task.inputs == "files"):
        return _of_path(task, Path(inputs))
    if isinstance(inputs, Mapping) and all(isinstance(cell, Path) or np.isscalar(cell) for cell in inputs.values()):
        return task.lines([inputs])
    rows = None if isinstance(inputs, str) else table_rows(inputs, "inputs")
    if rows is None and hasattr(inputs, "to_pylist"):  # a column of Arrow
        rows = inputs.to_pylist()
    return task.lines(inputs if rows is None else rows)


def is_table(path: Path) -> bool:
    """Return whether a file of inputs has rows, from its name.

    >>> is_table(Path("texts.csv.gz")), is_table(Path("texts.txt"))
    (True, False)
    """
    return is_arrow(path) or (suffix_of(path) in ENDS and suffix_of(path) != ".txt")


def _of_path(task: Job, path: Path) -> Iterator[str]:
    """Return the inputs of a path: rows of a table, lines of a text, or files."""
    files = task.inputs == "files"
    if path.is_dir() and files:
        return task.lines([str(file) for file in files_below(path) if file.suffix.lower() in task.suffixes])
    if path.is_dir() or is_arrow(path):
        tables = read_arrow(path, SplitNames()).values()
        return chain.from_iterable(_of_table(task, path, table, _rows(task, path, table)) for table in tables)
    if is_table(path) and not _has_numbers(task, path):
        table = read_table(path, task.columns or None, more=True)
        rows = _rows(task, path, table)
        return _of_table(task, path, table, [_beside(path.parent, row) for row in rows] if files else rows)
    return task.lines([str(path)] if files and not is_table(path) else lines_of(read_text(path)[0]))


def _rows(task: Job, path: Path, table: Table) -> list[Any]:
    """Return the rows of a table, with notes of its reading and of unused columns."""
    rows = list(values_of(table, lambda row: row))
    if not rows:
        raise ArgumentError(f"{path}: expected rows{' below the header' * bool(table.head)}, got none")
    if task.columns and (wrong := next((row for row in rows if not isinstance(row, Mapping | str | list)), None)):
        expected = f"expected rows with a column {task.columns[0].names[0]}"
        raise ArgumentError(f"{path}: {expected}, got {type(wrong).__name__}")
    if table.note:
        say(table.note)
    names = list(rows[0]) if isinstance(rows[0], Mapping) else []
    if task.columns and names:
        read = find_columns(task.columns, names, str(path))
        if None in read:
            column = task.columns[read.index(None)]
            got = f"got {inventory(names)}; rename the one that has it"
            raise ArgumentError(f"{path}: expected a column {' or '.join(column.names)}, {got}")
    else:
        features = getattr(task.codec, "names", ())
        read = [name for name in names if str(name) in features]
        missing = [name for name in features if name not in names and name.rstrip("0123456789") not in names]
        if read and missing:  # x1 and x2 are numbers of a cell x
            raise ArgumentError(f"{path}: expected the column {inventory(missing)}, got {inventory(names)}; add it")
    if read and (others := [name for name in names if name not in read]):
        say(f"{path}: reading {inventory(filter(None, read))}; other columns are not read: {inventory(others)}")
    return rows


def _of_table(task: Job, path: Path, table: Table, rows: Sequence[Any]) -> Iterator[str]:
    """Yield rows of a table as lines with their numbers in its file."""
    for index, row in enumerate(rows):
        number = index + 1 if table.numbers is None else table.numbers[index]
        try:
            yield from (Placed(line, number) for line in task.lines([row]))
        except ArgumentError as error:
            message = str(error).replace("inputs: row 1", table.where(index), 1)
            yield Placed("", number, ArgumentError(message))


def _has_numbers(task: Job, path: Path) -> bool:
    """Whether the first line of a table is a row of numbers, for a task of numbers."""
    if task.columns or suffix_of(path) in JSON:
        return False
    first = next(filter(str.strip, lines_of(read_text(path)[0])), "")
    return all(is_readable(number_of, cell) for cell in re.split("[,;|\t]", first))


def _beside(folder: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the paths of files in the folder of its table."""
    return {name: str(folder / cell) if (folder / str(cell)).is_file() else cell for name, cell in row.items()}
