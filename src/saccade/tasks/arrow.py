"""Tables of columns on the disk: parquet, Arrow, and what `save_to_disk` of Hugging Face's `datasets` writes.

They are read by pyarrow, which nothing else here needs: `pip install 'saccade-attention[arrow]'`.
"""

import json
import mmap
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError, SaccadeError, pip_install
from saccade.tasks.pinned import check_unchanged, state_of
from saccade.train.files import naming, other_than_file

__all__ = ["Table", "is_arrow", "read_arrow"]

_ENDS = (".parquet", ".arrow")
_COPIED = 1 << 24  # bytes at once
_SAVED, _SPLITS = "state.json", "dataset_dict.json"  # what `save_to_disk` writes beside the tables
_PART = re.compile(r"(.*?)[-_.]?\d+([-_.]of[-_.]\d+)?([-_.][0-9a-f]{8,})?")  # train-00000-of-00002-0123456789abcdef


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a table, each a mapping from columns to values, which are made as they are asked for.

    Args:
        files: the rows of each file, in batches of pyarrow; those of an Arrow file stay on the disk, in a copy.
        features: what is known of a column beside its type: `names` of a column of classes.
    """

    files: Sequence[tuple[Path, Sequence[Any]]]
    features: Mapping[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows there are, and at most how many columns."""
        batches = [batch for _, batches in self.files for batch in batches]
        return sum(batch.num_rows for batch in batches), max((batch.num_columns for batch in batches), default=0)

    @property
    def place(self) -> Callable[[int], str]:
        """What says of a row's number, from 0 on, which row of which file it is; it holds no rows."""
        return partial(_place, [(file, sum(batch.num_rows for batch in batches)) for file, batches in self.files])

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Give the rows in their order."""
        for file, batches in self.files:
            before = 0
            for batch in batches:
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                for number in range(batch.num_rows):
                    yield _Row(columns, number, file, before + number + 1)
                before += batch.num_rows


def _place(sizes: Sequence[tuple[Path, int]], number: int) -> str:
    for file, size in sizes:
        if number < size:
            return f"{file}: row {number + 1}"
        number -= size
    raise IndexError(number)


@dataclass(frozen=True)
class _Row(Mapping[str, Any]):
    columns: Mapping[str, Any]
    number: int
    file: Path
    place: int

    @property
    def where(self) -> str:
        """Which row of which file it is, for messages."""
        return f"{self.file}: row {self.place}"

    def __getitem__(self, name: str) -> Any:
        return _value(self.columns[name][self.number])

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def is_arrow(path: Path) -> bool:
    """Return whether a path names a table, a folder of tables, or a data set that `datasets` has saved.

    >>> is_arrow(Path("texts.parquet")), is_arrow(Path("texts.csv"))
    (True, False)
    """
    if path.is_dir():
        return any((path / name).is_file() for name in (_SAVED, _SPLITS)) or bool(_tables(path))
    return path.suffix.lower() in _ENDS


def read_arrow(path: Path, names: SplitNames) -> dict[str, Table]:
    """Open tables, as `saccade.tasks.objects.rows_of` takes them.

    A folder's tables are put together by the split that their names begin with (train-00000-of-00002.parquet) or by
    that of a folder that they are in (train/0000.parquet, train/part-00000.snappy.parquet); a single one, or several
    without a split's name, are to train on.

    Args:
        path: a table; a folder with some; what `Dataset.save_to_disk` or `DatasetDict.save_to_disk` has written.
        names: what splits are called.

    Returns:
        The rows of each split, by the name that it has there, as `names` spell it where no other has that name.

    Raises:
        ArgumentError: naming the file that is not there or not whole, or the splits of which one alone is meant.
        SaccadeError: if pyarrow is not installed.
    """
    usual = names.of("train")[0]
    if path.is_file():
        return {usual: _table([path])}
    if (path / _SPLITS).is_file():
        parts = _listed(path / _SPLITS, "splits", str)
        return {called: _saved(path / name) for name, called in _spelled(path, parts, names).items()}
    if (path / _SAVED).is_file():
        return {usual: _saved(path)}
    files = _tables(path)
    if not files:
        raise ArgumentError(f"{path}: expected a table, found none")
    named = {file: _split_name(file, path, names) for file in files}
    if not any(map(names.split, named.values())):
        return {usual: _table(files)}
    spelled = _spelled(path, named.values(), names)
    return {called: _table([file for file in files if named[file] == name]) for name, called in spelled.items()}


def _spelled(where: Path, given: Iterable[str], names: SplitNames) -> dict[str, str]:
    """What each name of a part is called: as `names` spell it, unless there is a part with that very name."""
    parts, found = dict.fromkeys(given), dict[str, str]()
    for name in parts:
        known = names.spelled(name)
        if known != name and known in parts:
            known = name
        if (other := next((other for other in found if found[other] == known), None)) is not None:
            split = names.split(known)
            raise ArgumentError(f"{where}: expected one {split} split, got {other} and {name}; say --{split}-split")
        found[name] = known
    return found


def _tables(folder: Path) -> list[Path]:
    """The tables in a folder, or in folders of it."""
    return sorted(path for end in _ENDS for deep in ("", "*/", "*/*/") for path in folder.glob(f"{deep}*{end}"))


def _split_name(file: Path, root: Path, names: SplitNames) -> str:
    """What the name of a file says of its split, or else that of a folder it is in; its own where none does."""
    found = _PART.fullmatch(file.stem)
    own, *folders = (found[1] if found else file.stem), *reversed(file.relative_to(root).parts[:-1])
    return next(filter(names.split, (own, *folders)), own or next(iter(folders), file.stem))


def _saved(folder: Path) -> Table:
    """What `Dataset.save_to_disk` has written."""
    files = [one.get("filename") for one in _listed(folder / _SAVED, "_data_files", dict)]
    info = _read_json(folder / "dataset_info.json") if (folder / "dataset_info.json").is_file() else {}
    table = _table([folder / Path(str(name)).name for name in files])
    return Table(table.files, {**_features(info), **table.features})


def _table(files: Sequence[Path]) -> Table:
    found, features = list[tuple[Path, Sequence[Any]]](), dict[str, Any]()
    for file in files:
        table = _read(file)
        found.append((file, table.to_batches()))
        features |= _features(_described(table))
    return Table(found, features)


def _described(table: Any) -> dict[str, Any]:
    """What `datasets` says of a table in it; nothing where that is not what `datasets` says."""
    try:
        found = json.loads((table.schema.metadata or {}).get(b"huggingface", b"{}"))
    except (ValueError, RecursionError):
        return {}
    info = found.get("info") if isinstance(found, dict) else None
    return info if isinstance(info, dict) else {}


def _read(file: Path) -> Any:
    arrow, parquet = _pyarrow()
    if not file.exists():
        raise ArgumentError(f"{file}: expected a table, found none")
    if got := other_than_file(file):
        raise ArgumentError(f"{file}: expected a table, got {got}")
    packed = file.suffix.lower() == ".parquet"
    content = file if packed else _copy(file)
    try:
        if packed:
            return parquet.read_table(content)
        with arrow.BufferReader(arrow.py_buffer(content)) as source:
            try:
                return arrow.ipc.open_stream(source).read_all()
            except arrow.ArrowInvalid:  # the other form of such files
                return arrow.ipc.open_file(source).read_all()
    except (arrow.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:100]
        raise ArgumentError(f"{file}: expected a whole {file.suffix[1:]} file, got a damaged one ({reason})") from error


def _copy(file: Path) -> mmap.mmap | bytes:
    """A file on the disk, mapped: a copy without a name, as nobody can rewrite that one under a run.

    Raises:
        ArgumentError: if somebody writes to the file meanwhile.
        OSError: if it cannot be read, or there is no space for the copy.
    """
    with naming(Path(tempfile.gettempdir())), file.open("rb") as source, tempfile.TemporaryFile() as copy:
        state = state_of(source)
        shutil.copyfileobj(source, copy, _COPIED)
        copy.flush()
        check_unchanged(source, state, file)
        return mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ) if state[0] else b""


def _features(info: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of classes, as `datasets` describes them."""
    features = info.get("features")
    found = features.items() if isinstance(features, dict) else ()
    named = ((name, kind.get("names")) for name, kind in found if isinstance(kind, dict))
    return {name: SimpleNamespace(names=names) for name, names in named if isinstance(names, list) and names}


def _value(scalar: Any) -> Any:
    """A value as Python has it; bytes stay where they are."""
    arrow, _ = _pyarrow()
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
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{path}: expected what `datasets` has saved, got what cannot be read ({error})") from error
    if not isinstance(found, dict):
        raise ArgumentError(f"{path}: expected what `datasets` has saved, got another kind of JSON")
    return found


def _listed(path: Path, name: str, kind: type) -> list[Any]:
    """A list out of what `datasets` has saved."""
    found = _read_json(path).get(name)
    if not isinstance(found, list) or not all(isinstance(one, kind) for one in found):
        raise ArgumentError(f"{path}: expected {name} of a data set, got none; save it to the disk anew")
    return found


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        way_out = pip_install("arrow")
        raise SaccadeError(f"reading parquet and Arrow needs pyarrow, which is not installed: {way_out}") from error
    return pyarrow, pyarrow.parquet
