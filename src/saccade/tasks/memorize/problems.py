"""Problems of "Neural Turing Machines", with their distributions.

Source:
    Graves, Wayne, Danihelka 2014, "Neural Turing Machines", section 4.
"""

import math
import re
from typing import ClassVar

import numpy as np

from saccade.errors import ArgumentError
from saccade.tasks.memorize.episode import Episode
from saccade.tasks.memorize.problem import Bits, Problem, Question

__all__ = ["PROBLEMS", "Copy", "NGrams", "Recall", "RepeatCopy", "Sort"]

_WORD = "10010110"
_MOST_TIMES = 1000
_MOST_SAID = 20_000  # vectors of repeated copies: each is a step


class Copy(Problem):
    """Section 4.1: random vectors of 8 bits, a mark, and then the same vectors again.

    >>> episode = Copy().read("10010110 11111111")
    >>> episode.inputs.shape, episode.asked.tolist()
    ((5, 9), [False, False, False, True, True])
    """

    name, summary = "copy", "repeat 1 to 20 vectors of 8 bits; tested with up to 120"
    usual, most, width, channels = 20, 1_666, 8, 1
    longer: ClassVar = {"test": (1, 2, 4, 6), "validation": (1, 1.5, 3, 5)}

    def pose(self, question: Question) -> Episode:
        count = len(question.vectors)
        episode = self.blank(count + 1, count)
        episode.inputs[:count, : self.width] = question.vectors
        episode.inputs[count, self.width] = 1.0
        episode.targets[episode.asked] = question.vectors
        return episode

    def parse(self, line: str) -> Question:
        return Question(self.vectors(line.split(), f"{_WORD} {_WORD[::-1]}"))


class RepeatCopy(Problem):
    """Section 4.2: vectors, the number of repeats, and an end mark.

    The number of repeats is scaled to a mean of 0 and a variance of 1 over training questions.

    >>> RepeatCopy().read("3 x 10010110 11111111").asked.sum().item()
    7
    """

    name = "repeat-copy"
    summary = "repeat 1 to 10 vectors of 8 bits 1 to 10 times, then an end mark; tested with up to 20"
    usual, most, width, channels, ending = 10, 100, 8, 2, True

    @property
    def trained(self) -> str:
        return f"1-{self.longest} x 1-{self.longest}"

    def beyond(self, split: str) -> dict[str, tuple[int, ...]]:
        longest, more = self.longest, round(self.longest * (2 if split == "test" else 1.5))
        sizes = ((longest, longest), (longest, more), (more, longest)) if split != "train" else ()
        return {f"{count} x {times}": (count, times) for count, times in sizes}

    def size_of(self, dice: np.random.Generator) -> tuple[int, ...]:
        return tuple(dice.integers(1, self.longest + 1, 2).tolist())

    def pose(self, question: Question) -> Episode:
        (times,), count = map(int, question.numbers), len(question.vectors)
        mean, deviation = (1 + self.longest) / 2, math.sqrt((self.longest**2 - 1) / 12)
        episode = self.blank(count + 1, count * times + 1)
        episode.inputs[:count, : self.width] = question.vectors
        episode.inputs[count, self.width :] = 1.0, (times - mean) / (deviation or 1.0)
        episode.targets[count + 1 : -1, : self.width] = np.tile(question.vectors, (times, 1))
        episode.targets[-1, self.width] = 1.0
        return episode

    def write(self, question: Question) -> str:
        return f"{int(question.numbers[0])} x {self.words(question.vectors)}"

    def parse(self, line: str) -> Question:
        example = f"3 x {_WORD} {_WORD[::-1]}"
        match = re.fullmatch(r"\s*0*([0-9]{1,4})\s*x(.*)", line, re.DOTALL)
        times = int(match[1]) if match else 0
        if match is None or not 1 <= times <= _MOST_TIMES:
            expected = f"a number from 1 to {_MOST_TIMES}, x and vectors, such as {example}"
            raise ArgumentError(f"expected {expected}, got {line!r:.60}")
        vectors = self.vectors(match[2].split(), example)
        if times * len(vectors) > _MOST_SAID:
            raise ArgumentError(f"expected at most {_MOST_SAID:,} vectors of an answer, got {times} x {len(vectors)}")
        return Question(vectors, (times,))

    def answer(self, bits: Bits) -> str:
        ends = np.flatnonzero(bits[:, self.width])
        return self.words(bits[: int(ends[0]) if len(ends) else len(bits), : self.width])


class Recall(Problem):
    """Section 4.3: marked items of three vectors, and one item again as query.

    The answer is the next item.

    >>> question = Recall().parse("100101 110000 000011, 111111 000000 101010 ? 100101 110000 000011")
    >>> question.numbers, Recall().pose(question).inputs.shape
    ((0,), (16, 8))
    """

    name = "recall"
    summary = "2 to 6 items of three vectors of 6 bits, then one again: recall the next item; tested with up to 15"
    usual, most, width, channels, least, each = 6, 10_000, 6, 2, 2, 3
    longer: ClassVar = {"test": (1, 1.5, 2, 2.5), "validation": (1, 4 / 3)}

    def draw(self, dice: np.random.Generator, size: tuple[int, ...]) -> Question:
        vectors = self.bits(dice, size[0] * self.each)
        return Question(vectors, (int(dice.integers(0, size[0] - 1)),))

    def pose(self, question: Question) -> Episode:
        items, (query,), block = self._items(question), map(int, question.numbers), self.each + 1
        episode = self.blank(block * len(items) + block + 1, self.each)
        for number, item in enumerate(items):
            episode.inputs[number * block, self.width] = 1.0
            episode.inputs[number * block + 1 : (number + 1) * block, : self.width] = item
        episode.inputs[[-2 * block, -block], self.width + 1] = 1.0
        episode.inputs[-2 * block + 1 : -block, : self.width] = items[query]
        episode.targets[episode.asked] = items[query + 1]
        return episode

    def write(self, question: Question) -> str:
        items = list(map(self.words, self._items(question)))
        return f"{', '.join(items)} ? {items[int(question.numbers[0])]}"

    def parse(self, line: str) -> Question:
        example = "100101 110000 000011, 111111 000000 101010 ? 100101 110000 000011"
        before, mark, behind = line.partition("?")
        items = [self.vectors(item.split(), example, self.each) for item in before.split(",")]
        query = self.vectors(behind.split(), example, self.each) if mark else None
        if query is None or len(items) < self.least or any(len(item) != self.each for item in (*items, query)):
            raise ArgumentError(f"expected items of {self.each} vectors, ? and one of them, such as {example}")
        number = next((n for n, item in enumerate(items[:-1]) if np.array_equal(item, query)), None)
        if number is None:
            raise ArgumentError(f"expected behind ? an item that another follows, got {behind.strip()!r:.40}")
        return Question(np.concatenate(items), (number,))

    def _items(self, question: Question) -> Bits:
        return question.vectors.reshape(-1, self.each, self.width)


