"""Measures of parts of a split: by language, by speaker, by length."""

from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["by_group"]

R = TypeVar("R")


def by_group(
    score: Callable[[Sequence[str], Sequence[R]], float],
    outputs: Sequence[str],
    references: Sequence[R],
    groups: Sequence[str],
) -> dict[str, float]:
    """Score each group as a corpus of its own.

    Args:
        score: of outputs and references.
        outputs: what the model wrote.
        references: what it should have written, or all that it may have.
        groups: the group of each, such as its language or its length.

    Returns:
        A score for each group, numbered groups in their order, others by name.

    Example:
        >>> def exact_match(outputs, references):
        ...     return sum(map(str.__eq__, outputs, references)) / len(outputs)
        >>> by_group(exact_match, ["a", "b", "c"], ["a", "b", "x"], ["11-20", "1-10", "11-20"])
        {'1-10': 1.0, '11-20': 0.5}
    """
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    return {
        group: score([outputs[place] for place in members[group]], [references[place] for place in members[group]])
        for group in sorted(members, key=_order)
    }


def _order(group: str) -> tuple[int, str]:
    first = group.partition("-")[0]
    return int(first) if first.isdecimal() else 0, group
