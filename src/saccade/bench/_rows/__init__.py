"""Rows by subject: functions from a setup to its rows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from saccade.bench._rows import additive, commands, dot, masks, networks, random_calls, weights
from saccade.bench.row import Row, Setup
from saccade.errors import ArgumentError

_SUBJECTS: tuple[tuple[str, Callable[[Setup], list[Row]]], ...] = (
    ("additive", additive.rows),
    ("sparse", weights.sparse),
    ("dot", dot.rows),
    ("masks", masks.rows),
    ("masks", masks.steps),
    ("half", weights.half),
    ("statistics", weights.statistics),
    ("lazy", weights.lazy),
    ("memory", networks.memories),
    ("regression", networks.regression),
    ("experts", networks.experts),
    ("training", networks.trainings),
    ("start", commands.rows),
    ("random", random_calls.rows),
)


def rows(setup: Setup) -> list[Row]:
    """Return all rows in the order of measurement."""
    return [replace(row, subject=subject) for subject, make in _SUBJECTS for row in make(setup)]


def select(rows: Sequence[Row], pattern: str = "*", *, quick: bool = False) -> list[Row]:
    """Return the rows that match a pattern.

    Args:
        rows: all rows.
        pattern: any part of a row's family, shape and peer; * and ? match any characters, and | separates alternatives.
        quick: only those of the short list.

    Raises:
        ArgumentError: there is none, with the families there are.

    Example:
        >>> import saccade.bench, torch
        >>> setup = Setup(torch.device("cpu"))
        >>> [row.shape for row in select(saccade.bench.rows(setup), "additive forward *256 eager", quick=True)]
        ['8x256x256']
    """
    offered = [row for row in rows if row.quick] if quick else list(rows)
    patterns = [f"*{part}*" for part in pattern.lower().split("|")]
    chosen = [row for row in offered if any(fnmatchcase(row.name.lower(), part) for part in patterns)]
    if not chosen:
        families = ", ".join(dict.fromkeys(row.family for row in offered))
        short = " of the short list" if quick else ""
        raise ArgumentError(f"--rows: expected a part of a row's name, got {pattern}; rows{short}: {families}")
    return chosen
