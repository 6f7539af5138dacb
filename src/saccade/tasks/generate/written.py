"""What is written about one input, by every task that writes texts."""

from collections.abc import Sequence

from saccade.tasks.answered import Answered
from saccade.tasks.generate.generate import Output

__all__ = ["Written"]


class Written(Answered):
    """An answer that is texts; a dataclass that says of what they are.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True, repr=False)
        ... class Said(Written):
        ...     outputs: Sequence[Output]
        ...     count: int
        >>> Said([Output("a", [4], 0.0)], 2).lines()
        ['a', '']
    """

    outputs: Sequence[Output]
    """Its best texts, or draws."""

    count: int
    """How many were asked for."""

    def lines(self) -> list[str]:
        """Return the texts, blank ones where there are fewer than were asked for."""
        return [*(output.text for output in self.outputs[: self.count]), *[""] * (self.count - len(self.outputs))]
