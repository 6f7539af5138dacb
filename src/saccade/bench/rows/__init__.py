"""What is measured: one file a subject, each a function from a place to its rows."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from saccade.bench.row import Place, Row
from saccade.bench.rows import (
    additive,
    dot,
    experts,
    half,
    lazy,
    masks,
    memory,
    regression,
    sparse,
    start,
    statistics,
    steps,
)
from saccade.errors import ArgumentError

__all__ = ["rows", "select"]


def rows(place: Place) -> list[Row]:
    """Return all rows, in the order in which they are measured."""
    subjects = additive, sparse, dot, masks, steps, half, statistics, lazy, memory, regression, experts, start
    return [row for subject in subjects for row in subject.rows(place)]


def select(found: Sequence[Row], pattern: str = "*", *, quick: bool = False) -> list[Row]:
    """Return the rows that a pattern means.

    Args:
        found: the rows there are.
        pattern: of a row's family, shape and peer, any part of it; * and ? stand for whatever is there, and | between
            two patterns for either.
        quick: only those of the short list.

    Raises:
        ArgumentError: there is none, with the families there are.

    Example:
        >>> import torch
        >>> [row.shape for row in select(rows(Place(torch.device("cpu"))), "additive forward *256 eager", quick=True)]
        ['8x256x256']
    """
    offered = [row for row in found if row.quick] if quick else list(found)
    patterns = [f"*{one}*" for one in pattern.lower().split("|")]
    wanted = [row for row in offered if any(fnmatchcase(row.name.lower(), one) for one in patterns)]
    if not wanted:
        families = ", ".join(dict.fromkeys(row.family for row in offered))
        short = " of the short list" if quick else ""
        raise ArgumentError(f"--rows: expected a part of a row's name, got {pattern}; rows{short}: {families}")
    return wanted
