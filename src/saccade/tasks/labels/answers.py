"""Answers that are classes: how a model says them, and how probable one is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.tasks.labels.request import Request, check_count

__all__ = ["ClassAnswers"]


@dataclass(frozen=True)
class ClassAnswers:
    """Answers to choose from.

    Args:
        labels: all of them; an answer's number is its place.

    Example:
        >>> ClassAnswers(("no", "yes")).wanted([{"yes": 1.0}, {"no": 0.25, "yes": 0.75}])
        tensor([[0.0000, 1.0000],
                [0.2500, 0.7500]])
    """

    labels: tuple[str, ...]

    @property
    def told(self) -> str:
        """What answers are among, for messages."""
        return f"the run's {len(self.labels)}"

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each answer."""
        return {answer: number for number, answer in enumerate(self.labels)}

    def knows(self, answer: str) -> bool:
        """Return whether it is one of them."""
        return answer in self.numbers

    def wanted(self, found: Sequence[Mapping[str, float]]) -> Tensor:
        """Return how probable each answer should be, `(batch, answers)`."""
        shares = torch.zeros(len(found), len(self.labels))
        for row, one in enumerate(found):
            for answer, share in one.items():
                shares[row, self.numbers[answer]] = share
        return shares

    def texts(self, model: Any, *source: Any, looked: Any = None) -> list[str]:
        """Return the likeliest answer to each input of a batch; `looked` has its logits where they are known."""
        return [self.labels[number] for number in _logits(model, source, looked).argmax(-1).tolist()]

    def ranking(self, model: Any, *source: Any, count: int, looked: Any = None) -> Ranking:
        """Return all answers to one input, however many are wanted."""
        return Ranking(self.labels, probabilities(_logits(model, source, looked)[0]))

    def log_probs(self, model: Any, texts: Sequence[str], *source: Any) -> Tensor:
        """Return the log-probability of an answer to each input, `(batch,)`.

        In double precision, as the gradient of one near 0 is lost in rounding else.
        """
        found: Tensor = model(*source).double().log_softmax(-1)
        numbers = torch.tensor([self.numbers[text] for text in texts], device=found.device)
        return found.gather(1, numbers[:, None])[:, 0]

    def check(self, request: Request) -> None:
        """Refuse more answers than there are.

        Raises:
            ArgumentError: naming the option.
        """
        check_count(request, len(self.labels))


def _logits(model: Any, source: Sequence[Any], looked: Any) -> Tensor:
    found: Tensor = model(*source) if looked is None else looked.logits
    return found
