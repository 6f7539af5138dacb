"""Inputs from Python: texts, paths, files, data frames, Arrow tables, rows."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from saccade.data.arrow import is_arrow, read_arrow
from saccade.data.files import ENDS
from saccade.data.folders import files_below
from saccade.data.objects import table_rows
from saccade.data.splits import SplitNames
from saccade.data.tables import read_table
from saccade.data.texts import lines_of, read_text, suffix_of
from saccade.tasks.task import Job

__all__ = ["Inputs", "input_lines"]


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
        return task.lines(_of_path(task, Path(inputs)))
    if hasattr(inputs, "to_pylist"):
        return task.lines(inputs.to_pylist())
    if isinstance(inputs, Mapping) and all(isinstance(cell, Path) or np.isscalar(cell) for cell in inputs.values()):
        return task.lines([inputs])
    rows = None if isinstance(inputs, str) else table_rows(inputs, "inputs")
    return task.lines(inputs if rows is None else rows)


def _of_path(task: Job, path: Path) -> Iterable[Any]:
    """Return the inputs of a path: rows of a table, lines of a text, or files."""
    files = task.inputs == "files"
    if path.is_dir() and files:
        return [str(file) for file in files_below(path) if file.suffix.lower() in task.suffixes]
    if path.is_dir() or is_arrow(path):
        return (row for table in read_arrow(path, SplitNames()).values() for row in table.rows)
    if suffix_of(path) in ENDS and suffix_of(path) != ".txt":
        rows: Iterable[Mapping[str, Any]] = read_table(path).rows
        return [_beside(path.parent, row) for row in rows] if files else rows
    return [str(path)] if files else lines_of(read_text(path)[0])


def _beside(folder: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the paths of files in the folder of its table."""
    return {name: str(folder / cell) if (folder / str(cell)).is_file() else cell for name, cell in row.items()}
