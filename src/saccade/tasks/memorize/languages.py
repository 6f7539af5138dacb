"""Between lines and sequences: how what is asked is read step by step, and how what was said is written.

Of a built-in problem that follows from the problem. Of symbols it is learned from the training split, and saved.
"""

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
    """How questions are read and answers written."""

    @property
    def sizes(self) -> Sizes:
        """Of what is read and said."""

    def episode(self, item: Item) -> Episode:
        """Return the sequence of a question with its answer."""

    def read(self, line: str) -> Episode:
        """Return the sequence that asks a line; its targets count only where `knows`.

        Raises:
            ArgumentError: in one line that says what was expected.
        """

    def said(self, logits: Tensor, count: int) -> list[str]:
        """Return what was said at the steps that were asked, `(steps, targets)`, in a line each: the likeliest, as many
        as are wanted, or as there are.
        """

    def labels(self, line: str, said: str) -> list[str]:
        """Return what is read or said at each step of a line, as far as something is said; no labels of vectors, which
        are drawn.
        """

    def held(self, line: str) -> int:
        """Return how many vectors a line asks to be remembered; of symbols, of which it is not known, 0."""

    @property
    def most_held(self) -> int:
        """How many training asks to be remembered at the most."""

    def to_json(self) -> dict[str, Any]:
        """Return what is kept in a run."""

    @property
    def knows(self) -> bool:
        """Whether the right answer follows from the question."""


@dataclass(frozen=True)
class Vectors:
    """How a built-in problem is written.

    Args:
        name: of the problem.
        problem: the problem.
    """

    name: str
    problem: Problem
    knows = True

    @property
    def sizes(self) -> Sizes:
        """Of what is read and said."""
        return Sizes(*self.problem.sizes)

    def episode(self, item: Item) -> Episode:
        """Return the sequence of a question."""
        return self.read(item.text)

    def read(self, line: str) -> Episode:
        """Return the sequence that asks a line."""
        return self.problem.pose(self.problem.parse(line))

    def said(self, logits: Tensor, count: int) -> list[str]:
        """Return bits that were said as words."""
        return different((self.problem.answer(each.values.numpy()) for each in choices(logits, bits=True)), count)

    def labels(self, line: str, said: str) -> list[str]:
        """Return nothing: vectors are drawn."""
        return []

    def held(self, line: str) -> int:
        """Return how many vectors a line asks to be remembered."""
        return len(self.problem.parse(line).vectors) if self.problem.each else 0

    @property
    def most_held(self) -> int:
        """How many training asks to be remembered at the most."""
        return self.problem.each * self.problem.longest

    def to_json(self) -> dict[str, Any]:
        """Return what is kept in a run."""
        return {"problem": self.name, "longest": self.problem.longest}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Vectors":
        """Read what `to_json` wrote; what is wrong with it is a ValueError, KeyError or TypeError."""
        name = content["problem"]
        return cls(name, PROBLEMS[name](whole_number(content, "longest")))


def learn(corpus: Corpus, *, sentences: bool = False) -> Language:
    """Return how questions of a corpus are read: symbols are learned from all of its training split.

    Args:
        corpus: the questions.
        sentences: whether stories are read a sentence a step.

    Raises:
        ArgumentError: if there are no stories to be read so, or more is asked for than can be measured.
    """
    if sentences and not isinstance(corpus, Stories):
        raise ArgumentError("--sentences: expected only with stories (bAbI's files), got other data; leave it out")
    if isinstance(corpus, Made):
        corpus.problem.check()
        return Vectors(corpus.name, corpus.problem)
    items = (corpus.example("train", index) for index in range(corpus.size("train") or 0))
    return Symbols.learn(items, story=isinstance(corpus, Stories), sentences=sentences)


def restored(folder: Path) -> Language:
    """Return how questions of a run are read.

    Args:
        folder: of the run.

    Raises:
        ArgumentError: naming the file, if it does not say so.
    """
    with reading(folder / TOKENIZER, "how questions are read") as content:
        return Vectors.from_json(content) if "problem" in content else Symbols.from_json(content)