class Sort(Problem):
    """Section 4.5: vectors with priorities from −1 to 1.

    The answer is the four fifths of highest priority, sorted.

    >>> Sort().parse("10010110:0.5 11111111:-0.25").numbers
    (0.5, -0.25)
    """

    name, summary = "sort", "20 vectors of 8 bits with priorities: sort the 16 of the highest priorities"
    usual, most, width, channels, fixed = 20, 5_000, 8, 2, True
    longer: ClassVar = {"test": (2,), "validation": (1.5,)}

    def draw(self, dice: np.random.Generator, size: tuple[int, ...]) -> Question:
        priorities = tuple(round(float(number), 4) for number in dice.uniform(-1, 1, size[0]))
        return Question(self.bits(dice, size[0]), priorities)

    def pose(self, question: Question) -> Episode:
        count = len(question.vectors)
        order = np.argsort(-np.array(question.numbers), kind="stable")[: max(1, count * 4 // 5)]
        episode = self.blank(count + 1, len(order))
        episode.inputs[:count, : self.width] = question.vectors
        episode.inputs[:count, self.width] = question.numbers
        episode.inputs[count, self.width + 1] = 1.0
        episode.targets[episode.asked] = question.vectors[order]
        return episode

    def write(self, question: Question) -> str:
        words = self.words(question.vectors).split()
        return " ".join(f"{word}:{number:g}" for word, number in zip(words, question.numbers, strict=True))

    def parse(self, line: str) -> Question:
        example, words, numbers = f"{_WORD}:0.5 {_WORD[::-1]}:-0.25", list[str](), list[float]()
        for part in line.split():
            word, _, text = part.partition(":")
            try:
                number = float(text)
            except ValueError:
                number = math.nan
            if not -1 <= number <= 1:
                expected = f"a priority from -1 to 1 behind each, such as {example}"
                raise ArgumentError(f"expected {expected}, got {part!r:.40}")
            words.append(word)
            numbers.append(number)
        return Question(self.vectors(words, example), tuple(numbers))


class NGrams(Problem):
    """Section 4.4: bits that depend on the five bits before.

    Each bit from the sixth on is a target. A sequence draws the probability of a 1 behind each five bits from
    Beta(½, ½).

    >>> NGrams().read("110100").asked.tolist()
    [False, False, False, False, True, False]
    """

    name, summary = "n-grams", "predict each of 200 bits from a distribution that depends on the five bits before"
    usual, most, width, channels, least, each, fixed, space = 200, 5_000, 1, 0, 6, 0, True, ""
    longer: ClassVar = {"test": (2,)}
    _PAST: ClassVar[int] = 5

    def draw(self, dice: np.random.Generator, size: tuple[int, ...]) -> Question:
        chances, draws = dice.beta(0.5, 0.5, 1 << self._PAST), dice.random(size[0])
        bits = [int(draw < 0.5) for draw in draws[: self._PAST]]
        for draw in draws[self._PAST :]:
            bits.append(int(draw < chances[self._number(bits)]))
        return Question(np.array(bits, np.float32)[:, None])

    def pose(self, question: Question) -> Episode:
        bits = question.vectors
        answering = np.zeros(len(bits), np.bool_)
        answering[self._PAST - 1 : -1] = True
        return Episode(bits, np.where(answering[:, None], np.roll(bits, -1, 0), np.float32(0)), answering)

    def parse(self, line: str) -> Question:
        return Question(self.vectors([*"".join(line.split())], "0110100", self.least))

    def best(self, question: Question) -> Bits:
        r"""Return the best estimate of the probability of a 1 at each answering step.

        .. math:: P(1 \mid n_0, n_1, \text{the five before}) = \frac{n_1 + 1/2}{n_0 + n_1 + 1}

        n₀ and n₁ count how often 0 and 1 followed the same five bits so far.

        Source:
            Graves et al. 2014, equation 10, after Murphy 2012.
        """
        counts, bits, chances = np.full((1 << self._PAST, 2), 0.5), question.vectors[:, 0].astype(int).tolist(), []
        for index in range(self._PAST, len(bits)):
            before = counts[self._number(bits[:index])]
            chances.append(before[1] / before.sum())
            before[bits[index]] += 1
        return np.array(chances, np.float32)[:, None]

    def _number(self, bits: list[int]) -> int:
        """The last five bits as a binary number."""
        return int("".join(map(str, bits[-self._PAST :])), 2)


PROBLEMS: dict[str, type[Problem]] = {problem.name: problem for problem in (Copy, RepeatCopy, Recall, Sort, NGrams)}
