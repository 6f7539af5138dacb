"""A problem of memory that is made by rule: what is drawn, how it is written in a line, what is read, what is said."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.data.dataset import counted
from saccade.errors import ArgumentError
from saccade.tasks.memorize.data.episode import Episode

__all__ = ["Bits", "Problem", "Question", "Size", "bits_of", "read_bits", "written_bits"]

Bits = NDArray[np.float32]
Size = tuple[int, ...]
"""How much is asked: vectors, items or bits, and how often."""
_MOST = 10_000  # vectors that are read of a line: each is a step
_SHOWN = 40  # characters of a wrong word that a message shows


class Question(NamedTuple):
    """What is asked, from which the right answer follows.

    Args:
        vectors: of bits, `(n, width)`.
        numbers: what else is said of them: how often they are to be copied, which is asked for, their priorities.
    """

    vectors: Bits
    numbers: tuple[float, ...] = ()


class Problem(ABC):
    """How questions of one kind are drawn, written and posed.

    Args:
        longest: how much of it training asks for at the most: vectors, items or bits.
    """

    about: ClassVar[str]
    usual: ClassVar[int]
    """The longest of the paper."""
    most: ClassVar[int]
    """The longest that a new run can ask for: what is measured beside it is longer, and is read as a line."""
    width: ClassVar[int]
    """Bits of a vector that is asked about."""
    channels: ClassVar[int]
    """What else is read at a step beside the bits: marks and numbers."""
    each: ClassVar[int] = 1
    """Vectors that are to be remembered of each that is asked for by `longest`; 0 where none is."""
    ending: ClassVar[bool] = False
    """Whether the model says by one more bit where its answer ends."""
    floor: ClassVar[int] = 1
    """The least that can be asked for."""

    def __init__(self, longest: int | None = None) -> None:
        self.longest = self.usual if longest is None else longest
        if type(self.longest) is not int or not self.floor <= self.longest <= _MOST:
            raise self._no_longest()

    def check(self) -> None:
        """Refuse to train with a longest beside which nothing longer can be measured; runs with one still answer.

        Raises:
            ArgumentError: naming the option.
        """
        if self.longest > self.most:
            raise self._no_longest()

    @property
    def sizes(self) -> tuple[int, int]:
        """Features that are read at a step, and bits that are said."""
        return self.width + self.channels, self.width + self.ending

    @property
    def trained(self) -> str:
        """What the group of questions is called that are as long as those of training."""
        return f"{self.floor}-{self.longest}"

    def beyond(self, split: str) -> dict[str, Size]:
        """Return what is measured beside questions as in training: the longest of these, and longer ones.

        Those of validation are others than those of the test, so that what is chosen by validation is not chosen by
        the test.
        """
        times = (1, 2, 4, 6) if split == "test" else (1, 1.5, 3, 5)
        return {f"{length}": (length,) for length in (round(self.longest * each) for each in times)}

    def size(self, dice: np.random.Generator) -> Size:
        """Draw the size of a question as training asks it."""
        return (int(dice.integers(self.floor, self.longest + 1)),)

    def _no_longest(self) -> ArgumentError:
        return ArgumentError(f"--longest: expected a number from {self.floor} to {self.most}, got {self.longest}")

    @abstractmethod
    def draw(self, dice: np.random.Generator, size: Size) -> Question:
        """Draw a question of some size."""

    @abstractmethod
    def pose(self, question: Question) -> Episode:
        """Return the sequence that asks a question."""

    @abstractmethod
    def write(self, question: Question) -> str:
        """Return a question in one line."""

    @abstractmethod
    def parse(self, line: str) -> Question:
        """Return the question of a line.

        Raises:
            ArgumentError: in one line that says what was expected.
        """

    def answer(self, said: Bits) -> str:
        """Return bits that were said, `(steps, bits)`, in one line."""
        return written_bits(said)


def bits_of(dice: np.random.Generator, count: int, width: int) -> Bits:
    """Draw vectors of bits, `(count, width)`."""
    return dice.integers(0, 2, (count, width)).astype(np.float32)


def written_bits(vectors: Bits) -> str:
    """Return vectors of bits as words.

    >>> written_bits(np.array([[1.0, 0.0], [0.0, 0.0]], np.float32))
    '10 00'
    """
    return " ".join("".join(str(int(bit)) for bit in row) for row in vectors)


def read_bits(words: Sequence[str], width: int, example: str, least: int = 1) -> Bits:
    """Return the vectors that words of bits are.

    Args:
        words: such as "10010110".
        width: bits of each.
        example: of a whole line, for messages.
        least: how many there have to be.

    Raises:
        ArgumentError: if one is none, or there are too few or too many.

    Example:
        >>> read_bits(["10", "01"], 2, "10 01").tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    wanted = f"words of {counted(width, 'bits')}, such as {example}"
    for word in words:
        if len(word) != width or not set(word) <= {"0", "1"}:
            raise ArgumentError(f"expected {wanted}, got {word!r:.{_SHOWN}}")
    if not least <= len(words) <= _MOST:
        raise ArgumentError(f"expected {least} to {_MOST:,} {wanted}, got {len(words)}")
    return np.array([[bit == "1" for bit in word] for word in words], np.float32)
