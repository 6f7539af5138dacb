"""Tables of cells as rows of numbers: which columns are asked and answered, and what is wrong with a cell."""

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from torch import Tensor

from saccade.data.dataset import inventory
from saccade.data.splits import SPLIT, SplitNames, split_of
from saccade.errors import ArgumentError
from saccade.tasks.text.delimited import number_of

__all__ = [
    "Columns",
    "Row",
    "Sheet",
    "Wanted",
    "check_size",
    "chosen",
    "differing",
    "flat",
    "of_column",
    "rows_by_split",
    "several",
]

Row: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]
"""The numbers that are asked, and those that answer."""

_LARGEST = 1e150  # squares of differences, and sums of many of them, are finite
_ROW, _NUMBER, _MOST = 300, 40, 4 << 30  # bytes of a row in memory, of a number in it, and of all rows
_COMMA = re.compile(r"[+-]?\d*,\d+")  # of a decimal number
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


class Wanted(NamedTuple):
    """Which columns are asked and answered, by the options of a run.

    >>> Wanted(target="price").sets
    False
    """

    target: str | None = None
    """Names with commas between; None: the last column."""
    features: str | None = None
    """Names with commas between; None: all others."""
    sets: bool = False
    """Whether what a row asks is a set, of any size."""


class Columns(NamedTuple):
    """Names of the columns that are asked and answered."""

    features: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def divided(self) -> bool:
        """Whether a column `split` would say which split a row is in: it is neither asked nor answered."""
        return SPLIT not in (*self.features, *self.targets)


@dataclass(frozen=True)
class Sheet:
    """A table as it was read.

    Args:
        where: it is, for messages.
        names: of the columns.
        rows: of cells, each with the number by which messages name it.
        counted: what numbers count: "line" of a file, or "row".
    """

    where: str
    names: tuple[str, ...]
    rows: Iterable[tuple[int, Sequence[Any]]]
    counted: str = "line"


def check_size(rows: int, columns: int, where: str) -> None:
    """Reject a table whose rows would fill the memory, before any of them is read.

    Args:
        rows: how many there are.
        columns: how many numbers a row has.
        where: the table is, for the message.

    Raises:
        ArgumentError: if they take more than 4 GiB.

    Example:
        >>> check_size(33_000_000, 1, "a.npy")
        Traceback (most recent call last):
        saccade.errors.ArgumentError: a.npy: expected rows of at most 4 GiB in memory, got 33,000,000 rows ...
    """
    if (size := rows * (_ROW + columns * _NUMBER)) > _MOST:
        got = f"got {rows:,} rows of {columns:,}, about {size >> 30} GiB"
        raise ArgumentError(f"{where}: expected rows of at most {_MOST >> 30} GiB in memory, {got}; train on fewer")


def chosen(names: Sequence[str], wanted: Wanted, where: str) -> Columns:
    """Return which columns are asked and answered.

    Args:
        names: of all columns.
        wanted: what the options say.
        where: the table is, for messages.

    Raises:
        ArgumentError: naming the option whose column is not there, or what is missing.

    Example:
        >>> chosen(("rooms", "age", "price"), Wanted(features="rooms"), "houses.csv")
        Columns(features=('rooms',), targets=('price',))
    """
    if len(counts := Counter(names)) < len(names):
        twice = next(name for name in names if counts[name] > 1)
        raise ArgumentError(f"{where}: expected columns of different names, got {twice} twice")
    usable = [name for name in names if name != SPLIT]
    targets = _named(wanted.target, names, "target", where) if wanted.target else usable[-1:]
    answered = set(targets)
    left = [name for name in usable if name not in answered]
    features = _named(wanted.features, names, "features", where) if wanted.features else left
    if both := [name for name in features if name in answered]:
        raise ArgumentError(f"--features: expected other columns than --target, got {both[0]} in both")
    if not features and wanted.target and usable:
        got = f"got all of {where} ({inventory(usable)})"
        raise ArgumentError(f"--target: expected to leave a column or more to ask, {got}; leave one out")
    if not features:
        raise ArgumentError(f"{where}: expected two columns or more, one to ask and one to answer, got {len(names)}")
    return Columns(tuple(features), tuple(targets))


def differing(names: Sequence[str], first: Sequence[str], columns: Columns, wanted: Wanted) -> str:
    """Return how the columns of a table differ from those of the first one, "" where both can be read alike.

    Args:
        names: of the table's columns, in any order.
        first: of those of the first one.
        columns: which of these are asked and answered.
        wanted: what the options say.

    Example:
        >>> first = ("rooms", "age", "price")
        >>> differing(("price", "rooms", "size"), first, chosen(first, Wanted(), "a.csv"), Wanted())
        'without age, with size'
    """
    there, expected = set(names), {*first, SPLIT}
    missing = [name for part in columns for name in part if name not in there]
    more = [] if wanted.features else [name for name in names if name not in expected]
    parts = (("without", missing), ("with", more))
    return ", ".join(f"{word} {inventory(part)}" for word, part in parts if part)


