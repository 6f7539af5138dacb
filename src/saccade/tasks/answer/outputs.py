"""Answers as labels to choose from, or as texts written word by word."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.models.generative import Answers, GenerativeAnswerer
from saccade.tasks.batches import rectangle
from saccade.tasks.generate.beam import search
from saccade.tasks.generate.ensemble import Ensemble as WritingEnsemble
from saccade.tasks.generate.model import Hypotheses
from saccade.tasks.generate.writable import Rules, Writer
from saccade.tasks.labels.ensemble import Ensemble as LabelEnsemble
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.tasks.labels.request import Request, check_count
from saccade.tasks.saved import labels_from, whole_number
from saccade.tasks.text.special import BEGIN, END, UNKNOWN
from saccade.tasks.text.tokenizer import SpacedWords, from_json

__all__ = ["LabelAnswers", "WrittenAnswers"]

_LARGEST = 1000  # written answers to a question


@dataclass(frozen=True)
class LabelAnswers:
    """Answers to choose from.

    Args:
        labels: all answers. The number of an answer is its index.

    Example:
        >>> LabelAnswers(("no", "yes")).targets([{"yes": 1.0}, {"no": 0.25, "yes": 0.75}])
        tensor([[0.0000, 1.0000],
                [0.2500, 0.7500]])
    """

    labels: tuple[str, ...]

    ensemble: ClassVar[type] = LabelEnsemble

    @classmethod
    def fit(cls, counts: Counter[str], options: Any) -> Self:
        """Take the `answers` most frequent answers."""
        return cls(tuple(sorted(counts, key=lambda answer: (-counts[answer], answer))[: options.answers]))

    def to_json(self) -> dict[str, Any]:
        """Return the content for `restore`."""
        return {"labels": list(self.labels)}

    @classmethod
    def restore(cls, content: Mapping[str, Any], options: Any) -> Self:
        """Read the labels, or raise the error of damaged ones."""
        return cls(labels_from(content))

    def build(self, model: Any, encoder: nn.Module | None, words: int, options: Any) -> nn.Module:
        """Return a model of a class, with a logit for each label."""
        return model(encoder, words, len(self.labels), options)  # type: ignore[no-any-return]

    @property
    def described(self) -> str:
        """All answers, in messages."""
        return f"the {len(self.labels)} most frequent (--answers)"

    @property
    def shared(self) -> tuple[object, str]:
        """The part that members of an ensemble share, and its description."""
        return self.labels, f"{', '.join(self.labels):.80}"

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Number of each answer."""
        return {answer: number for number, answer in enumerate(self.labels)}

    def __contains__(self, answer: str) -> bool:
        return answer in self.numbers

    def targets(self, shares: Sequence[Mapping[str, float]]) -> Tensor:
        """Return the probability of each answer to each question, `(batch, answers)`."""
        target = torch.zeros(len(shares), len(self.labels))
        for row, answers in zip(target, shares, strict=True):
            for answer, share in answers.items():
                row[self.numbers[answer]] = share
        return target

    def best(self, model: Any, *source: Any, logits: Tensor | None = None) -> list[str]:
        """Return the most probable answer to each question."""
        logits = model(*source) if logits is None else logits
        return [self.labels[number] for number in logits.argmax(-1).tolist()]

    def ranking(self, model: Any, *source: Any, count: int, logits: Tensor | None = None) -> Ranking:
        """Return all answers to one question."""
        return Ranking(self.labels, probabilities((model(*source) if logits is None else logits)[0]))

    def log_probs(self, model: Any, answers: Sequence[str], *source: Any) -> Tensor:
        """Return the log-probability of an answer to each question, `(batch,)`.

        They are in double precision, or rounding would lose the gradient of a log-probability near 0.
        """
        scores: Tensor = model(*source).double().log_softmax(-1)
        numbers = torch.tensor([self.numbers[answer] for answer in answers], device=scores.device)
        return scores.gather(1, numbers[:, None])[:, 0]

    def check(self, request: Request) -> None:
        """Reject more answers than there are labels."""
        check_count(request, len(self.labels))


