"""Answers that are written word by word: how they are learned and kept, how a model says them, how probable one is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.models.generative import Answers, GenerativeAnswerer
from saccade.tasks.batches import rectangle
from saccade.tasks.generate.beam import search
from saccade.tasks.generate.ensemble import Ensemble
from saccade.tasks.generate.model import Hypotheses
from saccade.tasks.labels.ranking import Ranking
from saccade.tasks.labels.request import Request
from saccade.tasks.saved import whole_number
from saccade.tasks.text.special import BEGIN, END, UNKNOWN
from saccade.tasks.text.tokenizer import SpacedWords, from_json

__all__ = ["WrittenAnswers"]

_MOST = 1000  # answers that are written to one input


@dataclass(frozen=True)
class WrittenAnswers:
    """Answers that are written, found by beam search; the last part of an input is a `saccade.models.padded.Padded`.

    Args:
        target: the words.
        longest: words of the longest answer; none is written that has more.
        beam_size: answers that are kept at once.

    Example:
        >>> written = WrittenAnswers(SpacedWords(["a", "lamp"]), 2, 1)
        >>> written.wanted([{"a lamp": 0.5, "lamp": 0.5}]).ids
        tensor([[1, 4, 5, 2],
                [1, 5, 2, 0]])
    """

    target: SpacedWords
    longest: int
    beam_size: int = 5

    ensemble: ClassVar[type] = Ensemble
    """What several models that write them are."""

    @classmethod
    def learn(cls, answers: Iterable[str], size: int) -> Self:
        """Learn the words of answers, `size` of them at the most with special ones, and how long the longest is.

        >>> learned = WrittenAnswers.learn(["a red lamp", "a lamp"], 6)
        >>> learned.target.units, learned.longest
        (('a', 'lamp'), 3)
        """
        known = list(answers)
        target = SpacedWords.learn(known, size)
        return cls(target, max(map(len, map(target.split, known))))

    def to_json(self) -> dict[str, Any]:
        """Return what `restore` reads."""
        return {"target": self.target.to_json(), "longest_target": self.longest}

    @classmethod
    def restore(cls, content: Mapping[str, Any]) -> Self:
        """Read them back.

        Raises:
            KeyError, TypeError, ValueError: if they are not whole.
        """
        if not isinstance(target := from_json(content["target"]), SpacedWords):
            raise ValueError(f"target {content['target']!r:.60}")
        return cls(target, whole_number(content, "longest_target"))

    def searching(self, beam_size: int) -> Self:
        """Return them searched for with so many kept at once."""
        return replace(self, beam_size=beam_size)

    def size(self, dim: int) -> int:
        """Return how many numbers a model has to make of an input: features, for what writes to begin with."""
        return dim

    def model(self, answerer: Any, options: Any) -> nn.Module:
        """Return a model that writes them, made of one that makes these numbers."""
        return GenerativeAnswerer(answerer, len(self.target), options.hidden_dim, options.dropout)

    @property
    def among(self) -> str:
        """What they are made of, for messages."""
        return f"those of the {len(self.target.units)} most frequent words (--vocabulary-size)"

    @property
    def alike(self) -> tuple[object, str]:
        """What has to be the same of several models, and what it is in words."""
        return (self.target.units, self.longest), f"others, written by {len(self.target.units)} words (--generate)"

    @property
    def told(self) -> str:
        """What answers are made of, for messages."""
        return f"those that the run's {len(self.target.units)} words make"

    def knows(self, answer: str) -> bool:
        """Return whether it can be written."""
        ids = self.target.encode(answer)
        return 0 < len(ids) <= self.longest and UNKNOWN not in ids

    def wanted(self, found: Sequence[Mapping[str, float]]) -> Answers:
        """Return the answers with their words, and how probable each should be."""
        each = [(row, answer, share) for row, one in enumerate(found) for answer, share in one.items()]
        ids = self._ids([answer for _, answer, _ in each]) if each else torch.zeros(0, 2, dtype=torch.long)
        rows = torch.tensor([row for row, *_ in each], dtype=torch.long)
        return Answers(ids, rows, torch.tensor([share for *_, share in each]))

    def texts(self, model: Any, *source: Any, looked: Any = None) -> list[str]:
        """Return the best answer to each input of a batch."""
        return [self.target.decode(found[0]) for found in self._found(model, source, 1).lists()]

    def ranking(self, model: Any, *source: Any, count: int, looked: Any = None) -> Ranking:
        """Return the best answers to one input, with the probability of all of their words and their end."""
        found = self._found(model, source, count)
        texts = tuple(self.target.decode(ids) for ids in found.lists()[0])
        return Ranking(texts, found.scores[0, : len(texts)].double().exp().cpu())

    def log_probs(self, model: Any, texts: Sequence[str], *source: Any) -> Tensor:
        """Return the log-probability of an answer to each input, `(batch,)`.

        In double precision, as the gradient of one near 0 is lost in rounding else.
        """
        own = self._ids(texts).to(next(model.parameters()).device)
        found: Tensor = model(source, own[:, :-1]).double().log_softmax(-1)
        each = found.gather(2, own[:, 1:, None])[..., 0]
        return torch.where(own[:, 1:] > 0, each, 0).sum(1)

    def check(self, request: Request) -> None:
        """Refuse more answers than fit.

        Raises:
            ArgumentError: naming the option.
        """
        if request.nbest > _MOST:
            raise ArgumentError(f"--nbest: expected at most {_MOST} written answers, got {request.nbest}")

    def _ids(self, texts: Sequence[str]) -> Tensor:
        """The words of some answers, each with its begin and its end."""
        return rectangle([[BEGIN, *self.target.encode(text), END] for text in texts])

    def _found(self, model: Any, source: Any, count: int) -> Hypotheses:
        state, device = model.encode(source), next(model.parameters()).device
        limits = torch.full((len(source[-1].lengths),), self.longest, device=device)
        shared: dict[str, Any] = {"begin": BEGIN, "end": END, "length_penalty": 0.0, "min_length": 1}
        return search(model, state, limits, beam_size=max(count, self.beam_size), **shared)
