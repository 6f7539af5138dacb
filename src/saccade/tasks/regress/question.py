"""Numbers out of a line that asks, and lines out of numbers that somebody hands over from Python."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data.dataset import counted, inventory
from saccade.data.objects import table_rows
from saccade.data.tables import number_of
from saccade.errors import ArgumentError
from saccade.tasks.regress.data.cells import flat
from saccade.tasks.regress.data.dataset import exact
from saccade.tasks.regress.data.reader import named_numbers

__all__ = ["MOST", "lines_of", "read_numbers"]

MOST = 10_000
"""Numbers of a set, at most."""

_BETWEEN = re.compile(r"\s*[,;]\s*|\s+")


def read_numbers(line: str, number: int, features: Sequence[str]) -> tuple[float, ...]:
    """Return the numbers of a line, with commas, semicolons or blanks between.

    Args:
        line: it.
        number: of the line, from 1 on, for messages.
        features: what the numbers are called; none where a line is a set of any size.

    Raises:
        ArgumentError: if they are more or fewer, or something is no number.

    Example:
        >>> read_numbers("0.5, 2 1e3", 1, ())
        (0.5, 2.0, 1000.0)
    """
    parts = _BETWEEN.split(text) if (text := line.strip()) else []
    wanted = f"{counted(len(features), 'numbers')} ({inventory(features)})" if features else "a set of numbers"
    if not parts:
        raise ArgumentError(f"line {number}: expected {wanted}, got none")
    if features and len(parts) != len(features):
        raise ArgumentError(f"line {number}: expected {wanted}, got {len(parts)}")
    if len(parts) > MOST:
        raise ArgumentError(f"line {number}: expected at most {MOST:,} numbers, got {len(parts):,}")
    return tuple(_number(part, number) for part in parts)


def lines_of(inputs: Any, features: Sequence[str]) -> Iterator[str]:
    """Give what is asked from Python as lines.

    Args:
        inputs: a text or several; rows of numbers, such as an array `(rows, features)`, or of a single feature numbers;
            a mapping of columns, a data frame, or rows that are mappings, of which the columns of features are taken.
        features: what numbers are called; none of sets.

    Raises:
        ArgumentError: naming the row that is something else.

    Example:
        >>> list(lines_of(np.array([[1.0, 2.5]]), ("a", "b"))), list(lines_of({"b": [2.5], "a": [1]}, ("a", "b")))
        (['1,2.5'], ['1,2.5'])
    """
    for number, row in enumerate(_rows(inputs), 1):
        if isinstance(row, str | Path):
            yield str(row)
            continue
        try:
            yield exact(_by_name(row, features) if isinstance(row, Mapping) else _of_row(row, features))
        except ValueError as error:
            raise ArgumentError(f"inputs: row {number}: {error}") from None


def _rows(inputs: Any) -> Iterable[Any]:
    if isinstance(inputs, str | Path) or np.isscalar(inputs) or getattr(inputs, "ndim", 1) == 0:
        return [inputs]
    if isinstance(inputs, Mapping) and all(map(np.isscalar, inputs.values())):
        return [inputs]
    found = table_rows(inputs, "inputs")
    if found is None and not isinstance(inputs, Iterable):
        expected = "expected texts, rows of numbers, or columns by their names"
        raise ArgumentError(f"inputs: {expected}, got {type(inputs).__name__}")
    return inputs if found is None else found


def _of_row(row: Any, features: Sequence[str]) -> list[float]:
    if len(features) != 1 and (np.isscalar(row) or getattr(row, "ndim", 1) == 0):
        expected = f"a row of {counted(len(features), 'numbers')} ({inventory(features)})" if features else "a set"
        raise ValueError(f"expected {expected}, got {row!r:.40} alone; a single one is [[...]]")
    return flat(row)


def _by_name(row: Mapping[Any, Any], features: Sequence[str]) -> list[float]:
    if not features:
        raise ValueError("expected the numbers of a set, got columns by their names; hand over a list of numbers")
    cells = [(str(name), value) for name, value in row.items()]
    read = [(name, flat(value)) for name, value in cells if name in features or not np.isscalar(value)]
    found = dict(named_numbers(read))
    if missing := [name for name in features if name not in found]:
        raise ValueError(f"expected columns {inventory(features)}, got {inventory(row)}: without {inventory(missing)}")
    return [found[name] for name in features]


def _number(part: str, line: int) -> float:
    try:
        found = number_of(part)
    except ValueError:
        raise ArgumentError(f"line {line}: expected a number, got {part!r:.40}") from None
    if not math.isfinite(found):
        raise ArgumentError(f"line {line}: expected a finite number, got {part}")
    return found
