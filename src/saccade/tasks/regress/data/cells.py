"""Cells of tables as numbers, and errors that say how to mend a cell."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from saccade.data.tables import number_of

__all__ = ["column_numbers", "exact", "flat", "set_numbers"]

_LARGEST = 1e150  # sums of many squared differences are finite
_COMMA = re.compile(r"[+-]?\d*,\d+")  # of a decimal number
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


def flat(value: Any) -> list[float]:
    """Return the numbers of a number, or of an array, tensor or sequence of numbers.

    Raises:
        ValueError: if something is no finite number.

    Example:
        >>> flat([1, (2.5, np.float32(3))])
        [1.0, 2.5, 3.0]
    """
    if isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [number for part in value for number in flat(part)]
    return [_finite(value)]


def set_numbers(cell: Any) -> list[float]:
    """Return the numbers of a cell of a set. A blank cell has none, and a text may have several.

    >>> set_numbers("2 0.5"), set_numbers(None)
    ([2.0, 0.5], [])
    """
    return [] if cell is None else flat(cell.split() if isinstance(cell, str) else cell)


def column_numbers(name: str, cell: Any, read: Callable[[Any], list[float]], option: str) -> list[float]:
    """Return the numbers of a cell, with the name of its column in errors.

    Args:
        name: of the column.
        cell: the cell.
        read: from a cell to its numbers.
        option: the option that chooses such columns.

    Raises:
        ValueError: if something is no finite number.

    Example:
        >>> column_numbers("city", "Bonn", flat, "features")
        Traceback (most recent call last):
        ValueError: column city: expected a number, got 'Bonn'; correct it, or name other columns by --features
    """
    try:
        return read(cell)
    except _OtherKindError as error:
        raise ValueError(f"column {name}: {error}; correct it, or name other columns by --{option}") from None
    except ValueError as error:
        raise ValueError(f"column {name}: {error}") from None


def exact(numbers: Sequence[float]) -> str:
    """Return numbers as text from which the same numbers are read.

    >>> exact((0.5, 2.0, 1e300))
    '0.5,2,1e+300'
    """
    return ",".join(repr(number).removesuffix(".0") for number in numbers)


class _OtherKindError(ValueError):
    """A cell of another kind, such as all cells of a column of texts."""


def _finite(value: Any) -> float:
    text = value.strip() if isinstance(value, str) else value
    if text is None or text == "":
        raise ValueError("expected a number, got a blank cell; fill it, or take the row out")
    if isinstance(text, bytes | Mapping):
        raise _OtherKindError(f"expected a number, got {type(text).__name__}")
    try:
        number = number_of(text) if isinstance(text, str) else float(text)
    except (TypeError, ValueError, OverflowError):
        if isinstance(text, str) and (way_out := _without_comma(text)):
            raise ValueError(f"expected a number, got {value!r:.40}; {way_out}") from None
        raise _OtherKindError(f"expected a number, got {value!r:.40}") from None
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, got {number}; fill it, or take the row out")
    if abs(number) > _LARGEST:
        got = f"got {number:g}; divide the whole column by a power of ten"
        raise ValueError(f"expected a number from {-_LARGEST:g} to {_LARGEST:g}, whose square is finite, {got}")
    return number


def _without_comma(text: str) -> str:
    """Other ways to write a number with commas, "" for another text."""
    plain, decimal = text.replace(",", ""), text.replace(",", ".")
    thousands = _THOUSANDS.fullmatch(text)
    if thousands and _COMMA.fullmatch(text):
        return f"write {plain:.40} for thousands, {decimal:.40} for decimals"
    if thousands:
        return f"write thousands without commas: {plain:.40}"
    return f"write decimals with a point: {decimal:.40}" if _COMMA.fullmatch(text) else ""
