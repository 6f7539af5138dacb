"""Data sets of numbers by the names that --data takes."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data import OBJECTS, Table, open_rows
from saccade.data.files import ENDS
from saccade.data.layouts.arrays import array_table, arrays
from saccade.data.splits import SplitNames
from saccade.data.tables import read_table
from saccade.errors import ArgumentError
from saccade.tasks.regress.data.builtin import Maximum, Sine
from saccade.tasks.regress.data.rows import Choice, ChoiceError, Numbers, NumberTable, Reader

__all__ = ["BUILTIN", "open_numbers"]

BUILTIN = {
    "sine": "points on a sine with constant noise: one number in, one out",
    "heteroscedastic": "points on a sine, with more noise for larger inputs",
    "maximum": "sets of 1 to 10 numbers and their maximum (Lee et al. 2019); generated on the fly",
}
_MADE: Mapping[str, Callable[[], Numbers]] = {
    "sine": Sine,
    "heteroscedastic": partial(Sine, growing=True),
    "maximum": Maximum,
}
_SKLEARN = "sklearn:"
_PACKAGED = ("diabetes", "linnerud", "iris", "wine", "breast_cancer", "digits")  # others would be downloaded
_HOLDS = "train.csv (.tsv, .jsonl, .parquet, .npy, .npz), perhaps with validation and test"


def open_numbers(
    data: str, objects: Any = None, names: SplitNames | None = None, choice: Choice | None = None
) -> Numbers:
    """Open numbers: built in, a table, arrays, scikit-learn's or Python objects.

    A folder may have tables or arrays.

    Args:
        data: a key of `BUILTIN`, a path, "sklearn:" and a name, or "objects".
        objects: the rows, if data are Python objects.
        names: the names of splits.
        choice: options that choose columns.

    Raises:
        ArgumentError: if there are no such data, or they are damaged.
        OSError: if a file cannot be read.

    Example:
        >>> open_numbers("sine").size("train"), open_numbers("sklearn:diabetes").targets
        (512, ('target',))
    """
    choice = choice or Choice()
    for option, value in choice._asdict().items():
        if data in BUILTIN and value not in (None, False):
            way_out = f"leave {'it' if value is True else value} out"
            raise ArgumentError(f"--{option}: expected none for {data}, whose columns are fixed; {way_out}")
    if choice.sets and choice.decimal is not None:
        raise ArgumentError(
            f"--decimal: expected none beside --sets, got {choice.decimal}; write decimals with a point"
        )
    reader = Reader(choice, "data" if data == OBJECTS else data)
    numbers: Numbers
    try:
        numbers = open_rows(
            data,
            _MADE,
            reader.read,
            lambda rows: NumberTable(
                rows,
                () if choice.sets else reader.features,
                reader.targets,
                reader.note,
                named=reader.named,
                written=reader.written,
            ),
            names,
            objects,
            holds=_HOLDS,
            first=(_of_sklearn, arrays),
            read=_read,
            key=lambda row: str(row["numbers"]),
            ends=(*ENDS, ".npy", ".npz"),
            divided=choice.divided,
            prepare=reader.prepare,
        )
    except ChoiceError as error:  # not an error of the first row, which shows it
        raise ArgumentError(str(error)) from None
    return numbers


def _read(path: Path) -> Table:
    tables = arrays(path, SplitNames()) or {"": read_table(path)}
    if set(tables) != {""}:
        raise ArgumentError(f"{path}: expected the rows of one split, got {', '.join(tables)}")
    return tables[""]


def _of_sklearn(path: Path, names: SplitNames) -> dict[str, Table] | None:
    """Data of scikit-learn by "sklearn:" and a name."""
    data = str(path)
    if not data.startswith(_SKLEARN):
        return None
    name = data.removeprefix(_SKLEARN)
    if name not in _PACKAGED:
        raise ArgumentError(f"--data: expected sklearn: and one of {', '.join(_PACKAGED)}, got {name}")
    from sklearn import datasets  # here: it takes a second to import

    bunch: Any = getattr(datasets, f"load_{name}")()
    answers = np.asarray(bunch.target, np.float64).reshape(len(bunch.data), -1)
    targets = map(str, bunch.target_names) if answers.shape[1] > 1 else ["target"]
    rows = np.concatenate([np.asarray(bunch.data, np.float64), answers], 1)
    return {"": array_table(rows, data, (*map(str, bunch.feature_names), *targets))}
