"""Numbers of many examples as text: whether each was right, how often, or in which share; and rates over seeds."""

import statistics
from collections.abc import Sequence

__all__ = [
    "packed",
    "packed_counts",
    "packed_shares",
    "spread",
    "unpacked",
    "unpacked_counts",
    "unpacked_shares",
]


def packed(right: Sequence[bool]) -> str:
    """Return yes and no of many images as hexadecimal digits, four images each.

    >>> packed([True, False, False, False, True])
    '88'
    """
    rows = [right[first : first + 4] for first in range(0, len(right), 4)]
    return "".join(f"{sum(8 >> place for place, bit in enumerate(row) if bit):x}" for row in rows)


def unpacked(digits: str, count: int) -> list[bool]:
    """Return what `packed` was given.

    >>> unpacked("88", 5)
    [True, False, False, False, True]
    """
    return [bool(int(digit, 16) & 8 >> place) for digit in digits for place in range(4)][:count]


def packed_counts(counts: Sequence[int]) -> str:
    """Return numbers from 0 to 15 as hexadecimal digits, one each.

    >>> packed_counts([0, 10, 3])
    '0a3'
    """
    return "".join(f"{count:x}" for count in counts)


def unpacked_counts(digits: str) -> list[int]:
    """Return what `packed_counts` was given.

    >>> unpacked_counts("0a3")
    [0, 10, 3]
    """
    return [int(digit, 16) for digit in digits]


def packed_shares(shares: Sequence[float]) -> str:
    """Return numbers from -1 to 1 as three hexadecimal digits each: the nearest multiples of 1 / 2047.

    >>> packed_shares([0.0, 1.0, -1.0])
    '800fff001'
    """
    return "".join(f"{round(2047 * share) + 2048:03x}" for share in shares)


def unpacked_shares(digits: str) -> list[float]:
    """Return what `packed_shares` was given, to within 1 / 4094.

    >>> unpacked_shares("800fff001")
    [0.0, 1.0, -1.0]
    """
    return [(int(digits[place : place + 3], 16) - 2048) / 2047 for place in range(0, len(digits), 3)]


def spread(values: Sequence[float]) -> str:
    """Return the mean of shares and, of several, their standard deviation, in percent.

    >>> spread([0.5, 0.52]), spread([0.5])
    ('51.00 ± 1.41', '50.00')
    """
    around = f" ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * statistics.fmean(values):.2f}{around}"
