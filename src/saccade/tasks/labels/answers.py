"""Answers that are classes: how they are learned and kept, how a model says them, and how probable one is."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from saccade.tasks.labels.ensemble import Ensemble
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.tasks.labels.request import Request, check_count
from saccade.tasks.saved import labels_from

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

    ensemble: ClassVar[type] = Ensemble
    """What several models that say them are."""

    @classmethod
    def learn(cls, counts: Counter[str], most: int) -> Self:
        """Take the most frequent answers, those first that are more frequent.

        >>> ClassAnswers.learn(Counter(["no", "yes", "yes", "2", "2"]), 2).labels
        ('2', 'yes')
        """
        return cls(tuple(sorted(counts, key=lambda answer: (-counts[answer], answer))[:most]))

    def to_json(self) -> dict[str, Any]:
        """Return what `restore` reads."""
        return {"labels": list(self.labels)}

    @classmethod
    def restore(cls, content: Mapping[str, Any]) -> Self:
        """Read them back.

        Raises:
            KeyError, ValueError: if they are not whole.
        """
        return cls(labels_from(content))

    def searching(self, beam_size: int) -> Self:
        """Return them as they are: nothing is searched for."""
        return self

    def size(self, dim: int) -> int:
        """Return how many numbers a model has to make of an input: a logit each, whatever its features are."""
        return len(self.labels)

    def model(self, answerer: nn.Module, options: Any) -> nn.Module:
        """Return a model that says them, made of one that makes these numbers: itself."""
        return answerer

    @property
    def among(self) -> str:
        """What they were taken from, for messages."""
        return f"the {len(self.labels)} most frequent (--answers)"

    @property
    def alike(self) -> tuple[object, str]:
        """What has to be the same of several models, and what it is in words."""
        return self.labels, f"{', '.join(self.labels):.80}"

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