def rows_by_split(
    sheet: Sheet, columns: Columns, wanted: Wanted, names: SplitNames, known: str = ""
) -> dict[str, list[Row]]:
    """Return the rows of a table by the split that its column `split` names, all of them by `known` where it has none.

    Args:
        sheet: the table.
        columns: which are asked and answered.
        wanted: what the options say.
        names: what splits are called.
        known: what the split is called that all rows are in, "" where the column says it.

    Raises:
        ArgumentError: naming the row and the column of a cell that is no finite number, or no split's name.
    """
    places = {name: place for place, name in enumerate(sheet.names)}
    asked, answered = ([(name, places[name]) for name in part] for part in columns)
    read = several if wanted.sets else _single
    split, found = places.get(SPLIT) if columns.divided else None, dict[str, list[Row]]()
    for number, cells in sheet.rows:
        place = f"{sheet.where}: {sheet.counted} {number}"
        if len(cells) != len(sheet.names):
            raise ArgumentError(f"{place}: expected {len(sheet.names)} cells, a column each, got {len(cells)}")
        try:
            key = known if split is None else split_of(cells[split], names, known)
            numbers = [one for name, column in asked for one in of_column(name, cells[column], read, "features")]
            answers = [one for name, column in answered for one in of_column(name, cells[column], _single, "target")]
        except ValueError as error:
            raise ArgumentError(f"{place}: {error}") from None
        if not numbers:
            raise ArgumentError(f"{place}: expected a set of one number or more, got none")
        found.setdefault(key, []).append((tuple(numbers), tuple(answers)))
    if not found:
        raise ArgumentError(f"{sheet.where}: expected rows below the names of columns, got none")
    return found


def flat(value: Any) -> list[float]:
    """Return the numbers of a Python object: a number, or an array, tensor or sequence of such.

    Raises:
        ValueError: saying what is no finite number.

    Example:
        >>> flat([1, (2.5, np.float32(3))])
        [1.0, 2.5, 3.0]
    """
    if isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [one for part in value for one in flat(part)]
    return [_finite(value)]


def several(cell: Any) -> list[float]:
    """Return the numbers of a cell of sets: none of a blank one, and of a text all that it holds.

    >>> several("2 0.5"), several(None)
    ([2.0, 0.5], [])
    """
    return [] if cell is None else flat(cell.split() if isinstance(cell, str) else cell)


def of_column(name: str, cell: Any, read: Callable[[Any], list[float]], option: str) -> list[float]:
    """Return the numbers of a cell.

    Args:
        name: of its column.
        cell: what it holds.
        read: from that to its numbers.
        option: which chooses such columns.

    Raises:
        ValueError: naming the column; of a text it says how the column is left out.

    Example:
        >>> of_column("city", "Bonn", flat, "features")
        Traceback (most recent call last):
        ValueError: column city: expected a number, got 'Bonn'; correct it, or name other columns by --features
    """
    try:
        return read(cell)
    except _NoNumberError as error:
        raise ValueError(f"column {name}: {error}; correct it, or name other columns by --{option}") from None
    except ValueError as error:
        raise ValueError(f"column {name}: {error}") from None


class _NoNumberError(ValueError):
    """Something else where a number belongs, as it is all along a column of texts."""


def _named(given: str, names: Sequence[str], option: str, where: str) -> list[str]:
    found, there = [name.strip() for name in given.split(",")], set(names)
    for name in found:
        if name not in there:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]}?" if near else f"there is {inventory(names)}"
            raise ArgumentError(f"--{option}: expected a column of {where}, got {name}; {hint}")
    if len(set(found)) < len(found):
        raise ArgumentError(f"--{option}: expected each column once, got {given}")
    return found


def _single(cell: Any) -> list[float]:
    return [_finite(cell)]


def _finite(value: Any) -> float:
    text = value.strip() if isinstance(value, str) else value
    if text is None or text == "":
        raise ValueError("expected a number, got a blank cell; fill it, or take the row out")
    if isinstance(text, bytes | Mapping):
        raise _NoNumberError(f"expected a number, got {type(text).__name__}")
    try:
        found = number_of(text) if isinstance(text, str) else float(text)
    except (TypeError, ValueError, OverflowError):
        if isinstance(text, str) and (way_out := _without_comma(text)):
            raise ValueError(f"expected a number, got {value!r:.40}; {way_out}") from None
        raise _NoNumberError(f"expected a number, got {value!r:.40}") from None
    if not math.isfinite(found):
        raise ValueError(f"expected a finite number, got {found}; fill it, or take the row out")
    if abs(found) > _LARGEST:
        expected = f"expected a number from {-_LARGEST:g} to {_LARGEST:g}, whose squares can be reckoned with"
        raise ValueError(f"{expected}, got {found:g}; divide all of them by a power of ten")
    return found


def _without_comma(text: str) -> str:
    """How a number with commas is written, "" of another text."""
    plain, decimal = text.replace(",", ""), text.replace(",", ".")
    thousands = _THOUSANDS.fullmatch(text)
    if thousands and _COMMA.fullmatch(text):
        return f"write {plain:.40} for thousands, {decimal:.40} for decimals"
    if thousands:
        return f"write thousands without commas: {plain:.40}"
    return f"write decimals with a point: {decimal:.40}" if _COMMA.fullmatch(text) else ""
