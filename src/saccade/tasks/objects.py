"""Data that are Python objects: pairs, records, arrays, and what Hugging Face's `datasets` hands over."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from saccade.data.cleaning import composed
from saccade.data.dataset import SPLITS, check_index, check_split, inventory
from saccade.data.splits import SPLIT, SplitNames, held_out, split_of
from saccade.errors import ArgumentError
from saccade.tasks.arrow import Table
from saccade.tasks.text.files import Numbers, divide, keep, text_hash

__all__ = ["OBJECTS", "LeftOut", "Rows", "array_of", "label_of", "pair_reader", "read_rows", "rows_of"]

#: What a run that was trained on Python objects says of its data.
OBJECTS = "objects"
R = TypeVar("R")


@dataclass(frozen=True)
class Rows(Generic[R]):
    """Examples in memory, in three splits.

    Args:
        splits: "train", "validation" and "test".
        fingerprint: what they are.
        note: what a user should know of them, "" if nothing.
        places: of each split what says where a row is that it was given in, and the numbers that its examples have
            there, from 0 on.
    """

    splits: Mapping[str, Sequence[R]]
    fingerprint: str
    note: str = ""
    places: Mapping[str, tuple[Callable[[int], str], Numbers]] = field(default_factory=dict)

    def example(self, split: str, index: int) -> R:
        """Return one example of a split.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        check_index(split, index, self.size(split))
        return self.splits[split][index]

    def size(self, split: str) -> int:
        """Return how many examples a split has.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        return len(self.splits[split])

    def place(self, split: str, index: int) -> str:
        """Return where one example of a split was given, for messages."""
        place, numbers = self.places[split]
        return place(int(numbers[index]))


@dataclass(frozen=True)
class LeftOut(Generic[R]):
    """Which rows are no examples, and are left out with a note.

    Args:
        blank: whether a row is one.
        what: the rows are, and why they are left out: "texts, which are blank".
        splits: in which this is done.
    """

    blank: Callable[[R], bool]
    what: str
    splits: Sequence[str] = SPLITS

    def kept(self, split: str, rows: Sequence[R], place: Callable[[int], str]) -> tuple[Numbers, str]:
        """Return the numbers of the rows that are examples, and a note on the others, "" if there are none.

        Args:
            split: theirs.
            rows: all of them.
            place: what says where a row was given.

        Raises:
            ArgumentError: if no row is one.
        """
        if split not in self.splits:
            return range(len(rows)), ""
        data, blank = f"data: {split}", np.array([self.blank(row) for row in rows])
        return keep(blank, data, self.what, lambda number: place(number).removeprefix(f"{data}, "))


def rows_of(
    objects: Any,
    read: Callable[[Any, Any], R],
    key: Callable[[R], Any],
    names: SplitNames | None = None,
    left_out: LeftOut[R] | None = None,
) -> Rows[R]:
    """Return the examples of Python objects.

    Args:
        objects: an iterable of rows, of which a twentieth, but at most 1,000, validate and as many test, by a hash of
            what they ask; or a mapping with rows of "train", "validation" and "test", of which one that is missing is
            held out in the same way. Rows that are mappings may name their split by `split`.
        read: from a row, and the columns' description where there is one (`features` of `datasets`), to an example.
        key: from an example to what it asks: equal ones are in one split.
        names: what the splits of a mapping are called.
        left_out: which rows are no examples; None: all are.

    Raises:
        ArgumentError: naming the split and the row that is wrong, or the split of which all rows are left out.

    Example:
        >>> rows = rows_of([("ein", "one"), ("zwei", "two"), ("drei", "three")], pair_reader(("a",), ("b",)), min)
        >>> sorted(sum(map(list, rows.splits.values()), []))
        [('drei', 'three'), ('ein', 'one'), ('zwei', 'two')]
    """
    if objects is None:
        way_out = "hand them over again as data="
        raise ArgumentError(f"data: expected the Python objects that this run was trained on, got none; {way_out}")
    names = names or SplitNames()
    given = objects if isinstance(objects, Mapping) else {names.of("train")[0]: objects}
    named = _named_splits(given, names)
    alone = list(named) == ["train"]
    tagged = {
        split: read_rows(split, given[name], partial(_tagged, read, names, "" if alone else name))
        for split, name in named.items()
    }
    rows = {split: [row for _, row in part] for split, part in tagged.items()}
    where = {split: _where(split, given[name]) for split, name in named.items()}
    kept = {
        split: left_out.kept(split, part, where[split]) if left_out else (range(len(part)), "")
        for split, part in rows.items()
    }
    places = {split: (split, numbers) for split, (numbers, _) in kept.items()}
    if alone and any(tag for tag, _ in tagged["train"]):
        tags, numbers = np.array([tag or "train" for tag, _ in tagged["train"]]), np.asarray(kept["train"][0], np.int64)
        inside = {split: numbers[tags[numbers] == split] for split in SPLITS}
        places = {split: ("train", own) for split, own in inside.items() if len(own)}
        if "train" not in places:
            raise ArgumentError("data: expected rows of train, got none")
    missing = [split for split in SPLITS if split not in places]
    for split in missing:
        names.check(split, "data", given)
    if missing:
        numbers = np.asarray(places["train"][1], np.int64)
        hashes = np.array([text_hash(_text(key(rows["train"][number]))) for number in numbers], np.uint64)
        parts = divide(hashes, "data", "examples", missing)
        places |= {split: ("train", numbers[inside]) for split, inside in parts.items()}
    splits = {split: [rows[places[split][0]][number] for number in places[split][1]] for split in SPLITS}
    unread = [name for name in map(str, given) if name not in named.values()]
    notes = [
        *(note for _, note in kept.values()),
        held_out(missing, {split: len(part) for split, part in splits.items()}, "examples"),
        f"not read: {inventory(unread)}, which is no split's name (--train-split, ...)" if unread else "",
    ]
    told = {split: (where[origin], numbers) for split, (origin, numbers) in places.items()}
    return Rows(splits, _fingerprint(splits), "; ".join(filter(None, notes)), told)


def _tagged(read: Callable[[Any, Any], R], names: SplitNames, known: str, row: Any, features: Any) -> tuple[str, R]:
    """The split that a row's column `split` names, "" without one, and its example."""
    named = isinstance(row, Mapping) and SPLIT in row
    return names.all[split_of(row[SPLIT], names, known)] if named else "", read(row, features)


