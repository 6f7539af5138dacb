"""Tables on the disk: CSV and its like, NumPy's arrays, and the small data sets that scikit-learn brings along."""

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from saccade.data.conversions import converted
from saccade.data.dataset import SPLITS
from saccade.data.splits import SplitNames, only
from saccade.errors import ArgumentError
from saccade.tasks.regress.data.sheet import Sheet, check_size
from saccade.tasks.text.delimited import delimited, number_of, suffix_of
from saccade.tasks.text.files import read_filled
from saccade.tasks.text.lines import Lines
from saccade.train.notes import say

__all__ = ["SKLEARN", "is_numbers", "read_sheets", "read_sklearn"]

SKLEARN = ("diabetes", "linnerud", "iris", "wine", "breast_cancer", "digits")
"""Data sets that come with scikit-learn; the others it downloads, which nothing here does."""

_ZIP = b"PK"  # what a file of several arrays begins with
_ENDS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".npy", ".npz")


def is_numbers(path: Path, names: SplitNames) -> bool:
    """Return whether a path is a table, or a folder with one to train on.

    >>> is_numbers(Path("no/such.csv"), SplitNames())
    False
    """
    return path.is_file() or bool(_found(path, names.of("train")))


def read_sheets(path: Path, names: SplitNames) -> dict[str, Sheet]:
    """Return the tables of a path by what their splits are called there; "" is one of all splits.

    Args:
        path: a table; or a folder with train.csv (.tsv, .npy, .npz), and perhaps validation and test.
        names: what splits are called.

    Raises:
        ArgumentError: naming the file that is none, or the split that is named and not there.
        OSError: if a file cannot be read.
    """
    if path.is_file():
        return _read(path, names)
    found = dict[str, Sheet]()
    for split in SPLITS:
        file = only(_found(path, names.of(split)), f"say which by --{split}-split, or move one away")
        if file is None:
            names.check(split, path, (each.name for each in path.iterdir()))
            continue
        sheets = _read(file, SplitNames())
        if set(sheets) != {""}:
            raise ArgumentError(f"{file}: expected the rows of one split, got {', '.join(sheets)}")
        found[names.of(split)[0]] = sheets[""]
    return found


def read_sklearn(name: str) -> Sheet:
    """Return a data set that comes with scikit-learn, answers behind features.

    Raises:
        ArgumentError: if there is none of that name.

    Example:
        >>> read_sklearn("diabetes").names[-2:]
        ('s6', 'target')
    """
    if name not in SKLEARN:
        raise ArgumentError(f"--data: expected sklearn: and one of {', '.join(SKLEARN)}, got {name}")
    from sklearn import datasets  # here: it takes a second to import

    found: Any = getattr(datasets, f"load_{name}")()
    answers = np.asarray(found.target, np.float64).reshape(len(found.data), -1)
    targets = [str(one) for one in found.target_names] if answers.shape[1] > 1 else ["target"]
    rows = np.concatenate([np.asarray(found.data, np.float64), answers], 1)
    named = (*map(str, found.feature_names), *targets)
    return _of_array(rows, f"sklearn:{name}", named)


def _found(folder: Path, stems: Sequence[str]) -> list[Path]:
    return [path for stem in stems for end in _ENDS if (path := folder / f"{stem}{end}").is_file()]


def _read(path: Path, names: SplitNames) -> dict[str, Sheet]:
    suffix = suffix_of(path)
    if suffix in (".npy", ".npz"):
        return _arrays(path, names)
    if suffix not in (".csv", ".tsv", ".txt", ".dat", ""):
        way_out = converted(path, ("x", "y"))
        raise ArgumentError(
            f"{path}: expected a table (.csv, .tsv, .npy, .npz, .parquet), got another kind of file{way_out}"
        )
    return {"": _table(read_filled(path, latin1=True, holds="a row a line"))}


