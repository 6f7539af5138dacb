"""How an answer is given: as one of the most frequent answers, or written word by word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.models.answerer import Answerer, Looked
from saccade.models.generative import Answers, GenerativeAnswerer
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.answer.ensemble import Answerers, Writers
from saccade.tasks.answer.gradients import Score
from saccade.tasks.batches import rectangle
from saccade.tasks.generate.beam import search
from saccade.tasks.generate.model import Hypotheses
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.tasks.labels.request import Request, check_count
from saccade.tasks.text.special import BEGIN, END, UNKNOWN
from saccade.tasks.text.tokenizer import SpacedWords

__all__ = ["Classes", "Output", "Written"]

_CHANNELS = 3  # of all images
_MOST = 1000  # answers that are written to one question


class Output(Protocol):
    """What is known of the answers of a run, and how a model gives one."""

    @property
    def told(self) -> str:
        """What answers are among, for messages."""

    def knows(self, answer: str) -> bool:
        """Return whether an answer can be given."""

    def wanted(self, found: Sequence[Mapping[str, float]]) -> Tensor | Answers:
        """Return how probable each answer to some questions should be, as models take it."""

    def model(self, kind: Any, words: int, options: Any, encoder: nn.Module | None) -> nn.Module:
        """Make a model of a kind that reads so many words."""

    def texts(self, model: Any, source: Visual, question: Padded, looked: Looked | None = None) -> list[str]:
        """Return the answer to each question of a batch, of which it may be known already what was looked at."""

    def ranking(
        self, model: Any, source: Visual, question: Padded, count: int, looked: Looked | None = None
    ) -> Ranking:
        """Return the answers to one question: `count` of them or more, where there are so many."""

    def score(self, model: Any, texts: Sequence[str]) -> Score:
        """Return what computes the log-probability of an answer to each question of a batch.

        In double precision, as the gradient of one near 0 is lost in rounding else.
        """

    def check(self, request: Request) -> None:
        """Refuse more answers than there can be.

        Raises:
            ArgumentError: naming the option.
        """

    def join(self, models: Sequence[nn.Module]) -> nn.Module:
        """Return several models as one."""


@dataclass(frozen=True)
class Classes:
    """Answers that are classes.

    Args:
        labels: all of them.

    Example:
        >>> Classes(("no", "yes")).wanted([{"yes": 1.0}, {"no": 0.25, "yes": 0.75}])
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
        """Return shares `(batch, answers)`."""
        shares = torch.zeros(len(found), len(self.labels))
        for row, one in enumerate(found):
            for answer, share in one.items():
                shares[row, self.numbers[answer]] = share
        return shares

    def model(self, kind: Any, words: int, options: Any, encoder: nn.Module | None) -> nn.Module:
        """Make a model with as many classes."""
        model: nn.Module = kind(_CHANNELS, words, len(self.labels), options, encoder=encoder)
        return model

    def texts(self, model: Any, source: Visual, question: Padded, looked: Looked | None = None) -> list[str]:
        """Return the likeliest answer to each question."""
        logits = model(source, question) if looked is None else looked.logits
        return [self.labels[number] for number in logits.argmax(-1).tolist()]

    def ranking(
        self, model: Any, source: Visual, question: Padded, count: int, looked: Looked | None = None
    ) -> Ranking:
        """Return all answers to one question."""
        logits = model(source, question) if looked is None else looked.logits
        return Ranking(self.labels, probabilities(logits[0]))

    def score(self, model: Any, texts: Sequence[str]) -> Score:
        """Return what computes the log-probabilities of these answers."""

        def log_probs(visual: Visual, question: Padded) -> Tensor:
            found: Tensor = model(visual, question).double().log_softmax(-1)
            numbers = torch.tensor([self.numbers[text] for text in texts], device=found.device)
            return found.gather(1, numbers[:, None])[:, 0]

        return log_probs

    def check(self, request: Request) -> None:
        """Refuse more answers than there are."""
        check_count(request, len(self.labels))

    def join(self, models: Sequence[nn.Module]) -> nn.Module:
        """Return several models as one."""
        return Answerers(models)


