"""Tables in Parquet and Arrow, and saved data sets of Hugging Face `datasets`."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade._system.files import other_than_file
from saccade.data.columns import check_once
from saccade.data.splits import SplitNames, spelled_splits
from saccade.data.table import Table
from saccade.errors import ArgumentError, SaccadeError, pip_install

__all__ = ["is_arrow", "pyarrow_modules", "read_arrow"]

_ENDS = (".parquet", ".arrow")
_SAVED, _SPLITS = "state.json", "dataset_dict.json"  # files of `save_to_disk` beside the tables
_PART = re.compile(r"(.*?)[-_.]?\d+([-_.]of[-_.]\d+)?([-_.][0-9a-f]{8,})?")  # train-00000-of-00002-0123456789abcdef


def is_arrow(path: Path) -> bool:
    """Return whether a path holds tables of Parquet or Arrow.

    It is a table, a folder of tables, or a data set saved by `datasets`.

    >>> is_arrow(Path("texts.parquet")), is_arrow(Path("texts.csv"))
    (True, False)
    """
    if path.is_dir():
        return any((path / name).is_file() for name in (_SAVED, _SPLITS)) or bool(_tables(path))
    return path.suffix.lower() in _ENDS


def read_arrow(path: Path, names: SplitNames) -> dict[str, Table]:
    """Open tables of Parquet or Arrow. Values are read at their first use.

    Tables of a folder are joined by the split in their names, for example train-00000-of-00002.parquet, or in the name
    of a parent folder, for example train/0000.parquet. Without names of splits they are one table.

    Args:
        path: a table, a folder of tables, or a folder by `Dataset.save_to_disk` or `DatasetDict.save_to_disk`.
        names: the names of splits.

    Returns:
        Tables by the names of their splits in the data, a single table by "".

    Raises:
        ArgumentError: for a missing or damaged file, or for two parts with the name of one split.
        SaccadeError: if pyarrow is not installed.
    """
    if path.is_file():
        return {"": _table([path])}
    if (path / _SPLITS).is_file():
        parts = _listed(path / _SPLITS, "splits", str)
        return {name: _saved(path / part) for part, name in spelled_splits(path, parts, names).items()}
    if (path / _SAVED).is_file():
        return {"": _saved(path)}
    files = _tables(path)
    if not files:
        raise ArgumentError(f"{path}: expected a table, found none")
    named = {file: _split_name(file, path, names) for file in files}
    if not any(map(names.split, named.values())):
        return {"": _table(files)}
    spelled = spelled_splits(path, named.values(), names)
    return {name: _table([file for file in files if named[file] == part]) for part, name in spelled.items()}


def _split_name(file: Path, root: Path, names: SplitNames) -> str:
    """Return the split in the name of a file or parent folder, or the file name."""
    part = _PART.fullmatch(file.stem)
    stem, *folders = (part[1] if part else file.stem), *reversed(file.relative_to(root).parts[:-1])
    return next(filter(names.split, (stem, *folders)), stem or next(iter(folders), file.stem))


def _tables(folder: Path) -> list[Path]:
    return sorted(path for end in _ENDS for deep in ("", "*/", "*/*/") for path in folder.glob(f"{deep}*{end}"))


def _saved(folder: Path) -> Table:
    """Return the table of a folder by `Dataset.save_to_disk`."""
    files = [entry.get("filename") for entry in _listed(folder / _SAVED, "_data_files", dict)]
    info = _read_json(folder / "dataset_info.json") if (folder / "dataset_info.json").is_file() else {}
    return _table([folder / Path(str(name)).name for name in files], info)


def _table(files: Sequence[Path], info: Mapping[str, Any] | None = None) -> Table:
    labels, sizes, batches = _labels(info or {}), list[tuple[Path, int]](), list[Any]()
    for file in files:
        table = _read(file)
        try:
            check_once(table.schema.names)
        except ValueError as error:
            raise ArgumentError(f"{file}: {error}; rename one") from error
        labels |= _labels(_described(table))
        sizes.append((file, table.num_rows))
        batches += table.to_batches()
    return Table(_Rows(batches), _where(sizes), labels, size=sum(size for _, size in sizes))


def _where(sizes: Sequence[tuple[Path, int]]) -> Callable[[int], str]:
    def where(index: int) -> str:
        for file, size in sizes:
            if index < size:
                return f"row {index + 1} of {file}"
            index -= size
        raise IndexError(index)

    return where


@dataclass(frozen=True)
class _Rows:
    """Rows of batches."""

    batches: Sequence[Any]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for batch in self.batches:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for number in range(batch.num_rows):
                yield _Row(columns, number)


@dataclass(frozen=True)
class _Row(Mapping[str, Any]):
    """A row with values converted at their first use."""

    columns: Mapping[str, Any]
    number: int

    def __getitem__(self, name: str) -> Any:
        return _value(self.columns[name][self.number])

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def _read(file: Path) -> Any:
    """Return the table of a file. Arrow files are memory-mapped, as by `datasets`."""
    arrow, parquet = pyarrow_modules()
    if not file.exists():
        raise ArgumentError(f"{file}: expected a table, found none")
    if got := other_than_file(file):
        raise ArgumentError(f"{file}: expected a table, got {got}")
    try:
        if file.suffix.lower() == ".parquet":
            return parquet.read_table(file)
        source = arrow.memory_map(str(file))
        try:
            return arrow.ipc.open_stream(source).read_all()
        except arrow.ArrowInvalid:  # the stream format instead of the file format
            return arrow.ipc.open_file(source).read_all()
    except (arrow.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:100]
        raise ArgumentError(f"{file}: expected a whole {file.suffix[1:]} file, got a damaged one ({reason})") from error


def _described(table: Any) -> dict[str, Any]:
    """Return the description by `datasets` in the metadata of a table, or {}."""
    try:
        written = json.loads((table.schema.metadata or {}).get(b"huggingface", b"{}"))
    except (ValueError, RecursionError):
        return {}
    info = written.get("info") if isinstance(written, dict) else None
    return info if isinstance(info, dict) else {}


def _labels(info: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Return the class names of each column."""
    features = info.get("features")
    kinds = features.items() if isinstance(features, dict) else ()
    named = ((name, kind.get("names")) for name, kind in kinds if isinstance(kind, dict))
    return {name: names for name, names in named if isinstance(names, list) and names}


