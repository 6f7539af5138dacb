"""Cells of tables as numbers, and what is wrong with a cell that is none."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from saccade.data.tables import number_of

__all__ = ["flat", "of_column", "several"]

_LARGEST = 1e150  # squares of differences, and sums of many of them, are finite
_COMMA = re.compile(r"[+-]?\d*,\d+")  # of a decimal number
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


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
