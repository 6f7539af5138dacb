"""What is said of one input by every task that answers with classes."""

from typing import Any

from saccade.tasks.answered import Answered

__all__ = ["Ranked"]


class Ranked(Answered):
    r"""An answer that is classes with their probabilities; a dataclass that says of what they are.

    Example:
        >>> import torch
        >>> from dataclasses import dataclass
        >>> from saccade.tasks.labels.ranking import Ranking
        >>> @dataclass(frozen=True, repr=False)
        ... class Said(Ranked):
        ...     ranking: Ranking | None
        ...     count: int
        >>> Said(Ranking(("bad", "good"), torch.tensor([0.25, 0.75])), 1), Said(None, 1).ranked
        (Said('good\t0.7500'), {'answers': [], 'probabilities': {}})
    """

    ranking: Any
    """Its classes, `saccade.tasks.labels.ranking.Ranking`; None if it could not be read."""

    count: int
    """How many classes were asked for."""

    def lines(self) -> list[str]:
        """Return the most probable classes, each with a tab and its probability; blank lines where there are fewer."""
        found = [] if self.ranking is None else self.ranking.lines(self.count)
        return [*found, *[""] * (self.count - len(found))]

    @property
    def ranked(self) -> dict[str, Any]:
        """The most probable classes and the probabilities of all, as JSON has them."""
        empty: dict[str, Any] = {"answers": [], "probabilities": {}}
        found: dict[str, Any] = empty if self.ranking is None else self.ranking.to_json(self.count)
        return found
