"""Which data sets of numbers there are, and what they are called on the command line."""

from pathlib import Path
from typing import Any

import numpy as np

from saccade.data import OBJECTS, Row
from saccade.data import Table as DataTable
from saccade.data.dataset import data_path, no_such_data
from saccade.data.files import ENDS, open_tables
from saccade.data.layouts.arrays import array_table, arrays
from saccade.data.objects import object_tables
from saccade.data.rows import rows_of
from saccade.data.splits import SplitNames
from saccade.data.tables import read_table
from saccade.errors import ArgumentError
from saccade.tasks.regress.data.builtin import Maximum, Sine
from saccade.tasks.regress.data.dataset import Numbers, Table
from saccade.tasks.regress.data.reader import ChoiceError, Reader, Wanted

__all__ = ["BUILTIN", "open_numbers"]

BUILTIN = {
    "sine": "points on a sine with constant noise: one number in, one out",
    "heteroscedastic": "points on a sine, with more noise for larger inputs",
    "maximum": "sets of 1 to 10 numbers and their maximum (Lee et al. 2019); generated on the fly",
}
_SKLEARN = "sklearn:"
SKLEARN = ("diabetes", "linnerud", "iris", "wine", "breast_cancer", "digits")
"""Data sets that come with scikit-learn; others would be downloaded."""


def open_numbers(
    data: str, objects: Any = None, names: SplitNames | None = None, wanted: Wanted | None = None
) -> Numbers:
    """Return the data set that --data names: a built-in one, a table, a folder of tables, or one of scikit-learn's.

    Args:
        data: a key of `BUILTIN`, a path, or "sklearn:" and a name.
        objects: the rows themselves, where `data` says that they are Python objects.
        names: what splits are called.
        wanted: which columns are asked and answered.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.
        OSError: if a file cannot be read.

    Example:
        >>> open_numbers("sine").size("train"), open_numbers("sklearn:diabetes").targets
        (512, ('target',))
    """
    path, names, wanted = data_path(data), names or SplitNames(), wanted or Wanted()
    if data in BUILTIN:
        names.refuse(data)
        _refuse(data, wanted)
        return Maximum() if data == "maximum" else Sine(growing=data == "heteroscedastic")
    tables: dict[str, DataTable] | None
    if data == OBJECTS:
        tables = object_tables(objects, names)
    elif data.startswith(_SKLEARN):
        tables = {"": _of_sklearn(data)}
    else:
        tables = arrays(path, names) or open_tables(path, names, _read, (*ENDS, ".npy", ".npz"))
    if tables is None:
        names.check("train", path)
        raise no_such_data(data, BUILTIN, holds=_HOLDS)
    where = "data" if data == OBJECTS else data
    for table in tables.values():
        if table.size is not None and table.size > _MOST:
            raise ArgumentError(f"{where}: expected at most {_MOST:,} rows, got {table.size:,}; train on fewer")
    reader = Reader(wanted, where)
    try:
        rows = rows_of(tables, reader.read, _key, names, place=where, divided=wanted.divided)
    except ChoiceError as error:
        raise ArgumentError(str(error)) from None
    return Table(rows, () if wanted.sets else reader.features, reader.targets)


_HOLDS = "train.csv (.tsv, .jsonl, .parquet, .npy, .npz), perhaps with validation and test"
_MOST = 10_000_000  # rows, which take 4 GiB


def _key(row: Row) -> str:
    return str(row["numbers"])


def _read(path: Path) -> DataTable:
    """The table of a file."""
    tables = arrays(path, SplitNames()) or {"": read_table(path)}
    if set(tables) != {""}:
        raise ArgumentError(f"{path}: expected the rows of one split, got {', '.join(tables)}")
    return tables[""]


def _refuse(data: str, wanted: Wanted) -> None:
    """Reject a choice among the columns of built-in data."""
    chosen = (("target", wanted.target), ("features", wanted.features), ("sets", "it" if wanted.sets else None))
    for option, value in chosen:
        if value is not None:
            raise ArgumentError(f"--{option}: expected none for {data}, whose columns are known; leave {value} out")


def _of_sklearn(data: str) -> DataTable:
    """A data set that comes with scikit-learn, answers behind features."""
    name = data.removeprefix(_SKLEARN)
    if name not in SKLEARN:
        raise ArgumentError(f"--data: expected sklearn: and one of {', '.join(SKLEARN)}, got {name}")
    from sklearn import datasets  # here: it takes a second to import

    bunch: Any = getattr(datasets, f"load_{name}")()
    answers = np.asarray(bunch.target, np.float64).reshape(len(bunch.data), -1)
    targets = map(str, bunch.target_names) if answers.shape[1] > 1 else ["target"]
    rows = np.concatenate([np.asarray(bunch.data, np.float64), answers], 1)
    return array_table(rows, data, (*map(str, bunch.feature_names), *targets))