def _where(split: str, rows: Any) -> Callable[[int], str]:
    """What says where a row was given, by its number from 0 on."""
    return rows.place if isinstance(rows, Table) else lambda number: f"data: {split}, row {number + 1}"


def _named_splits(given: Mapping[Any, Any], names: SplitNames) -> dict[str, Any]:
    """The key of each split that there is."""
    found = {}
    for split in SPLITS:
        there = [name for name in names.of(split) if given.get(name) is not None]
        if len(there) > 1:
            raise ArgumentError(f"data: expected one {split} split, got {' and '.join(there)}; say --{split}-split")
        if there:
            found[split] = there[0]
    if "train" not in found:
        names.check("train", "data", given)
        got = f"got {', '.join(map(str, given)) or 'none'}"
        way_out = "; a mapping is of splits, each a list of rows" if given else ""
        raise ArgumentError(f"data: expected rows of train, {got}{way_out}")
    return found


def pair_reader(*columns: Sequence[str], nested: str | None = None) -> Callable[[Any, Any], tuple[str, ...]]:
    """Return what reads a row as texts: a tuple or list of as many, or a mapping with named columns.

    Args:
        columns: what each column may be called.
        nested: a column that may hold a mapping with all of them, such as "translation".

    Example:
        >>> read = pair_reader(("source", "de"), ("target", "en"), nested="translation")
        >>> read({"translation": {"de": "a", "en": "b"}}, None)
        ('a', 'b')
    """

    def read(row: Any, features: Any) -> tuple[str, ...]:
        if isinstance(row, Mapping):
            row = row.get(nested, row) if nested else row
            row = [_column(row, names, features) for names in columns]
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != len(columns):
            raise ValueError(f"expected {' and '.join(names[-1] for names in columns)}, got {row!r:.60}")
        texts = [part if isinstance(part, str) else _named(part) for part in row]
        for text in texts:
            text.encode()  # half a surrogate pair is no text, and says so here
        return tuple(composed(text.strip()) for text in texts)

    return read


