"""Measures of parts of a split: by language, by speaker, by length."""

from collections.abc import Callable, Sequence

__all__ = ["by_group"]

Score = Callable[[Sequence[str], Sequence[str]], float]


def by_group(
    score: Score, outputs: Sequence[str], references: Sequence[str], groups: Sequence[str]
) -> dict[str, float]:
    """Score each group as a corpus of its own.

    Args:
        score: of outputs and references.
        outputs: what the model wrote.
        references: what it should have written.
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
        group: score(*([texts[place] for place in members[group]] for texts in (outputs, references)))
        for group in sorted(members, key=_order)
    }


def _order(group: str) -> tuple[int, str]:
    first = group.partition("-")[0]
    return int(first) if first.isdecimal() else 0, group