@dataclass(frozen=True)
class WrittenAnswers:
    """Answers written by beam search.

    Args:
        target: the words.
        longest: words of the longest answer in training, and of any output.
        beam_size: hypotheses of the search.

    Example:
        >>> written = WrittenAnswers(SpacedWords(["a", "lamp"]), 2, 1)
        >>> written.targets([{"a lamp": 0.5, "lamp": 0.5}]).ids
        tensor([[1, 4, 5, 2],
                [1, 5, 2, 0]])
    """

    target: SpacedWords
    longest: int
    beam_size: int = 5

    ensemble: ClassVar[type] = WritingEnsemble

    @classmethod
    def fit(cls, counts: Counter[str], options: Any) -> Self:
        """Learn the most frequent words of answers, and the length of the longest."""
        target = SpacedWords.learn(counts.elements(), options.vocabulary_size)
        return cls(target, max(map(len, map(target.split, counts))), options.beam_size)

    def to_json(self) -> dict[str, Any]:
        """Return the content for `restore`."""
        return {"target": self.target.to_json(), "longest_target": self.longest}

    @classmethod
    def restore(cls, content: Mapping[str, Any], options: Any) -> Self:
        """Read the words, or raise the error of damaged ones."""
        if not isinstance(target := from_json(content["target"]), SpacedWords):
            raise ValueError(f"target {content['target']!r:.60}")
        return cls(target, whole_number(content, "longest_target"), options.beam_size)

    def build(self, model: Any, encoder: nn.Module | None, words: int, options: Any) -> nn.Module:
        """Return a writer that begins with the output of a model of a class."""
        answerer = model(encoder, words, options.hidden_dim, options)
        return GenerativeAnswerer(answerer, len(self.target), options.hidden_dim, options.dropout)

    @property
    def described(self) -> str:
        """All answers, in messages."""
        return f"those of the {len(self.target.units)} most frequent words (--vocabulary-size)"

    @property
    def shared(self) -> tuple[object, str]:
        """The part that members of an ensemble share, and its description."""
        return (self.target.units, self.longest), f"others, written by {len(self.target.units)} words (--generate)"

    def __contains__(self, answer: str) -> bool:
        ids = self.target.encode(answer)
        return 0 < len(ids) <= self.longest and UNKNOWN not in ids

    def targets(self, shares: Sequence[Mapping[str, float]]) -> Answers:
        """Return the words of the answers, with the probability of each answer."""
        rows = [(row, answer, share) for row, answers in enumerate(shares) for answer, share in answers.items()]
        ids = self._ids([answer for _, answer, _ in rows]) if rows else torch.zeros(0, 2, dtype=torch.long)
        questions = torch.tensor([row for row, *_ in rows], dtype=torch.long)
        return Answers(ids, questions, torch.tensor([share for *_, share in rows]))

    def best(self, model: Any, *source: Any, logits: Tensor | None = None) -> list[str]:
        """Return the best answer to each question."""
        return [self.target.decode(ids[0]) for ids in self._search(model, source, 1).lists()]

    def ranking(self, model: Any, *source: Any, count: int, logits: Tensor | None = None) -> Ranking:
        """Return the best answers to one question, with the probability of each."""
        hypotheses = self._search(model, source, count)
        answers = tuple(self.target.decode(ids) for ids in hypotheses.lists()[0])
        return Ranking(answers, hypotheses.scores[0, : len(answers)].double().exp().cpu())

    def log_probs(self, model: Any, answers: Sequence[str], *source: Any) -> Tensor:
        """Return the log-probability of an answer to each question, `(batch,)`."""
        ids = self._ids(answers).to(next(model.parameters()).device)
        scores: Tensor = model(source, ids[:, :-1]).double().log_softmax(-1)
        return torch.where(ids[:, 1:] > 0, scores.gather(2, ids[:, 1:, None])[..., 0], 0).sum(1)

    def check(self, request: Request) -> None:
        """Reject more answers than a search may keep."""
        if request.nbest > _LARGEST:
            raise ArgumentError(f"--nbest: expected at most {_LARGEST} written answers, got {request.nbest}")

    def _ids(self, answers: Sequence[str]) -> Tensor:
        return rectangle([[BEGIN, *self.target.encode(answer), END] for answer in answers])

    def _search(self, model: Any, source: Any, count: int) -> Hypotheses:
        device = next(model.parameters()).device
        limits = torch.full((len(source[-1].lengths),), self.longest, device=device)
        writer, state = Writer(model, self._rules.to(device)), model.encode(source)
        shared: dict[str, Any] = {"begin": BEGIN, "end": END, "length_penalty": 0.0, "min_length": 1}
        return search(writer, writer.start(state, limits), limits, beam_size=max(count, self.beam_size), **shared)

    @cached_property
    def _rules(self) -> Rules:
        return Rules.of(self.target)
