"""Languages of symbols: stories with questions, and pairs of input and output."""

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
from saccade.tasks.memorize.episode import Episode, Item
from saccade.tasks.memorize.likeliest import likeliest
from saccade.tasks.saved import whole_number

__all__ = ["Symbols"]

UNKNOWN, _FIRST = 2, 3  # ids of inputs; 0 is padding, 1 is BLANK
_SILENCE = 0  # the output that ends an answer
_LARGEST = 20_000  # symbols of a line
_ENDS = (".", "?", "!")


@dataclass(frozen=True)
class Symbols:
    """Symbols of inputs and outputs.

    A story is read a word or a sentence per step. Behind each question mark follows a blank step, at which the model
    answers one symbol. A pair is read as a whole. Its output follows at blank steps, and then an end.

    Args:
        inputs: input symbols in the order of their ids.
        outputs: output symbols in the order of their ids.
        story: whether questions are within the input.
        longest: symbols of the longest answer in training. Answers of pairs may be twice as long.
        width: words of the longest sentence in training if a step is a sentence, else 0.

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

    @classmethod
    def learn(cls, items: Iterable[Item], *, story: bool, sentences: bool = False) -> "Symbols":
        """Return the symbols of questions and answers in alphabetical order."""
        inputs, outputs, longest, width = set[str](), set[str](), 1, 0
        for item in items:
            symbols, answers = item.text.split(), item.answer.split()
            inputs.update(symbols)
            outputs.update(answers)
            longest = max(longest, len(answers))
            width = max(width, *map(len, _sentences(symbols))) if sentences else 0
        return cls(tuple(sorted(inputs)), tuple(sorted(outputs)), story, longest, width)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Symbols":
        """Read the content of `to_json`, or raise a ValueError, KeyError or TypeError."""
        parts = [content[name] for name in ("inputs", "outputs")]
        if not all(isinstance(part, list) and all(isinstance(symbol, str) for symbol in part) for part in parts):
            raise ValueError("symbols that are no texts")
        if not isinstance(content["story"], bool):
            raise TypeError(f"story {content['story']!r:.60}")
        width = whole_number(content, "width") if content["width"] else 0
        return cls(tuple(parts[0]), tuple(parts[1]), content["story"], whole_number(content, "longest"), width)

    def to_json(self) -> dict[str, Any]:
        """Return the content of tokenizer.json."""
        return asdict(self)

    @property
    def sizes(self) -> Sizes:
        """Sizes of a model. The outputs of a pair include the end."""
        return Sizes(len(self.inputs) + _FIRST, len(self.outputs) + 1, symbols=True)

    def episode(self, item: Item) -> Episode:
        """Return the sequence of a question and its answer.

        Answer symbols outside the training data have no logit.
        """
        unknown = len(self.outputs) + 1
        answers = [self._numbers.get(symbol, unknown) for symbol in item.answer.split()]
        answers += [] if self.story else [_SILENCE]
        episode = self._posed(item.text.split(), len(answers))
        episode.targets[episode.asked] = answers
        return episode

    def read(self, line: str) -> Episode:
        """Return the sequence of a line. A story without a question mark gets one."""
        return self._posed(self._symbols(line), 2 * self.longest + 1)

    def said(self, logits: Tensor, count: int) -> list[str]:
        """Return the most probable answers. Answers of pairs stop at their end."""
        if self.story:  # each question has an answer
            numbers = [values + 1 for _, values in islice(likeliest(logits[:, 1:]), count)]
        else:
            numbers = [values for _, values in islice(likeliest(logits, end=_SILENCE), count)]
        return [" ".join(self.outputs[number - 1] for number in answer.tolist()) for answer in numbers]

    def labels(self, line: str, said: str) -> list[str]:
        """Return the input of each step, or its answer behind an arrow.

        The end of a pair is an arrow alone.
        """
        answers = said.split()
        steps, following = self._steps(self._symbols(line), min(len(answers), 2 * self.longest) + 1), iter(answers)
        return [" ".join(step) if step else f"→ {next(following, '')}".strip() for step in steps]

    def held(self, line: str) -> int:
        """Return 0, because the vectors to remember are unknown."""
        return 0

    most_held = 0

    def _symbols(self, line: str) -> list[str]:
        """The symbols of a question, or an `ArgumentError` if there are none or too many."""
        symbols = cut(line) if self.story else composed(line).split()
        if self.story and symbols and QUESTION not in symbols:
            symbols.append(QUESTION)
        if not 1 <= len(symbols) <= _LARGEST:
            raise ArgumentError(f"expected 1 to {_LARGEST:,} symbols with spaces between, got {len(symbols):,}")
        return symbols

    def _steps(self, symbols: Sequence[str], answers: int) -> list[list[str]]:
        """Symbols of each step, [] at steps that answer."""
        steps, width = list[list[str]](), self.width or 1
        for sentence in _sentences(symbols) if self.width else ([symbol] for symbol in symbols):
            steps += [sentence[first : first + width] for first in range(0, len(sentence), width)]
            if self.story and sentence[-1] == QUESTION:
                steps.append([])
        return steps if self.story else [*steps, *([] for _ in range(answers))]

    def _posed(self, symbols: Sequence[str], answers: int) -> Episode:
        """The sequence of a question without targets."""
        steps = self._steps(symbols, answers)
        inputs = np.zeros((len(steps), self.width or 1), np.int64)
        for row, step in zip(inputs, steps, strict=True):
            row[: max(1, len(step))] = [self._ids.get(symbol, UNKNOWN) for symbol in step] or BLANK
        answering = np.array([not step for step in steps])
        return Episode(inputs if self.width else inputs[:, 0], np.zeros(len(steps), np.int64), answering)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.inputs, _FIRST)}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.outputs, 1)}


def _sentences(symbols: Sequence[str]) -> list[list[str]]:
    """Sentences with their marks."""
    sentences, ends = list[list[str]](), True
    for symbol in symbols:
        if ends:
            sentences.append([])
        sentences[-1].append(symbol)
        ends = symbol in _ENDS
    return sentences
