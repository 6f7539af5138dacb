"""Rows by subject: functions from a setup to its rows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from saccade.bench._rows import additive, commands, dot, host, looking, masks, networks, random_calls, weights
from saccade.bench.formulas import in_bfloat16
from saccade.bench.row import Row, Setup
from saccade.errors import ArgumentError

_SUBJECTS: dict[str, tuple[str, Callable[[Setup], list[Row]]]] = {
    "additive": ("Additive attention", additive.rows),
    "sparse": ("Sparsemax and entmax", weights.sparse),
    "dot": ("Dot scores", dot.rows),
    "masks": ("Masks", masks.rows),
    "half": ("Half types", weights.half),
    "statistics": ("Statistics and draws", weights.statistics),
    "lazy": ("Values that are computed when they are read", weights.lazy),
    "memory": ("External memories", networks.memories),
    "regression": ("Kernel regression", networks.regression),
    "multihead": ("Multi-head attention", networks.multihead),
    "experts": ("Mixtures of experts", networks.experts),
    "training": ("Training steps", networks.trainings),
    "looking": ("Cost of looking", looking.rows),
    "host": ("Host time of a call", host.rows),
    "start": ("Start of commands", commands.rows),
    "random": ("Random calls", random_calls.rows),
}
"""Title and rows of each subject, in the order of measurement."""
TITLES = {subject: title for subject, (title, _) in _SUBJECTS.items()}


def rows(setup: Setup) -> list[Row]:
    """Return all rows in the order of measurement."""
    made = [replace(row, subject=subject) for subject, (_, make) in _SUBJECTS.items() for row in make(setup)]
    if setup.device.type != "cuda":
        return made
    return [version for row in made for version in ([row, in_bfloat16(row)] if row.half else [row])]


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
    chosen = [row for row in offered if matches(row.name, pattern)]
    if not chosen:
        families = ", ".join(dict.fromkeys(row.family for row in offered))
        short = " of the short list" if quick else ""
        raise ArgumentError(f"--rows: expected a part of a row's name, got {pattern}; rows{short}: {families}")
    return chosen


def matches(name: str, pattern: str) -> bool:
    """Whether a row's name matches a pattern of `select`."""
    return any(fnmatchcase(name.lower(), f"*{part}*") for part in pattern.lower().split("|"))