def _value(scalar: Any) -> Any:
    """Return a value as a Python object. Bytes are not copied."""
    arrow, _ = pyarrow_modules()
    if not scalar.is_valid:
        return None
    if isinstance(scalar, arrow.StructScalar):
        return {name: _value(scalar[name]) for name in scalar}
    if isinstance(scalar, arrow.BinaryScalar | arrow.LargeBinaryScalar) and not isinstance(
        scalar, arrow.StringScalar | arrow.LargeStringScalar
    ):
        return memoryview(scalar.as_buffer())
    return scalar.as_py()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        expected = "expected a description that `datasets` has saved"
        raise ArgumentError(f"{path}: {expected}, got another file ({error}); save the data set anew") from error
    if not isinstance(content, dict):
        raise ArgumentError(f"{path}: expected a JSON object by `datasets`, got another kind; save the data set anew")
    return content


def _listed(path: Path, name: str, kind: type) -> list[Any]:
    entries = _read_json(path).get(name)
    if not isinstance(entries, list) or not all(isinstance(entry, kind) for entry in entries):
        raise ArgumentError(f"{path}: expected {name} of a data set, got none; save the data set anew")
    return entries


def pyarrow_modules() -> tuple[Any, Any]:
    """Import pyarrow and pyarrow.parquet.

    Raises:
        SaccadeError: if pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        way_out = pip_install("train")
        raise SaccadeError(f"reading parquet and Arrow needs pyarrow, which is not installed: {way_out}") from error
    return pyarrow, pyarrow.parquet
