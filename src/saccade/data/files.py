"""Files of splits in a folder, by name."""

from collections.abc import Callable, Sequence
from pathlib import Path

from saccade.data.arrow import is_arrow, read_arrow
from saccade.data.dataset import SPLITS
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.errors import ArgumentError

__all__ = ["ENDS", "open_tables", "split_files"]

#: Suffixes of tables in text.
ENDS = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json")


def open_tables(
    path: Path,
    names: SplitNames,
    read: Callable[[Path], Table],
    ends: Sequence[str] = ENDS,
    whole: Sequence[str] = (),
) -> dict[str, Table] | None:
    """Read the table or tables of a path.

    Args:
        path: a file, a folder with a file of each split (train.csv), or a path for `saccade.data.arrow`.
        names: the names of splits.
        read: reader of other files than tables of Arrow.
        ends: suffixes of the files of a folder that `read` takes.
        whole: names of a file of all splits, for a folder without files of splits.

    Returns:
        Tables by the names of their splits in the data, a single table by "". None without a training table.

    Raises:
        ArgumentError: for an invalid file, row or split, with its name.
        OSError: if a file cannot be read.
    """
    files = split_files(path, names, ends) if path.is_dir() else {}
    trains = [file for name, file in files.items() if names.split(name) == "train"]
    beside = [file for end in (".parquet", ".arrow") for file in path.glob(f"*{end}")]
    if trains and beside:
        way_out = "move away all but one kind"
        raise ArgumentError(f"{path}: expected one file of train, got {trains[0].name} and {beside[0].name}; {way_out}")
    if trains:
        return {name: read(file) for name, file in files.items()}
    if is_arrow(path):
        return read_arrow(path, names)
    if path.is_file():
        return {"": read(path)}
    alone = next((file for stem in whole for file in _called(path, stem, ends)), None) if path.is_dir() else None
    return None if alone is None else {"": read(alone)}


def split_files(folder: Path, names: SplitNames, ends: Sequence[str], prefix: str = "") -> dict[str, Path]:
    """Return the files of a folder by split, a plain file before a packed file.

    Args:
        folder: the folder of the files.
        names: the names of splits.
        ends: suffixes of the files, without .gz.
        prefix: prefix of the file names, for example "corpus." for "corpus.train".

    Raises:
        ArgumentError: if a split has several files, or an option names a missing split.
    """
    files = dict[str, list[Path]]()
    for split in SPLITS:
        for name in names.of(split):
            there = [path for path in _called(folder, f"{prefix}{name}", ends) if path.is_file()]
            if there:
                files[name] = there
    for name, (first, *others) in files.items():
        if others:
            got = f"got {first.name} and {' and '.join(path.name for path in others)}"
            raise ArgumentError(f"{folder}: expected one file of {name}, {got}; move away all but one")
    return {name: file for name, [file] in files.items()}


def _called(folder: Path, stem: str, ends: Sequence[str]) -> list[Path]:
    lower = {f"{stem}{end}{packed}".lower(): packed for end in ends for packed in ("", ".gz")}
    there = {path.name: path for path in sorted(folder.iterdir()) if path.name.lower() in lower}
    return [path for name, path in there.items() if name.removesuffix(".gz") == name or name[:-3] not in there]
