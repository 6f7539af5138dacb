"""Questions as sequences, and answers as text: of built-in problems, or of symbols of the training split."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from saccade.errors import ArgumentError
from saccade.models.memorizer import Sizes
from saccade.tasks.memorize.data import Corpus, Made, Stories
from saccade.tasks.memorize.data.corpus import Item
from saccade.tasks.memorize.data.episode import Episode
from saccade.tasks.memorize.data.problem import Problem
from saccade.tasks.memorize.data.problems import PROBLEMS
from saccade.tasks.memorize.likeliest import choices, different
from saccade.tasks.memorize.symbols import Symbols
from saccade.tasks.saved import TOKENIZER, reading, whole_number

__all__ = ["Language", "Vectors", "learn", "restored"]


class Language(Protocol):
    """Conversion of questions to sequences and of logits to answers."""

    @property
    def sizes(self) -> Sizes:
        """Sizes of a model."""

    def episode(self, item: Item) -> Episode:
        """Return the sequence of a question with its answer."""

    def read(self, line: str) -> Episode:
        """Return the sequence of a question, with targets if `knows`, or raise an `ArgumentError`."""

    def said(self, logits: Tensor, count: int) -> list[str]:
        """Return up to `count` answers, the most probable first, from logits `(asked, targets)`."""

    def labels(self, line: str, said: str) -> list[str]:
        """Return the input or the answer at each step up to the end of the answer, [] for vectors."""

    def held(self, line: str) -> int:
        """Return the number of vectors to remember, 0 for symbols."""

    @property
    def most_held(self) -> int:
        """Largest number of vectors to remember in training."""

    def to_json(self) -> dict[str, Any]:
        """Return the content of tokenizer.json."""

    @property
    def knows(self) -> bool:
        """Whether the right answer follows from the question."""


@dataclass(frozen=True)
class Vectors:
    """Language of a built-in problem."""

    name: str
    problem: Problem
    knows = True

    @property
    def sizes(self) -> Sizes:
        """Sizes of a model."""
        return Sizes(*self.problem.sizes)

    def episode(self, item: Item) -> Episode:
        """Return the sequence of a question."""
        return self.read(item.text)

    def read(self, line: str) -> Episode:
        """Return the sequence of a question with its answer."""
        return self.problem.pose(self.problem.parse(line))

    def said(self, logits: Tensor, count: int) -> list[str]:
        """Return the most probable bits as text."""
        return different((self.problem.answer(choice.values.numpy()) for choice in choices(logits, bits=True)), count)

    def labels(self, line: str, said: str) -> list[str]:
        """Return [], because vectors are drawn."""
        return []

    def held(self, line: str) -> int:
        """Return the number of vectors to remember."""
        return len(self.problem.parse(line).vectors) if self.problem.each else 0

    @property
    def most_held(self) -> int:
        """Largest number of vectors to remember in training."""
        return self.problem.each * self.problem.longest

    def to_json(self) -> dict[str, Any]:
        """Return the content of tokenizer.json."""
        return {"problem": self.name, "longest": self.problem.longest}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Vectors":
        """Read the content of `to_json`, or raise a ValueError, KeyError or TypeError."""
        name = content["problem"]
        return cls(name, PROBLEMS[name](whole_number(content, "longest")))


def learn(corpus: Corpus, *, sentences: bool = False) -> Language:
    """Return the language of a corpus, with the symbols of its training split.

    Args:
        corpus: the questions.
        sentences: whether stories are read a sentence per step.

    Raises:
        ArgumentError: if the corpus has no stories, or its problem is too large.
    """
    if sentences and not isinstance(corpus, Stories):
        raise ArgumentError("--sentences: expected only with stories (bAbI's files), got other data; leave it out")
    if isinstance(corpus, Made):
        corpus.problem.check()
        return Vectors(corpus.name, corpus.problem)
    items = (corpus.example("train", index) for index in range(corpus.size("train") or 0))
    return Symbols.learn(items, story=isinstance(corpus, Stories), sentences=sentences)


def restored(folder: Path) -> Language:
    """Read tokenizer.json, or raise an `ArgumentError` if it is missing or damaged."""
    with reading(folder / TOKENIZER, "how questions are read") as content:
        return Vectors.from_json(content) if "problem" in content else Symbols.from_json(content)
