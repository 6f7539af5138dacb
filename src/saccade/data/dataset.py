"""Data sets: examples in three splits, each a function of its split and index."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from saccade.data.conversions import converted
from saccade.errors import ArgumentError

__all__ = [
    "SPLITS",
    "Dataset",
    "Lazy",
    "check_index",
    "check_split",
    "counted",
    "data_path",
    "inventory",
    "joined",
    "no_such_data",
    "opened",
    "sampled",
    "spread",
    "take",
    "training_sample",
]

SPLITS = ("train", "validation", "test")
T = TypeVar("T")
E = TypeVar("E", covariant=True)


class Dataset(Protocol[E]):
    """Examples in three splits."""

    def example(self, split: str, index: int) -> E:
        """Return one example of a split ("train", "validation" or "test")."""

    def size(self, split: str) -> int | None:
        """Return the number of examples of a split, None if they are endless."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the examples, equal for equal data."""

    @property
    def note(self) -> str:
        """Remarks for the user, "" if there are none."""


class Lazy(Generic[T]):
    """A value computed at its first use, for example a data set.

    Predictions need no data set, so they do not open it.

    Args:
        make: function without arguments that returns the value.

    Example:
        >>> lazy = Lazy(lambda: print("made") or 7)
        >>> lazy.get(), lazy.get()
        made
        (7, 7)
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._made = make, list[T]()

    def get(self) -> T:
        """Return the value."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]


def opened(objects: Any, make: Callable[[Any], T]) -> Lazy[T]:
    """Return an open data set unchanged, otherwise `make(objects)` as a lazy value.

    >>> first = opened(None, lambda objects: [objects])
    >>> opened(first, lambda objects: [objects]) is first
    True
    """
    return objects if isinstance(objects, Lazy) else Lazy(lambda: make(objects))


def take(data: Dataset[E], split: str, limit: int | None) -> Sequence[int]:
    """Return the indices of at most `limit` examples.

    They are the first examples of an endless split, otherwise `sampled`.
    """
    size = data.size(split)
    if size is None:
        return range(limit or 0)
    if limit is None or limit >= size:
        return range(size)
    return sampled(size, limit)


def spread(size: int, count: int) -> range:
    """Return at most `count` evenly spaced numbers below `size`, for sorted files.

    >>> list(spread(10, 4))
    [0, 3, 6, 9]
    """
    return range(0, size, max(1, -(-size // count)))


def sampled(size: int, count: int) -> list[int]:
    """Return at most `count` numbers below `size`, spread evenly but without a period.

    They are the numbers n with the lowest fractional parts of n times the golden ratio.

    >>> sampled(10, 4)
    [0, 2, 5, 7]
    """
    ranks = np.arange(size) * ((5**0.5 - 1) / 2) % 1
    return sorted(np.argsort(ranks)[:count].tolist())


def training_sample(data: Dataset[E], endless: int, limit: int) -> list[E]:
    """Return a sample of the training split.

    Args:
        data: the data set.
        endless: number of examples of an endless split. They are the first.
        limit: largest number of examples of a finite split. They are evenly spaced.
    """
    size = data.size("train")
    indices = range(endless) if size is None else spread(size, limit)
    return [data.example("train", index) for index in indices]


def check_split(split: str) -> None:
    """Reject a name other than train, validation and test.

    >>> check_split("tset")
    Traceback (most recent call last):
    saccade.errors.ArgumentError: split: expected one of train, validation, test, got 'tset'
    """
    if split not in SPLITS:
        raise ArgumentError(f"split: expected one of {', '.join(SPLITS)}, got {split!r}")


def check_index(split: str, index: int, size: int | None) -> None:
    """Reject an index outside a split. The size of an endless split is None.

    >>> check_index("test", 500, 500)
    Traceback (most recent call last):
    saccade.errors.ArgumentError: index: expected 0 <= index < 500 in test, got 500
    """
    if index < 0 or (size is not None and index >= size):
        below = "" if size is None else f" < {size}"
        raise ArgumentError(f"index: expected 0 <= index{below} in {split}, got {index}")


def no_such_data(
    data: str, builtin: Iterable[str], forms: str = "folder or file", holds: str | None = None
) -> ArgumentError:
    """Return the error for an unknown data set.

    Args:
        data: the name.
        builtin: names of built-in data.
        forms: accepted kinds of paths.
        holds: the expected content of a folder.

    Example:
        >>> no_such_data("date", ["dates"])
        ArgumentError('--data: no data set date, and no folder or file; did you mean dates?')
    """
    if holds is not None and (folder := Path(data)).is_dir():
        there = sorted(folder.iterdir())
        got = f"got {inventory(path.name for path in there) or 'an empty folder'}"
        way_out = next(filter(None, map(converted, there)), "")
        return ArgumentError(f"--data: expected in the folder {data} {holds}, {got}{way_out}")
    near = difflib.get_close_matches(data, builtin, 1)
    hint = f"did you mean {near[0]}?" if near else f"built in: {', '.join(builtin)}"
    return ArgumentError(f"--data: no data set {data}, and no {forms}; {hint}")


def data_path(data: str) -> Path:
    """Return --data as a path.

    A pipe, socket or device is an error, as it can be read only once.

    >>> data_path("/dev/null")
    Traceback (most recent call last):
    saccade.errors.ArgumentError: --data: expected a file or a folder, got a pipe or device at /dev/null. ...
    """
    path = Path(data)
    if path.is_symlink() and not path.exists():
        raise ArgumentError(
            f"--data: expected a file or a folder, got a link that leads nowhere: {data}. Name another."
        )
    if data == "-":
        raise ArgumentError("--data: expected a file or a folder, got -; copy standard input into a file and name it")
    if path.exists() and not (path.is_file() or path.is_dir()):
        way_out = "Copy its output into a file and name that."
        raise ArgumentError(f"--data: expected a file or a folder, got a pipe or device at {data}. {way_out}")
    return path


def counted(count: int, what: str) -> str:
    """Return a count with a noun. `what` is its plural.

    >>> counted(1, "examples"), counted(2, "examples"), counted(1, "categories")
    ('1 example', '2 examples', '1 category')
    """
    singular = f"{what.removesuffix('ies')}y" if what.endswith("ies") else what.removesuffix("s")
    return f"{count} {singular if count == 1 else what}"


def joined(names: Iterable[str]) -> str:
    """Return names in one line, with "and" before the last.

    >>> joined(["image", "question", "answer"]), joined(["text"])
    ('image, question and answer', 'text')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def inventory(names: Iterable[Any]) -> str:
    """Return the first five names in one line, and the number of further names.

    >>> inventory("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    listed = list(map(str, names))
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return ", ".join(listed[:5]) + more
