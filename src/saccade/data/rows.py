"""Rows in three splits, without blank rows. Missing splits are held out."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.data.cleaning import composed
from saccade.data.dataset import SPLITS, check_index, check_split, inventory
from saccade.data.objects import object_tables
from saccade.data.splits import SPLIT, SplitNames, held_out, split_of, wholes
from saccade.data.table import Row, Table, values_of
from saccade.errors import ArgumentError

__all__ = ["HELD", "Blank", "Examples", "Rows", "bytes_hash", "divide", "rows_of", "text_hash"]

HELD = (20, 1000)
"""`(share, limit)` of held-out keys: one in 20 different keys, at most 1,000."""
R = TypeVar("R")
E = TypeVar("E")
Place: TypeAlias = tuple[Callable[[int], str], Sequence[int] | NDArray[np.int64]]


@dataclass(frozen=True)
class Rows(Generic[R]):
    """Rows in memory, in three splits.

    Args:
        splits: "train", "validation" and "test".
        fingerprint: the number and a hash of all rows.
        note: remarks for the user, "" if there are none.
        places: for each split a function from an index in its table to a place, and the table indices of its rows.
        guessed: names of columns in the data that were guessed from their cells.
    """

    splits: Mapping[str, Sequence[R]]
    fingerprint: str
    note: str = ""
    places: Mapping[str, Place] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)

    def row(self, split: str, index: int) -> R:
        """Return one row of a split.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        check_index(split, index, self.size(split))
        return self.splits[split][index]

    def size(self, split: str) -> int:
        """Return the number of rows of a split.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        return len(self.splits[split])

    def where(self, split: str, index: int) -> str:
        """Return the place of a row for messages, for example "row 7 of texts.csv"."""
        where, indices = self.places[split]
        return where(int(indices[index]))


class Examples(Generic[E]):
    """A data set of rows, with a function from rows to examples.

    Args:
        rows: the rows.
        make: from a row to an example.
    """

    def __init__(self, rows: Rows[Row], make: Callable[[Row], E]) -> None:
        self.rows, self.make = rows, make

    def example(self, split: str, index: int) -> E:
        """Return one example of a split."""
        return self.make(self.rows.row(split, index))

    def size(self, split: str) -> int:
        """Return the number of examples of a split."""
        return self.rows.size(split)

    @property
    def fingerprint(self) -> str:
        """Number and hash of the rows, as a string."""
        return self.rows.fingerprint

    @property
    def note(self) -> str:
        """Remarks for the user, "" if there are none."""
        return self.rows.note

    @property
    def guessed(self) -> Mapping[str, str]:
        """Names of columns in the data, guessed from their cells."""
        return self.rows.guessed


@dataclass(frozen=True)
class Blank(Generic[R]):
    """Rows to leave out with a note.

    Args:
        test: whether a row is blank.
        what: the rows and the reason, for example "texts, which are blank".
        splits: the splits without blank rows.
        whole: whether a split of blank rows only is an error. Otherwise the split is held out from training.
    """

    test: Callable[[R], bool]
    what: str
    splits: Sequence[str] = SPLITS
    whole: bool = True


@dataclass(frozen=True)
class _Part(Generic[R]):
    """Rows of one table with their splits, "" without a split."""

    table: Table
    rows: list[R]
    tags: list[str]
    kept: NDArray[np.int64]
    note: str


def rows_of(
    tables: Any,
    read: Callable[[Any, Mapping[str, Sequence[str]]], R],
    key: Callable[[R], Any],
    names: SplitNames | None = None,
    blank: Blank[R] | None = None,
    *,
    place: str = "data",
    what: str = "examples",
    divided: bool = True,
    held: tuple[int, int] = HELD,
) -> Rows[R]:
    """Read tables and divide them into splits.

    A column `split` divides a single table. A missing split is held out from training, by the hash of the key alone.

    Args:
        tables: tables by the names of their splits, a single table by "", or Python objects (see `object_tables`).
        read: from a row and the class names of each column to values. It raises ValueError.
        key: from a row to its key. The hash of the key decides the split. A number is its own hash.
        names: the names of splits.
        blank: rows to leave out. Default: none.
        place: the data, for messages.
        what: the rows, for messages.
        divided: whether a column `split` divides a single table.
        held: `(share, limit)` of much data. One in `share` different keys is held out for a split, at most `limit`.

    Raises:
        ArgumentError: for an invalid row or an empty split, with its name.

    Example:
        >>> rows = rows_of([(f"{n}", "even" if n % 2 == 0 else "odd") for n in range(60)], lambda row, _: row, min)
        >>> [rows.size(split) for split in SPLITS], rows.row("validation", 0), rows.where("validation", 0)
        ([42, 9, 9], ('2', 'even'), 'data: train, row 3')
    """
    names = names or SplitNames()
    if not (isinstance(tables, Mapping) and all(isinstance(table, Table) for table in tables.values())):
        tables = object_tables(tables, names)
    called = _called(tables, names, place)
    alone = list(called) == ["train"]
    parts = {
        split: _read(split, tables[name], read, partial(_tag, names, "" if alone else name, divided), blank, place)
        for split, name in called.items()
    }
    indices = {split: part.kept for split, part in parts.items() if len(part.kept)}
    if alone:
        indices = _tagged(parts["train"], place)
        if called["train"] == "" and not any(parts["train"].tags):
            names.check("train", place)
    missing = [split for split in SPLITS if split not in indices]
    for split in missing:
        names.check(split, place, set(indices) if alone else tables)
    if alone and (undivided := wholes()) is not None and ("train" not in indices or len(indices) == 1):
        undivided += [place] * ("train" in indices)
        indices, missing = {**dict.fromkeys(SPLITS, parts["train"].kept), **indices}, []
    if not missing:
        names.refuse_shares(f"{place}, which has all splits")
    elif names.fold and "test" not in missing:
        raise ArgumentError(f"--folds: expected none for {place}, which has a test split; leave it out")
    if missing:
        train = parts["train"]
        hashes = np.array([_hash(key(train.rows[index])) for index in indices["train"]], np.uint64)
        inside = divide(hashes, place, what, missing, held, names)
        indices |= {split: indices["train"][part] for split, part in inside.items()}
    sources = {split: parts.get(split, parts["train"]) for split in SPLITS}
    splits = {split: [sources[split].rows[index] for index in indices[split]] for split in SPLITS}
    notes = [
        *(table.note for name, table in tables.items() if name in called.values()),
        *(part.note for part in parts.values()),
        held_out(missing, {split: len(part) for split, part in splits.items()}, what, names.fold),
        _unread([name for name in tables if name not in called.values()]),
    ]
    positions = {split: (sources[split].table.where, indices[split]) for split in SPLITS}
    return Rows(splits, _fingerprint(splits), "; ".join(filter(None, notes)), positions)


def text_hash(text: str) -> int:
    """Return a hash of a text below 2^64, the same on every machine.

    >>> text_hash("caf\u00e9") == text_hash("cafe\u0301") != text_hash("cafe")
    True
    """
    return bytes_hash(composed(text).encode("utf-8", "surrogateescape"))  # file names may have another encoding


def bytes_hash(content: bytes) -> int:
    """Return a hash of bytes below 2^64, the same on every machine.

    >>> bytes_hash(b"cafe") == text_hash("cafe")
    True
    """
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")


def divide(
    hashes: NDArray[np.uint64],
    source: Path | str,
    what: str,
    missing: Sequence[str] = ("validation", "test"),
    held: tuple[int, int] = HELD,
    names: SplitNames | None = None,
) -> dict[str, NDArray[np.bool_]]:
    """Return the examples of each split by the hashes of their keys.

    Equal keys are in one split. The lowest hashes are the first missing split, the next hashes the second, and the rest
    is for training. Folds divide the hashes into as many ranges. The range of the fold is the test split, and the
    hashes behind it are the validation split.

    Args:
        hashes: `(examples,)`, by `text_hash`.
        source: the data, for the error.
        what: the examples, for the error.
        missing: the splits to hold out.
        held: `(share, limit)` of much data. One in `share` different keys is in each missing split, at most `limit`.
        names: options of the splits.

    Raises:
        ArgumentError: if there are too few different keys.

    Example:
        >>> divide(np.array([7, 5, 7, 9], np.uint64), Path("a"), "texts")["train"]
        array([False, False, False,  True])
    """
    different, names = np.unique(hashes), names or SplitNames()
    if len(different) <= len(missing):
        uses = [*(name.replace("validation", "validate") for name in missing), "train"]
        expected = f"expected {len(uses)} different {what} or more, to {', '.join(uses[:-1])} and {uses[-1]}"
        raise ArgumentError(f"{source}: {expected}, got {len(different)}")
    count, size = names.count(len(different), held), len(different)
    counts = dict.fromkeys(missing, count)
    ranks = np.searchsorted(different, hashes)
    if names.fold is not None:
        fold, folds = names.fold
        if size < 2 * folds:
            raise ArgumentError(f"--folds: expected at most {size // 2} for {size} different {what}, got {folds}")
        first, last = (size * number // folds for number in (fold, fold + 1))
        ranks = (ranks - first) % size
        validation = min(count, size - (last - first) - 1)
        counts = {"test": last - first, **({"validation": validation} if "validation" in missing else {})}
    bounds = np.cumsum(list(counts.values()))
    parts = np.searchsorted(bounds, ranks, side="right")
    return {split: parts == number for number, split in enumerate((*counts, "train"))}


def _called(tables: Mapping[str, Table], names: SplitNames, source: str) -> dict[str, str]:
    """Return the name of the table of each split."""
    if list(tables) == [""]:
        return {"train": ""}
    called = dict[str, str]()
    for split in SPLITS:
        there = [name for name in names.of(split) if name in tables]
        if len(there) > 1:
            raise ArgumentError(f"{source}: expected one {split} split, got {' and '.join(there)}; say --{split}-split")
        if there:
            called[split] = there[0]
    if "train" not in called:
        names.check("train", source, tables)
        got = f"got {', '.join(tables) or 'none'}"
        way_out = "; a mapping is of splits, each a list of rows" if tables else ""
        raise ArgumentError(f"{source}: expected rows of train, {got}{way_out}")
    return called


def _read(
    split: str,
    table: Table,
    read: Callable[[Any, Mapping[str, Sequence[str]]], R],
    tag: Callable[[Any], str],
    blank: Blank[R] | None,
    source: str,
) -> _Part[R]:
    tags = list[str]()

    def tagged(row: Any) -> R:
        tags.append(tag(row))
        if bool(tags[0]) != bool(tags[-1]):
            how = "with" if tags[-1] else "without"
            raise ValueError(f"expected the columns of the first row, got others: {how} {SPLIT}")
        return read(row, table.labels)

    rows = list(values_of(table, tagged))
    if not rows:
        raise ArgumentError(f"{source}: expected rows{f' of {split}' if wholes() is None else ''}, got none")
    out = np.array([blank is not None and split in blank.splits and blank.test(row) for row in rows])
    kept, note = np.flatnonzero(~out), ""
    if blank is not None and out.any():
        count = f"{split}: left out {out.sum()} of {len(rows)} {blank.what}"
        if out.all() and (blank.whole or split == "train"):
            raise ArgumentError(f"{source}: {count}: an empty corpus")
        note = f"{source}: {count}; the first is {table.where(int(out.argmax())).removeprefix(f'{source}: {split}, ')}"
    return _Part(table, rows, tags, kept, note)


def _tag(names: SplitNames, called: str, divided: bool, row: Any) -> str:
    """Return the split in the column `split` of a row, "" without it."""
    cells = [row[name] for name in row if str(name).strip().lower() == SPLIT] if isinstance(row, Mapping) else []
    return names.all[split_of(cells[0], names, called)] if divided and cells else ""


def _tagged(part: _Part[Any], source: str) -> dict[str, NDArray[np.int64]]:
    """Return the rows of each split by the column `split`. Default: training."""
    tags = np.array([tag or "train" for tag in part.tags])[part.kept]
    indices = {split: part.kept[tags == split] for split in SPLITS}
    indices = {split: inside for split, inside in indices.items() if len(inside)}
    if "train" not in indices and wholes() is None:
        raise ArgumentError(f"{source}: expected rows of train, got none")
    return indices


def _unread(names: Sequence[str]) -> str:
    return f"not read: {inventory(names)}, which is no split's name (--train-split, ...)" if names else ""


def _hash(key: Any) -> int:
    """Return the hash of a text or the contents of an array. Integers stay."""
    if isinstance(key, int):
        return key
    return text_hash(key if isinstance(key, str) else hashlib.blake2b(_bytes(key), digest_size=16).hexdigest())


def _fingerprint(splits: Mapping[str, Sequence[Any]]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for split in SPLITS:
        for row in splits[split]:
            for part in row.values() if isinstance(row, Mapping) else row:
                content = _bytes(part)
                digest.update(len(content).to_bytes(8, "big") + content)
    counts = ", ".join(f"{split} {len(splits[split])}" for split in SPLITS)
    return f"{counts}, contents {digest.hexdigest()}"


def _bytes(part: Any) -> bytes:
    if isinstance(part, str):
        return part.encode("utf-8", "surrogatepass")
    if isinstance(part, torch.Tensor):
        part = part.detach().cpu().contiguous().numpy()
    if isinstance(part, memoryview):
        return bytes(part)
    if isinstance(part, Path):  # the file is not read: its name and size, in any folder
        return f"{part.name} {part.stat().st_size if part.exists() else 'none'}".encode("utf-8", "surrogateescape")
    if isinstance(part, np.ndarray):
        return f"{part.dtype} {part.shape} ".encode() + part.tobytes()
    return str(part).encode("utf-8", "surrogatepass")
