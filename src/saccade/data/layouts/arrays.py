"""Arrays of NumPy as tables.

A file has one array of rows, or arrays X and y, for all splits or for each (X_train, y_train).
"""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.dataset import inventory
from saccade.data.splits import SplitNames
from saccade.data.table import Table, row_of
from saccade.data.texts import suffix_of
from saccade.errors import ArgumentError

__all__ = ["array_table", "arrays"]

_LARGEST = 100_000_000  # largest number of elements. As rows they take 4 GiB.


def arrays(path: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return the rows of a .npy or .npz file as mappings, None for another file.

    Nothing is unpickled.

    Raises:
        ArgumentError: if the file has other arrays.
        OSError: if it cannot be read.
    """
    if suffix_of(path) not in (".npy", ".npz") or not path.is_file():
        return None
    try:
        members = _loaded(path)
    except (ValueError, EOFError, KeyError, OSError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())[:100]
        raise ArgumentError(f"{path}: expected whole arrays of numbers, got others ({reason})") from error
    if len(members) == 1:
        return {"": array_table(next(iter(members.values())), str(path))}
    lower = {name.lower(): array for name, array in members.items()}
    ends = {"": "", **{name: f"_{name}" for name in names.all}}
    pairs = {name: (lower[f"x{end}"], lower[f"y{end}"]) for name, end in ends.items() if f"x{end}" in lower}
    note = ""
    if not pairs:
        got = inventory(members)
        raise ArgumentError(f"{path}: expected one array, or X and y (X_train, y_train), got {got}")
    if "" in pairs and any(names.split(name) == "train" for name in pairs):
        del pairs[""]
        note = f"{path}: X and y are left out, as there are {', '.join(f'X_{name}' for name in pairs)}"
    if "" in pairs:
        pairs[names.of("train")[0]] = pairs.pop("")
    return {name: _pair(*pair, str(path), note if names.split(name) == "train" else "") for name, pair in pairs.items()}


def _loaded(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file:
        packed = file.read(2) == b"PK"
        if not packed:
            return {"": np.load(path, mmap_mode="r", allow_pickle=False)}
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            return {name.removesuffix(".npy"): _member(archive, name) for name in names}


def _member(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(name) as stream:
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return array


def array_table(array: NDArray[Any], where: str, named: tuple[str, ...] | None = None, note: str = "") -> Table:
    """Return the rows of an array `(rows, columns)` as mappings.

    Default names of columns are their numbers, from 1 on.

    Raises:
        ArgumentError: if it has another shape or kind, or is too large.

    Example:
        >>> next(iter(array_table(np.eye(2), "a.npy").rows))
        {'1': 1.0, '2': 0.0}
    """
    names = named or array.dtype.names
    if array.dtype.names is None and (array.ndim != 2 or array.dtype.kind not in "biuf"):
        raise ArgumentError(f"{where}: expected an array of numbers (rows, columns), got {array.dtype} {array.shape}")
    names = names or tuple(str(number) for number in range(1, array.shape[1] + 1))
    if len(array) * len(names) > _LARGEST:
        got = f"got {len(array):,} rows of {len(names):,}; train on fewer"
        raise ArgumentError(f"{where}: expected at most {_LARGEST:,} numbers, {got}")
    rows = (dict(zip(names, row.tolist(), strict=True)) for row in array)
    return Table(rows, row_of(where), note=note, size=len(array))


def _pair(x: NDArray[Any], y: NDArray[Any], where: str, note: str) -> Table:
    if x.ndim not in (1, 2) or y.ndim not in (1, 2) or len(x) != len(y):
        raise ArgumentError(f"{where}: expected X (rows, features) and y (rows,), got shapes {x.shape} and {y.shape}")
    parts = [part.reshape(len(part), -1) for part in (x, y)]
    named = [
        name if part.shape[1] == 1 else f"{name}{number}"
        for name, part in zip("xy", parts, strict=True)
        for number in range(1, part.shape[1] + 1)
    ]
    return array_table(np.concatenate(parts, 1), where, tuple(named), note)
