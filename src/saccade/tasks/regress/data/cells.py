"""Cells of tables as numbers, and errors with the way to correct a cell."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from saccade.data.columns import is_empty
from saccade.data.tables import number_of

__all__ = ["exact", "flat"]

_LARGEST = 1e150  # sums of many squared differences are finite
_COMMA = re.compile(r"[+-]?\d*,\d+")  # of a decimal number
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


def flat(value: Any, way_out: str = "") -> list[float]:
    """Return the numbers of a number, or of an array, tensor or sequence of numbers.

    Args:
        value: the number or numbers; texts are numbers in ASCII digits.
        way_out: the end of an error.

    Raises:
        ValueError: if something is no finite number.

    Example:
        >>> flat([1, ("2.5", np.float32(3))])
        [1.0, 2.5, 3.0]
    """
    if isinstance(value, Tensor):
        value = value.numpy(force=True)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [number for part in value for number in flat(part, way_out)]
    return [_finite(value.strip() if isinstance(value, str) else value, way_out)]


def exact(numbers: Sequence[float]) -> str:
    """Return numbers as text, exact when it is read again.

    >>> exact((0.5, 2.0, 1e300))
    '0.5,2,1e+300'
    """
    return ",".join(repr(number).removesuffix(".0") for number in numbers)


def _finite(value: Any, way_out: str) -> float:
    if value == "" or is_empty(value):
        nan = "" if value in ("", None) else f" ({value})"
        raise ValueError(f"expected a number, got an empty cell{nan}{way_out}")
    if isinstance(value, bytes | Mapping):
        raise ValueError(f"expected a number, got {type(value).__name__}{way_out}")
    try:
        number = number_of(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        hint = (isinstance(value, str) and _without_comma(value)) or way_out
        raise ValueError(f"expected a number, got {value!r:.40}{hint}") from None
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, got {number}{way_out}")
    if abs(number) > _LARGEST:
        got = f"got {number:g}; divide the whole column by a power of ten"
        raise ValueError(f"expected a number from {-_LARGEST:g} to {_LARGEST:g}, whose square is finite, {got}")
    return number


def _without_comma(text: str) -> str:
    """Other ways to write a number with commas, "" for another text."""
    plain, decimal = text.replace(",", ""), text.replace(",", ".")
    thousands = _THOUSANDS.fullmatch(text)
    if thousands and _COMMA.fullmatch(text):
        return f"; write {plain:.40} for thousands, {decimal:.40} for decimals"
    if thousands:
        return f"; write thousands without commas: {plain:.40}"
    return f"; write decimals with a point: {decimal:.40}" if _COMMA.fullmatch(text) else ""
