"""Measures of parts of a split: by language, by speaker, by length."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TypeVar

__all__ = ["by_group", "means"]

R = TypeVar("R")


def by_group(
    score: Callable[[Sequence[str], Sequence[R]], float],
    outputs: Sequence[str],
    references: Sequence[R],
    groups: Sequence[str],
) -> dict[str, float]:
    """Score each group as a corpus of its own.

    Args:
        score: from outputs and references to a number.
        outputs: texts of the model.
        references: one reference or several for each output.
        groups: the group of each output, for example its language or length.

    Returns:
        A score for each group, numbered groups in order of numbers, other groups by name.

    Example:
        >>> def exact_match(outputs, references):
        ...     return sum(map(str.__eq__, outputs, references)) / len(outputs)
        >>> by_group(exact_match, ["a", "b", "c"], ["a", "b", "x"], ["11-20", "1-10", "11-20"])
        {'1-10': 1.0, '11-20': 0.5}
    """
    members: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    return {
        group: score([outputs[index] for index in members[group]], [references[index] for index in members[group]])
        for group in sorted(members, key=_order)
    }


def means(groups: Sequence[str], numbers: Sequence[float]) -> dict[str, float]:
    """Return the mean of each group, in the order of their first numbers.

    Numbers of the group "" are left out.


    >>> means(["colour", "", "colour"], [1.0, 5.0, 0.0])
    {'colour': 0.5}
    """
    members: dict[str, list[float]] = {}
    for group, number in zip(groups, numbers, strict=True):
        if group:
            members.setdefault(group, []).append(number)
    return {group: fmean(members_of_group) for group, members_of_group in members.items()}


def _order(group: str) -> tuple[int, str]:
    first = group.partition("-")[0]
    return int(first) if first.isdecimal() else 0, group
