"""Problems of memory: built-in data as text and as sequences."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.dataset import counted
from saccade.data.generated import Generated
from saccade.errors import ArgumentError
from saccade.models.memorizer import Sizes
from saccade.tasks.memorize.episode import Episode, Item
from saccade.tasks.memorize.likeliest import likeliest
from saccade.train.randomness import derive

__all__ = ["Bits", "Problem", "Question"]

Bits = NDArray[np.float32]
HELD_OUT = 500  # questions of validation, and of test
_VERSION = 1  # of the draws
_LARGEST = 10_000  # vectors of a line: each is a step
_TRIED = 100  # limit of compared answers for each different text


class Question(NamedTuple):
    """A question. It determines the right answer.

    Args:
        vectors: of bits, `(n, width)`.
        numbers: number of copies, index of the query, or priorities.
    """

    vectors: Bits
    numbers: tuple[float, ...] = ()


class Problem(Generated[Item]):
    """Questions of a problem as data, as text and as sequences.

    Training is endless. Validation and test alternate between questions as in training, the longest of these and
    longer questions. Splits are drawn separately, so a very short question may be in several.

    Args:
        longest: largest size of a training question: vectors, items or bits. Default: that of the paper.

    Example:
        >>> from saccade.tasks.memorize.problems import Copy
        >>> data = Copy()
        >>> data.size("test"), data.example("test", 1).group, len(data.example("test", 1).text.split())
        (500, '20', 20)
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    usual: ClassVar[int]  # `longest` of the paper
    most: ClassVar[int]  # largest `longest`: evaluation and lines may have longer questions
    least: ClassVar[int] = 1  # smallest size of a question
    fixed: ClassVar[bool] = False  # whether all training questions have size `longest`
    longer: ClassVar[Mapping[str, Sequence[float]]]  # multiples of `longest` that a split measures
    width: ClassVar[int]  # bits of a vector
    channels: ClassVar[int]  # marks and numbers beside the bits of a step
    each: ClassVar[int] = 1  # vectors to remember for each unit of `longest`, or 0
    ending: ClassVar[bool] = False  # whether one more target bit marks the end of the answer
    space: ClassVar[str] = " "  # text between vectors

    def __init__(self, longest: int | None = None) -> None:
        self.longest = self.usual if longest is None else longest
        if type(self.longest) is not int or not self.least <= self.longest <= self.most:
            expected = f"expected a number from {self.least} to {self.most}"
            raise ArgumentError(f"--longest: {expected}, got {self.longest}")

    @property
    def held_out(self) -> int:
        return HELD_OUT

    @property
    def fingerprint(self) -> str:
        return f"{self.name} {_VERSION}, up to {self.longest}"

    def make(self, split: str, index: int) -> Item:
        dice = np.random.default_rng(derive(0, "memorize", self.name, split, index))
        kinds: list[tuple[str, tuple[int, ...] | None]] = [(self.trained, None), *self.beyond(split).items()]
        group, size = kinds[index % len(kinds)]
        question = self.draw(dice, size or self.size_of(dice))
        return Item(self.write(question), self.answer(self.pose(question).wanted.numpy()), group)

    @property
    def trained(self) -> str:
        """Name of the group of questions as in training."""
        return f"{self.longest}" if self.fixed else f"{self.least}-{self.longest}"

    def beyond(self, split: str) -> dict[str, tuple[int, ...]]:
        """Return the sizes of a split beyond those of training, by group."""
        return {f"{size}": (size,) for size in (round(self.longest * times) for times in self.longer.get(split, ()))}

    def size_of(self, dice: np.random.Generator) -> tuple[int, ...]:
        """Draw the size of a training question."""
        return (self.longest if self.fixed else int(dice.integers(self.least, self.longest + 1)),)

    def draw(self, dice: np.random.Generator, size: tuple[int, ...]) -> Question:
        """Draw a question of some size."""
        return Question(self.bits(dice, size[0]), size[1:])

    def bits(self, dice: np.random.Generator, count: int) -> Bits:
        """Draw vectors of bits."""
        return dice.integers(0, 2, (count, self.width)).astype(np.float32)

    @abstractmethod
    def pose(self, question: Question) -> Episode:
        """Return the sequence of a question."""

    def blank(self, read: int, answered: int) -> Episode:
        """Return steps that read, and then steps that answer, all zeros."""
        inputs, targets = (np.zeros((read + answered, width), np.float32) for width in self.sizes[:2])
        return Episode(inputs, targets, np.arange(read + answered) >= read)

    def write(self, question: Question) -> str:
        """Return a question in one line."""
        return self.words(question.vectors)

    def words(self, vectors: Bits) -> str:
        """Return vectors as text.

        >>> from saccade.tasks.memorize.problems import Copy
        >>> Copy().words(np.array([[1.0, 0.0], [0.0, 0.0]], np.float32))
        '10 00'
        """
        return self.space.join("".join(str(int(bit)) for bit in row) for row in vectors)

    @abstractmethod
    def parse(self, line: str) -> Question:
        """Return the question of a line, or raise an `ArgumentError`."""

    def vectors(self, words: Sequence[str], example: str, least: int = 1) -> Bits:
        """Return the vectors of words such as "10010110".

        Args:
            words: of `width` bits.
            example: a whole line, for messages.
            least: smallest number of vectors.
        """
        expected = f"words of {counted(self.width, 'bits')}, such as {example}"
        for word in words:
            if len(word) != self.width or not set(word) <= {"0", "1"}:
                raise ArgumentError(f"expected {expected}, got {word!r:.40}")
        if not least <= len(words) <= _LARGEST:
            raise ArgumentError(f"expected {least} to {_LARGEST:,} {expected}, got {len(words)}")
        return np.array([[bit == "1" for bit in word] for word in words], np.float32)

    def answer(self, bits: Bits) -> str:
        """Return the text of target bits `(steps, bits)`."""
        return self.words(bits)

    @property
    def sizes(self) -> Sizes:
        """Sizes of a model."""
        return Sizes(self.width + self.channels, self.width + self.ending)

    def episode(self, item: Item) -> Episode:
        """Return the sequence of a question."""
        return self.read(item.text)

    def read(self, line: str) -> Episode:
        """Return the sequence of a line."""
        return self.pose(self.parse(line))

    def said(self, logits: Tensor, count: int) -> list[str]:
        """Return the most probable answers.

        Answers with differences only behind an end have one text.
        """
        texts = dict[str, None]()
        for _, values in islice(likeliest(logits, bits=True), _TRIED * count):
            texts[self.answer(values.numpy())] = None
            if len(texts) == count:
                break
        return list(texts)

    def labels(self, line: str, said: str) -> list[str]:
        """Return [], because pictures show vectors as bands."""
        return []

    def held(self, line: str) -> int:
        """Return the number of vectors to remember."""
        return len(self.parse(line).vectors) if self.each else 0

    @property
    def most_held(self) -> int:
        """Largest number of vectors to remember in training."""
        return self.each * self.longest

    def to_json(self) -> dict[str, Any]:
        """Return the content of tokenizer.json."""
        return {"problem": self.name, "longest": self.longest}
