"""An answer of classes, whatever the input."""

from typing import Any

from saccade.tasks.answered import Answered

__all__ = ["Ranked"]


class Ranked(Answered):
    r"""Classes of an input with their probabilities.

    A subclass is a dataclass with the input.

    Example:
        >>> import torch
        >>> from dataclasses import dataclass
        >>> from saccade.tasks.labels.ranking import Ranking
        >>> @dataclass(frozen=True, repr=False)
        ... class Label(Ranked):
        ...     ranking: Ranking | None
        ...     count: int
        >>> Label(Ranking(("bad", "good"), torch.tensor([0.25, 0.75])), 1), Label(None, 1).ranked
        (Label('good\t0.7500'), {'answers': [], 'probabilities': {}})
    """

    ranking: Any
    """A `Ranking`, or None if the input is blank or could not be read."""

    count: int
    """Number of classes to list."""

    def lines(self) -> list[str]:
        """Return the most probable classes, each with a tab and its probability.

        Blank lines follow up to the count.
        """
        lines = [] if self.ranking is None else self.ranking.lines(self.count)
        return [*lines, *[""] * (self.count - len(lines))]

    @property
    def ranked(self) -> dict[str, Any]:
        """The most probable classes and all probabilities, as JSON."""
        empty: dict[str, Any] = {"answers": [], "probabilities": {}}
        return empty if self.ranking is None else self.ranking.to_json(self.count)
