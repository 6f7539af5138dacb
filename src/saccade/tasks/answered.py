"""Base of answers: their lines, pictures, and a remark."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Answered"]


class Answered(ABC):
    r"""An answer as lines of text.

    Example:
        >>> class Twice(Answered):
        ...     def lines(self):
        ...         return ["yes", "yes"]
        >>> Twice()
        Twice('yes\nyes')
    """

    @abstractmethod
    def lines(self) -> list[str]:
        """Return a line for each requested answer, blank if there are fewer answers."""

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw pictures, and return their paths. Default: none."""
        return iter(())

    @property
    def remark(self) -> str:
        """Return a remark beside the answer to a training example. Default: none."""
        return ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:  # without its tensors
        return f"{type(self).__name__}({str(self)!r})"
