"""Answers with labels and their probabilities."""

from typing import Any

from saccade.tasks.answered import Answered

__all__ = ["Ranked"]


class Ranked(Answered):
    r"""Labels of an input with their probabilities, as a dataclass.

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
    """`saccade.tasks.labels.ranking.Ranking`, or None if the input could not be read."""

    count: int
    """Number of labels to list."""

    def lines(self) -> list[str]:
        """Return the most probable labels, each with a tab and its probability, and blank lines if there are fewer."""
        lines = [] if self.ranking is None else self.ranking.lines(self.count)
        return [*lines, *[""] * (self.count - len(lines))]

    @property
    def ranked(self) -> dict[str, Any]:
        """The most probable labels and all probabilities, as JSON."""
        if self.ranking is None:
            return {"answers": [], "probabilities": {}}
        return self.ranking.to_json(self.count)  # type: ignore[no-any-return]
