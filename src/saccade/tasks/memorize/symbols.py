"""Symbols: stories with questions within, and pairs of what is read and what is said."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from torch import Tensor

from saccade.data.cleaning import composed
from saccade.data.layouts.babi import QUESTION, cut
from saccade.errors import ArgumentError
from saccade.models.memorizer import BLANK, Sizes
from saccade.tasks.memorize.data.corpus import Item
from saccade.tasks.memorize.data.episode import Episode
from saccade.tasks.memorize.likeliest import choices, ended
from saccade.tasks.saved import whole_number

__all__ = ["Symbols"]

UNKNOWN, _FIRST = 2, 3  # ids of what is read, beside that of a blank; 0 is padding
_SILENCE = 0  # the symbol that ends what is said
_MOST = 20_000  # symbols of a line
_ENDS = (".", "?", "!")


@dataclass(frozen=True)
class Symbols:
    """Symbols that are read, and those that are said.

    A story asks at each question mark, and its next step is blank, at which one symbol is said; it is read word by
    word, or a sentence a step. Of a pair all symbols are read, and then others said at blank steps, one after another,
    and an end.

    Args:
        inputs: symbols that are read, in the order of their ids.
        outputs: those that are said, in the order of theirs.
        story: whether questions are asked within what is read.
        longest: symbols of the longest answer of training; of pairs twice as many are said at the most.
        width: words of the longest sentence of training where a story is read sentence by sentence, else 0.

    Example:
        >>> symbols = Symbols(("a", "b"), ("x", "y"), story=False, longest=1)
        >>> symbols.episode(Item("b a", "y")).inputs.tolist(), symbols.episode(Item("b a", "y")).targets.tolist()
        ([4, 3, 1, 1], [0, 0, 2, 0])
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    story: bool
    longest: int
    width: int = 0
    knows = False

    @classmethod
    def learn(cls, items: Iterable[Item], *, story: bool, sentences: bool = False) -> "Symbols":
        """Know the symbols of some questions and answers, in their order by the alphabet."""
        read, said, longest, width = set[str](), set[str](), 1, 0
        for item in items:
            symbols, answers = item.text.split(), item.answer.split()
            read.update(symbols)
            said.update(answers)
            longest = max(longest, len(answers))
            width = max(width, *map(len, _sentences(symbols))) if sentences else 0
        return cls(tuple(sorted(read)), tuple(sorted(said)), story, longest, width)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Symbols":
        """Read what `to_json` wrote; what is wrong with it is a ValueError, KeyError or TypeError."""
        parts = [content[name] for name in ("inputs", "outputs")]
        if not all(isinstance(part, list) and all(isinstance(one, str) for one in part) for part in parts):
            raise ValueError("symbols that are no texts")
        if not isinstance(content["story"], bool):
            raise TypeError(f"story {content['story']!r:.60}")
        width = whole_number(content, "width") if content["width"] else 0
        return cls(tuple(parts[0]), tuple(parts[1]), content["story"], whole_number(content, "longest"), width)

    def to_json(self) -> dict[str, Any]:
        """Return what is kept in a run."""
        return asdict(self)

    @property
    def sizes(self) -> Sizes:
        """Of what is read and said; an end is said of pairs, and a story's answer is never it."""
        return Sizes(len(self.inputs) + _FIRST, len(self.outputs) + 1, symbols=True)

    def episode(self, item: Item) -> Episode:
        """Return the sequence of a question with its answer; a symbol that was not there in training is an error."""
        answers = self._answers(item)
        found = self._posed(item.text.split(), len(answers))
        found.targets[found.asked] = answers
        return found

    def read(self, line: str) -> Episode:
        """Return the sequence that asks a line; a story without a question mark has one behind it."""
        return self._posed(self.symbols(line), 2 * self.longest + 1)

    def said(self, logits: Tensor, count: int) -> list[str]:
        """Return the symbols that were said, those of a pair up to their end."""
        if self.story:  # which is never silent
            found = choices(logits[:, 1:], bits=False)
            return [self._written(each.values + 1) for each in islice(found, count)]
        return [self._written(each.values) for each in islice(ended(logits, _SILENCE), count)]

    def _written(self, symbols: Tensor) -> str:
        return " ".join(self.outputs[each - 1] for each in symbols.tolist())

    def labels(self, line: str, said: str) -> list[str]:
        """Return what is read at each step, or said behind an arrow; of a pair up to the end, which has no name."""
        answers, told = iter(said.split()), list[str]()
        for step in self._steps(self.symbols(line), min(len(said.split()), 2 * self.longest) + 1):
            told.append(" ".join(step) if step else f"→ {next(answers, '')}".strip())
        return told

    def held(self, line: str) -> int:
        """Return 0: what is to be remembered of symbols is not known."""
        return 0

    most_held = 0

    def symbols(self, line: str) -> list[str]:
        """Return the symbols of a line that is asked.

        Raises:
            ArgumentError: if there are none, or too many.
        """
        found = cut(line) if self.story else composed(line).split()
        if self.story and found and QUESTION not in found:
            found.append(QUESTION)
        if not 1 <= len(found) <= _MOST:
            raise ArgumentError(f"expected 1 to {_MOST:,} symbols with spaces between, got {len(found):,}")
        return found

    def _steps(self, symbols: Sequence[str], answers: int) -> list[list[str]]:
        """What is read at each step: a symbol, or those of a sentence; nothing where something is said."""
        found = list[list[str]]()
        for step in _sentences(symbols) if self.width else ([symbol] for symbol in symbols):
            width = self.width or 1
            found += [step[first : first + width] for first in range(0, len(step), width)]
            if self.story and step[-1] == QUESTION:
                found.append([])
        return found if self.story else [*found, *([] for _ in range(answers))]

    def _posed(self, symbols: Sequence[str], answers: int) -> Episode:
        """The sequence that asks, without its answers."""
        steps = self._steps(symbols, answers)
        inputs = np.zeros((len(steps), self.width or 1), np.int64)
        for row, step in zip(inputs, steps, strict=True):
            row[: max(1, len(step))] = [self._ids.get(symbol, UNKNOWN) for symbol in step] or BLANK
        asked = np.array([not step for step in steps])
        return Episode(inputs if self.width else inputs[:, 0], np.zeros(len(steps), np.int64), asked)

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


def _sentences(symbols: Sequence[str]) -> list[list[str]]:
    """Sentences with their marks."""
    found, open_one = list[list[str]](), False
    for symbol in symbols:
        if open_one:
            found[-1].append(symbol)
        else:
            found.append([symbol])
        open_one = symbol not in _ENDS
    return found