def _column(row: Mapping[str, Any], names: Sequence[str], features: Any) -> Any:
    name = next((name for name in names if name in row), None)
    if name is None:
        raise ValueError(f"expected a column {' or '.join(names)}, got {', '.join(map(str, row))}")
    described = getattr(features, "get", lambda name: None)(name)
    labels = getattr(described, "names", None)  # of a column of classes
    return label_of(labels, row[name]) if labels and isinstance(row[name], int) else row[name]


def label_of(labels: Sequence[str], number: int) -> str:
    """Return a class's name by its number; collections mark rows without a class by -1.

    >>> label_of(["no", "yes"], 1)
    'yes'
    """
    if not 0 <= number < len(labels):
        raise ValueError(f"expected a label from 0 to {len(labels) - 1}, got {number}")
    return labels[number]


def array_of(part: Any) -> np.ndarray:
    """Return an array: a tensor's from wherever it lies, and without its gradient.

    Raises:
        ValueError: if it is a list of tensors that are no numbers for numpy.

    Example:
        >>> array_of(torch.ones(2, requires_grad=True))
        array([1., 1.], dtype=float32)
    """
    if isinstance(part, torch.Tensor):
        return part.numpy(force=True)
    try:
        return np.asarray(part)
    except RuntimeError as error:  # of a tensor in a list, which says what it needs
        raise ValueError(error) from error


def _named(part: Any) -> str:
    """A label that is a number."""
    if isinstance(part, bool) or not isinstance(part, int):
        raise ValueError(f"expected a text, got {type(part).__name__}")
    return str(part)


def read_rows(split: str, rows: Iterable[Any], read: Callable[[Any, Any], R]) -> list[R]:
    """Return the examples of some rows.

    Args:
        split: theirs, for messages.
        rows: Python objects, or those of a file.
        read: as `rows_of` takes it.

    Raises:
        ArgumentError: naming the split and the row that is wrong, or if there is none.

    Example:
        >>> read_rows("train", ["a"], lambda row, _: float(row))
        Traceback (most recent call last):
        saccade.errors.ArgumentError: data: train, row 1: could not convert string to float: 'a'
    """
    found, features, row = list[R](), getattr(rows, "features", None), None
    try:
        for row in rows:
            found.append(read(row, features))
    except (ValueError, TypeError, KeyError, IndexError) as error:
        place = getattr(row, "where", f"data: {split}, row {len(found) + 1}")  # of a file's row its place there
        raise ArgumentError(f"{place}: {error}") from error
    if not found:
        raise ArgumentError(f"data: expected rows of {split}, got none")
    return found


def _text(key: Any) -> str:
    """What stands for what an example asks: a text for itself, an array by a hash of its contents."""
    return key if isinstance(key, str) else hashlib.blake2b(_bytes(key), digest_size=16).hexdigest()


def _fingerprint(splits: Mapping[str, Sequence[Any]]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for split in SPLITS:
        for row in splits[split]:
            for part in row:
                content = _bytes(part)
                digest.update(len(content).to_bytes(8, "big") + content)
    counts = ", ".join(f"{split} {len(splits[split])}" for split in SPLITS)
    return f"{OBJECTS}, {counts}, contents {digest.hexdigest()}"


def _bytes(part: Any) -> bytes:
    if isinstance(part, torch.Tensor):
        part = part.detach().cpu().contiguous().numpy()
    if isinstance(part, memoryview):
        return bytes(part)
    if isinstance(part, Path):  # of a file what tells it from others without reading it, wherever it lies
        return f"{part.name} {part.stat().st_size}".encode("utf-8", "surrogateescape")
    if isinstance(part, np.ndarray):
        return f"{part.dtype} {part.shape} ".encode() + part.tobytes()
    return str(part).encode("utf-8", "surrogatepass")
