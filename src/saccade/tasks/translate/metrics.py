"""What is measured of translations."""

from collections.abc import Sequence

__all__ = ["exact_match"]


def exact_match(
    outputs: Sequence[str], references: Sequence[str], groups: Sequence[str]
) -> tuple[float, dict[str, float]]:
    """Return the fraction of outputs that are the reference to the letter, of all and of each group.

    Args:
        outputs: what the model wrote.
        references: what it should have written, as many.
        groups: the group of each, such as its language.

    Example:
        >>> exact_match(["a", "b", "c"], ["a", "b", "x"], ["one", "one", "two"])
        (0.6666666666666666, {'one': 1.0, 'two': 0.0})
    """
    right: dict[str, list[bool]] = {}
    for output, reference, group in zip(outputs, references, groups, strict=True):
        right.setdefault(group, []).append(output == reference)
    by_group = {group: sum(hits) / len(hits) for group, hits in sorted(right.items())}
    return sum(map(sum, right.values())) / max(1, len(outputs)), by_group
