"""Between lines and sequences: how what is asked is read step by step, and how what was said is written.

Of a built-in problem that follows from the problem. Of symbols it is learned from the training split, and saved.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from saccade.errors import ArgumentError
from saccade.models.memorizer import Sizes
from saccade.tasks.memorize.data import Corpus, Made, Stories
from saccade.tasks.memorize.data.babi import QUESTION, cut
from saccade.tasks.memorize.data.corpus import Item
from saccade.tasks.memorize.data.episode import Episode
from saccade.tasks.memorize.data.problem import Problem
from saccade.tasks.memorize.data.problems import PROBLEMS
from saccade.tasks.memorize.likeliest import choices
from saccade.tasks.saved import TOKENIZER, reading, whole_number

__all__ = ["Language", "Symbols", "Vectors", "learn", "restored"]

BLANK, UNKNOWN, _FIRST = 1, 2, 3  # ids of what is read; 0 is padding
_SILENCE = 0  # the symbol that ends what is said
_MOST = 20_000  # symbols of a line
_TRIED = 100  # likeliest answers that are looked at for each that is wanted, since several may read alike


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
        """Return what is read or said at each step of a line, "" for nothing; no labels of vectors, which are drawn."""

    def held(self, line: str) -> int:
        """Return how many vectors a line asks to be remembered; of symbols, of which it is not known, 0."""

    @property
    def most_held(self) -> int:
        """How many training asks to be remembered at the most."""

    def to_json(self) -> dict[str, Any]:
        """Return what is kept in a run."""

    @property
    def headline(self) -> str:
        """The measure that counts: of whole answers, or where these are of parts with nothing in common, of parts."""

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
        return _different((self.problem.answer(bits.numpy()) for bits in choices(logits, bits=True)), count)

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

    @property
    def headline(self) -> str:
        """Of bits that are foretold each counts."""
        return "exact_match" if self.problem.each else "accuracy"


@dataclass(frozen=True)
class Symbols:
    """Symbols that are read, and those that are said.

    A story asks at each question mark, and its next step is blank, at which one symbol is said. Of a pair all symbols
    are read, and then others said at blank steps, one after another, and an end.

    Args:
        inputs: symbols that are read, in the order of their ids.
        outputs: those that are said, in the order of theirs.
        story: whether questions are asked within what is read.
        longest: symbols of the longest answer of training; of pairs twice as many are said at the most.

    Example:
        >>> symbols = Symbols(("a", "b"), ("x", "y"), story=False, longest=1)
        >>> symbols.episode(Item("b a", "y")).inputs.tolist(), symbols.episode(Item("b a", "y")).targets.tolist()
        ([4, 3, 1, 1], [0, 0, 2, 0])
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    story: bool
    longest: int
    knows = False

    @classmethod
    def learn(cls, items: Iterable[Item], *, story: bool) -> "Symbols":
        """Know the symbols of some questions and answers, in their order by the alphabet."""
        read, said, longest = Counter[str](), Counter[str](), 1
        for item in items:
            answers = item.answer.split()
            read.update(item.text.split())
            said.update(answers)
            longest = max(longest, len(answers))
        return cls(tuple(sorted(read)), tuple(sorted(said)), story, longest)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Symbols":
        """Read what `to_json` wrote; what is wrong with it is a ValueError, KeyError or TypeError."""
        parts = [content[name] for name in ("inputs", "outputs")]
        if not all(isinstance(part, list) and all(isinstance(one, str) for one in part) for part in parts):
            raise ValueError("symbols that are no texts")
        if not isinstance(content["story"], bool):
            raise TypeError(f"story {content['story']!r:.60}")
        return cls(tuple(parts[0]), tuple(parts[1]), content["story"], whole_number(content, "longest"))

    def to_json(self) -> dict[str, Any]:
        """Return what is kept in a run."""
        return {"inputs": self.inputs, "outputs": self.outputs, "story": self.story, "longest": self.longest}

    @property
    def sizes(self) -> Sizes:
        """Of what is read and said; an end is said of pairs, and a story's answer is never it."""
        return Sizes(len(self.inputs) + _FIRST, len(self.outputs) + 1, symbols=True)

    def episode(self, item: Item) -> Episode:
        """Return the sequence of a question with its answer; a symbol that was not there in training is an error."""
        answers = self._answers(item)
        steps = self._steps(item.text.split(), len(answers))
        targets = np.zeros(len(steps), np.int64)
        asked = steps == BLANK
        targets[asked] = answers
        return Episode(steps, targets, asked)

    def read(self, line: str) -> Episode:
        """Return the sequence that asks a line; a story without a question mark has one behind it."""
        symbols = self.symbols(line)
        steps = self._steps(symbols, 2 * self.longest + 1)
        return Episode(steps, np.zeros(len(steps), np.int64), steps == BLANK)

    def said(self, logits: Tensor, count: int) -> list[str]:
        """Return the symbols that were said, those of a pair up to their end."""
        if not self.story:
            return _different(map(self._written, choices(logits, bits=False)), count)
        return _different((self._written(each + 1) for each in choices(logits[:, 1:], bits=False)), count)

    def _written(self, symbols: Tensor) -> str:
        found = symbols.tolist()
        end = found.index(_SILENCE) if _SILENCE in found else len(found)
        return " ".join(self.outputs[each - 1] for each in found[:end])

    def labels(self, line: str, said: str) -> list[str]:
        """Return what is read at each step, or said behind an arrow."""
        asked, symbols, answers = self.read(line).asked, iter(self.symbols(line)), iter(said.split())
        told = ((f"→ {next(answers, '')}" if blank else next(symbols)) for blank in asked)
        return [label if label != "→ " else "" for label in told]

    def held(self, line: str) -> int:
        """Return 0: what is to be remembered of symbols is not known."""
        return 0

    most_held = 0

    @property
    def headline(self) -> str:
        """Of a story each answer counts."""
        return "accuracy" if self.story else "exact_match"

    def symbols(self, line: str) -> list[str]:
        """Return the symbols of a line that is asked.

        Raises:
            ArgumentError: if there are none, or too many.
        """
        found = cut(line) if self.story else line.split()
        if self.story and found and QUESTION not in found:
            found.append(QUESTION)
        if not 1 <= len(found) <= _MOST:
            raise ArgumentError(f"expected 1 to {_MOST:,} symbols with spaces between, got {len(found):,}")
        return found

    def _steps(self, symbols: Sequence[str], answers: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Ids of what is read, with blanks where something is said."""
        ids, found = self._ids, list[int]()
        for symbol in symbols:
            found.append(ids.get(symbol, UNKNOWN))
            if self.story and symbol == QUESTION:
                found.append(BLANK)
        return np.array([*found, *([] if self.story else [BLANK] * answers)], np.int64)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.inputs, _FIRST)}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.outputs, 1)}

    def _answers(self, item: Item) -> list[int]:
        unknown = len(self.outputs) + 1  # never said: such an answer counts as missed
        found = [self._numbers.get(symbol, unknown) for symbol in item.answer.split()]
        return found if self.story else [*found, _SILENCE]


def _different(texts: Iterator[str], count: int) -> list[str]:
    """The first texts that differ: what is said behind an end makes no other answer."""
    found = dict[str, None]()
    for text in islice(texts, _TRIED * count):
        found[text] = None
        if len(found) == count:
            break
    return list(found)


def learn(corpus: Corpus) -> Language:
    """Return how questions of a corpus are read: symbols are learned from all of its training split."""
    if isinstance(corpus, Made):
        return Vectors(corpus.name, corpus.problem)
    items = (corpus.example("train", index) for index in range(corpus.size("train") or 0))
    return Symbols.learn(items, story=isinstance(corpus, Stories))


def restored(folder: Path) -> Language:
    """Return how questions of a run are read.

    Args:
        folder: of the run.

    Raises:
        ArgumentError: naming the file, if it does not say so.
    """
    with reading(folder / TOKENIZER, "how questions are read") as content:
        return Vectors.from_json(content) if "problem" in content else Symbols.from_json(content)
