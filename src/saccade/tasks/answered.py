"""What every answer to one input is: lines, the text that these make, and what is said beside it in training."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Answered"]


class Answered(ABC):
    r"""An answer that is written as lines.

    Example:
        >>> class Twice(Answered):
        ...     def lines(self):
        ...         return ["yes", "yes"]
        >>> Twice()
        Twice('yes\nyes')
    """

    @abstractmethod
    def lines(self) -> list[str]:
        """Return as many lines as answers were asked for, blank ones where there are fewer."""

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw pictures, and return their paths. Default: none."""
        return iter(())

    @property
    def remark(self) -> str:
        """What is said beside the answer where one example is shown in training; nothing, if a task has nothing."""
        return ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:  # not its tensors, where answers are looked at in a list
        return f"{type(self).__name__}({str(self)!r})"