@dataclass(frozen=True)
class Written:
    """Answers that are written word by word, found by beam search.

    Args:
        target: the words.
        longest: words of the longest answer; none is written that has more.
        beam_size: answers that are kept at once.

    Example:
        >>> written = Written(SpacedWords(["a", "lamp"]), 2, 1)
        >>> written.wanted([{"a lamp": 0.5, "lamp": 0.5}]).ids
        tensor([[1, 4, 5, 2],
                [1, 5, 2, 0]])
    """

    target: SpacedWords
    longest: int
    beam_size: int = 5

    @property
    def told(self) -> str:
        """What answers are made of, for messages."""
        return f"those that the run's {len(self.target.units)} words make"

    def knows(self, answer: str) -> bool:
        """Return whether it can be written."""
        ids = self.target.encode(answer)
        return 0 < len(ids) <= self.longest and UNKNOWN not in ids

    def wanted(self, found: Sequence[Mapping[str, float]]) -> Answers:
        """Return the answers with their words and shares."""
        each = [(row, answer, share) for row, one in enumerate(found) for answer, share in one.items()]
        ids = self._ids([answer for _, answer, _ in each]) if each else torch.zeros(0, 2, dtype=torch.long)
        rows = torch.tensor([row for row, *_ in each], dtype=torch.long)
        return Answers(ids, rows, torch.tensor([share for *_, share in each]))

    def model(self, kind: Any, words: int, options: Any, encoder: nn.Module | None) -> nn.Module:
        """Make a model that writes."""
        answerer: Answerer = kind(_CHANNELS, words, options.hidden_dim, options, encoder=encoder)
        return GenerativeAnswerer(answerer, len(self.target), options.hidden_dim, options.dropout)

    def texts(self, model: Any, source: Visual, question: Padded, looked: Looked | None = None) -> list[str]:
        """Return the best answer to each question."""
        return [self.target.decode(found[0]) for found in self._found(model, source, question, 1).lists()]

    def ranking(
        self, model: Any, source: Visual, question: Padded, count: int, looked: Looked | None = None
    ) -> Ranking:
        """Return the best answers to one question, with the probability of all of their words and their end."""
        found = self._found(model, source, question, count)
        texts = tuple(self.target.decode(ids) for ids in found.lists()[0])
        return Ranking(texts, found.scores[0, : len(texts)].double().exp().cpu())

    def score(self, model: Any, texts: Sequence[str]) -> Score:
        """Return what computes the log-probabilities of these answers."""

        def log_probs(visual: Visual, question: Padded) -> Tensor:
            own = self._ids(texts).to(question.values.device)
            found: Tensor = model((visual, question), own[:, :-1]).double().log_softmax(-1)
            each = found.gather(2, own[:, 1:, None])[..., 0]
            return torch.where(own[:, 1:] > 0, each, 0).sum(1)

        return log_probs

    def check(self, request: Request) -> None:
        """Refuse more answers than fit."""
        if request.nbest > _MOST:
            raise ArgumentError(f"--nbest: expected at most {_MOST} written answers, got {request.nbest}")

    def join(self, models: Sequence[nn.Module]) -> nn.Module:
        """Return several models as one."""
        return Writers(models)

    def _ids(self, texts: Sequence[str]) -> Tensor:
        """The words of some answers, each with its begin and its end."""
        return rectangle([[BEGIN, *self.target.encode(text), END] for text in texts])

    def _found(self, model: Any, source: Visual, question: Padded, count: int) -> Hypotheses:
        limits = torch.full((len(question.lengths),), self.longest, device=question.lengths.device)
        shared: dict[str, Any] = {"begin": BEGIN, "end": END, "length_penalty": 0.0, "min_length": 1}
        state = model.encode((source, question))
        return search(model, state, limits, beam_size=max(count, self.beam_size), **shared)