def _table(lines: Lines) -> Sheet:
    """Rows of cells below a header that names the columns."""
    table = delimited(lines)
    names = table.names
    if all(map(_is_number, names)):
        got = f"got {table.lines[table.first]!r:.60}; add a line of names"
        raise ArgumentError(f"{table.place(table.first)}: expected names of the columns, {got}")
    named = tuple(name or f"column {place}" for place, name in enumerate(names, 1))
    check_size(len(table), len(named), str(lines.path))
    rows = ((int(table.numbers[row]) + 1, cells) for row, cells in table.filled())
    return Sheet(str(lines.path), named, rows)


def _is_number(text: str) -> bool:
    try:
        number_of(text)
    except ValueError:
        return False
    return True


def _arrays(path: Path, names: SplitNames) -> dict[str, Sheet]:
    """One array of rows; or X and y, by themselves or with a split's name behind: X_train, y_train."""
    loaded = _loaded(path)
    if isinstance(loaded, np.ndarray):
        return {"": _of_array(loaded, str(path), loaded.dtype.names)}
    if len(loaded) == 1:
        [array] = loaded.values()
        return {"": _of_array(array, str(path), array.dtype.names)}
    ends = {f"_{name}": name for name in names.all} | {"": ""}
    lower = {name.lower(): array for name, array in loaded.items()}
    pairs = {
        split: (lower[f"x{end}"], lower[f"y{end}"])
        for end, split in ends.items()
        if {f"x{end}", f"y{end}"} <= set(lower)
    }
    if not pairs:
        raise ArgumentError(f"{path}: expected one array, or X and y (X_train, y_train), got {', '.join(loaded):.60}")
    if "" in pairs and any(names.all[split] == "train" for split in pairs if split):
        said = ", ".join(f"X_{split}" for split in pairs if split)
        say(f"{path}: X and y are left out, as there are {said}, which may hold the same rows")
        del pairs[""]
    return {split: _of_pair(*pair, str(path)) for split, pair in pairs.items()}


def _loaded(path: Path) -> Any:
    """The array of a file, or its arrays by name; nothing in it is unpickled."""
    try:
        with path.open("rb") as file:
            if file.peek(len(_ZIP))[: len(_ZIP)] != _ZIP:
                return _array(file, path)
            with zipfile.ZipFile(file) as archive:
                return {name.removesuffix(".npy"): _member(archive, name, path) for name in archive.namelist()}
    except ArgumentError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        reason = " ".join(str(error).split())[:100]
        raise ArgumentError(f"{path}: expected whole arrays of numbers, got others ({reason})") from error


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any]:
    with archive.open(name) as stream:
        return _array(stream, path)


def _array(stream: IO[bytes], path: Path) -> NDArray[Any]:
    """An array, whose header says how large it is before there is memory for it."""
    header = npy.read_array_header_1_0 if npy.read_magic(stream) == (1, 0) else npy.read_array_header_2_0
    shape, _, kind = header(stream)
    check_size(math.prod(shape[:1]), len(kind.names or ()) or math.prod(shape[1:]), str(path))
    stream.seek(0)
    array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
    return array


def _of_pair(x: NDArray[Any], y: NDArray[Any], where: str) -> Sheet:
    if x.ndim not in (1, 2) or y.ndim not in (1, 2) or len(x) != len(y):
        raise ArgumentError(f"{where}: expected X (rows, features) and y (rows,), got shapes {x.shape} and {y.shape}")
    parts = [part.reshape(len(part), -1) for part in (x, y)]
    named = [
        name if part.shape[1] == 1 else f"{name}{place}"
        for name, part in zip("xy", parts, strict=True)
        for place in range(1, part.shape[1] + 1)
    ]
    return _of_array(np.concatenate(parts, 1), where, tuple(named))


def _of_array(array: NDArray[Any], where: str, named: tuple[str, ...] | None = None) -> Sheet:
    """Rows of an array; columns without names are called by their numbers, from 1 on."""
    if array.dtype.names is not None:
        return Sheet(where, tuple(array.dtype.names), enumerate((row.tolist() for row in array), 1), "row")
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ArgumentError(f"{where}: expected an array of numbers (rows, columns), got {array.dtype} {array.shape}")
    names = named or tuple(str(place) for place in range(1, array.shape[1] + 1))
    return Sheet(where, names, enumerate((row.tolist() for row in array), 1), "row")
