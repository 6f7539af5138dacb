"""Numbers out of a line that asks."""

import math
import re
from collections.abc import Sequence

from saccade.errors import ArgumentError
from saccade.tasks.dataset import inventory

__all__ = ["MOST", "read_numbers"]

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
    wanted = (
        f"{len(features)} number{'s' * (len(features) != 1)} ({inventory(features)})"
        if features
        else "a set of numbers"
    )
    if not parts:
        raise ArgumentError(f"line {number}: expected {wanted}, got none")
    if features and len(parts) != len(features):
        raise ArgumentError(f"line {number}: expected {wanted}, got {len(parts)}")
    if len(parts) > MOST:
        raise ArgumentError(f"line {number}: expected at most {MOST:,} numbers, got {len(parts):,}")
    return tuple(_number(part, number) for part in parts)


def _number(part: str, line: int) -> float:
    try:
        found = float(part)
    except ValueError:
        raise ArgumentError(f"line {line}: expected a number, got {part!r:.40}") from None
    if not math.isfinite(found):
        raise ArgumentError(f"line {line}: expected a finite number, got {part}")
    return found
