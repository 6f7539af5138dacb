"""The five problems of Graves, Wayne, Danihelka 2014, section 4: "Neural Turing Machines", with their distributions."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ArgumentError
from saccade.tasks.memorize.data.episode import Episode
from saccade.tasks.memorize.data.problem import Bits, Problem, Question, Size, bits_of, read_bits, written_bits

__all__ = ["PROBLEMS", "Copy", "NGrams", "Recall", "RepeatCopy", "Sort"]

_WORD = "10010110"
_MOST_TIMES, _DIGITS = 1000, 9
_MOST_SAID = 20_000  # vectors of repeated copies: each is a step


class Copy(Problem):
    """Section 4.1: random vectors of 8 bits, a mark, and then the same vectors again.

    >>> episode = Copy().pose(Copy().parse("10010110 11111111"))
    >>> episode.inputs.shape, episode.asked.tolist()
    ((5, 9), [False, False, False, True, True])
    """

    about = "repeat 1 to 20 vectors of 8 bits; tested with up to 120"
    usual, most, width, channels = 20, 1_666, 8, 1

    def draw(self, dice: np.random.Generator, size: Size) -> Question:
        return Question(bits_of(dice, size[0], self.width))

    def pose(self, question: Question) -> Episode:
        count = len(question.vectors)
        inputs, targets, asked = _steps(count + 1, count, *self.sizes)
        inputs[:count, : self.width] = question.vectors
        inputs[count, self.width] = 1.0
        targets[asked] = question.vectors
        return Episode(inputs, targets, asked)

    def write(self, question: Question) -> str:
        return written_bits(question.vectors)

    def parse(self, line: str) -> Question:
        return Question(read_bits(line.split(), self.width, f"{_WORD} {_WORD[::-1]}"))


class RepeatCopy(Problem):
    """Section 4.2: vectors and how often they are to be said, that number scaled to a mean of 0 and a variance of 1;
    then an end, by one more bit.

    >>> RepeatCopy().pose(RepeatCopy().parse("3 x 10010110 11111111")).asked.sum().item()
    7
    """

    about = "repeat 1 to 10 vectors of 8 bits 1 to 10 times, then an end mark; tested with up to 20"
    usual, most, width, channels, ending = 10, 100, 8, 2, True

    @property
    def trained(self) -> str:
        return f"1-{self.longest} x 1-{self.longest}"

    def beyond(self, split: str) -> dict[str, Size]:
        most, more = self.longest, round(self.longest * (2 if split == "test" else 1.5))
        return {f"{count} x {times}": (count, times) for count, times in ((most, most), (most, more), (more, most))}

    def size(self, dice: np.random.Generator) -> Size:
        count, times = (int(number) for number in dice.integers(1, self.longest + 1, 2))
        return count, times

    def draw(self, dice: np.random.Generator, size: Size) -> Question:
        count, times = size
        return Question(bits_of(dice, count, self.width), (times,))

    def pose(self, question: Question) -> Episode:
        (times,), count = map(int, question.numbers), len(question.vectors)
        inputs, targets, asked = _steps(count + 1, count * times + 1, *self.sizes)
        inputs[:count, : self.width] = question.vectors
        inputs[count, self.width :] = 1.0, self._scaled(times)
        targets[count + 1 : -1, : self.width] = np.tile(question.vectors, (times, 1))
        targets[-1, self.width] = 1.0
        return Episode(inputs, targets, asked)

    def write(self, question: Question) -> str:
        return f"{int(question.numbers[0])} x {written_bits(question.vectors)}"

    def parse(self, line: str) -> Question:
        example = f"3 x {_WORD} {_WORD[::-1]}"
        said, _, words = line.partition("x")
        said = said.strip().lstrip("0")
        times = int(said) if said.isascii() and said.isdecimal() and len(said) < _DIGITS else 0
        if not 1 <= times <= _MOST_TIMES:
            expected = f"a number from 1 to {_MOST_TIMES}, x and vectors, such as {example}"
            raise ArgumentError(f"expected {expected}, got {line!r:.60}")
        vectors = read_bits(words.split(), self.width, example)
        if times * len(vectors) > _MOST_SAID:
            raise ArgumentError(f"expected at most {_MOST_SAID:,} vectors to be said, got {times} x {len(vectors)}")
        return Question(vectors, (times,))

    def answer(self, said: Bits) -> str:
        ends = np.flatnonzero(said[:, self.width])
        return written_bits(said[: int(ends[0]) if len(ends) else len(said), : self.width])

    def _scaled(self, times: int) -> float:
        """Of the numbers that training asks for mean and deviation; at least one number and deviation there are."""
        mean, deviation = (1 + self.longest) / 2, math.sqrt((self.longest**2 - 1) / 12)
        return (times - mean) / (deviation or 1.0)


class Recall(Problem):
    """Section 4.3: items of three vectors of 6 bits, a mark before each; then one of them between two marks, and the
    item that followed it is to be said.

    >>> question = Recall().parse("100101 110000 000011, 111111 000000 101010 ? 100101 110000 000011")
    >>> question.numbers, Recall().pose(question).inputs.shape
    ((0,), (16, 8))
    """

    about = "2 to 6 items of three vectors of 6 bits, then one again: recall the next item; tested with up to 15"
    usual, most, width, channels, floor, each = 6, 10_000, 6, 2, 2, 3

    def beyond(self, split: str) -> dict[str, Size]:
        times = (1, 1.5, 2, 2.5) if split == "test" else (1, 4 / 3)
        return {f"{length}": (length,) for length in (round(self.longest * each) for each in times)}

    def draw(self, dice: np.random.Generator, size: Size) -> Question:
        vectors = bits_of(dice, size[0] * self.each, self.width)
        return Question(vectors, (int(dice.integers(0, size[0] - 1)),))

    def pose(self, question: Question) -> Episode:
        items = question.vectors.reshape(-1, self.each, self.width)
        (asked_for,), block = map(int, question.numbers), self.each + 1
        inputs, targets, asked = _steps(block * len(items) + block + 1, self.each, *self.sizes)
        for number, item in enumerate(items):
            inputs[number * block, self.width] = 1.0
            inputs[number * block + 1 : (number + 1) * block, : self.width] = item
        inputs[[-2 * block, -block], self.width + 1] = 1.0
        inputs[-2 * block + 1 : -block, : self.width] = items[asked_for]
        targets[asked] = items[asked_for + 1]
        return Episode(inputs, targets, asked)

    def write(self, question: Question) -> str:
        items = question.vectors.reshape(-1, self.each, self.width)
        return f"{', '.join(map(written_bits, items))} ? {written_bits(items[int(question.numbers[0])])}"

    def parse(self, line: str) -> Question:
        example = "100101 110000 000011, 111111 000000 101010 ? 100101 110000 000011"
        known, mark, query = line.partition("?")
        items = [read_bits(item.split(), self.width, example, self.each) for item in known.split(",")]
        wanted = read_bits(query.split(), self.width, example, self.each) if mark else None
        if wanted is None or len(items) < self.floor or any(len(item) != self.each for item in (*items, wanted)):
            raise ArgumentError(f"expected items of {self.each} vectors, ? and one of them, such as {example}")
        places = [number for number, item in enumerate(items[:-1]) if np.array_equal(item, wanted)]
        if not places:
            raise ArgumentError(f"expected behind ? an item that another follows, got {query.strip()!r:.40}")
        return Question(np.concatenate(items), (places[0],))


class Sort(Problem):
    """Section 4.5: vectors of 8 bits with a priority each, from −1 to 1; four fifths of them are to be said, from the
    highest priority on.

    >>> Sort().parse("10010110:0.5 11111111:-0.25").numbers
    (0.5, -0.25)
    """

    about = "20 vectors of 8 bits with priorities: sort the 16 of the highest priorities"
    usual, most, width, channels = 20, 5_000, 8, 2

    @property
    def trained(self) -> str:
        return f"{self.longest}"

    def beyond(self, split: str) -> dict[str, Size]:
        more = round(self.longest * (2 if split == "test" else 1.5))
        return {f"{more}": (more,)}

    def size(self, dice: np.random.Generator) -> Size:
        return (self.longest,)

    def draw(self, dice: np.random.Generator, size: Size) -> Question:
        priorities = tuple(round(float(number), 4) for number in dice.uniform(-1, 1, size[0]))
        return Question(bits_of(dice, size[0], self.width), priorities)

    def pose(self, question: Question) -> Episode:
        count = len(question.vectors)
        order = np.argsort(-np.array(question.numbers), kind="stable")[: max(1, count * 4 // 5)]
        inputs, targets, asked = _steps(count + 1, len(order), *self.sizes)
        inputs[:count, : self.width] = question.vectors
        inputs[:count, self.width] = question.numbers
        inputs[count, self.width + 1] = 1.0
        targets[asked] = question.vectors[order]
        return Episode(inputs, targets, asked)

    def write(self, question: Question) -> str:
        words = written_bits(question.vectors).split()
        return " ".join(f"{word}:{number:g}" for word, number in zip(words, question.numbers, strict=True))

    def parse(self, line: str) -> Question:
        example, words, numbers = f"{_WORD}:0.5 {_WORD[::-1]}:-0.25", list[str](), list[float]()
        for part in line.split():
            word, _, number = part.partition(":")
            try:
                found = float(number)
            except ValueError:
                found = math.nan
            if not -1 <= found <= 1:
                expected = f"a priority from -1 to 1 behind each, such as {example}"
                raise ArgumentError(f"expected {expected}, got {part!r:.40}")
            words.append(word)
            numbers.append(found)
        return Question(read_bits(words, self.width, example), tuple(numbers))


class NGrams(Problem):
    """Section 4.4: bits, each of which follows from the five before it by a chance that is the sequence's own, drawn
    from Beta(½, ½); from the sixth on each is to be said before it is read.

    >>> NGrams().pose(NGrams().parse("110100")).asked.tolist()
    [False, False, False, False, True, False]
    """

    about = "predict each of 200 bits from a distribution that depends on the five bits before"
    usual, most, width, channels, floor, each = 200, 5_000, 1, 0, 6, 0
    _PAST: ClassVar[int] = 5

    @property
    def trained(self) -> str:
        return f"{self.longest}"

    def beyond(self, split: str) -> dict[str, Size]:
        return {f"{2 * self.longest}": (2 * self.longest,)} if split == "test" else {}

    def size(self, dice: np.random.Generator) -> Size:
        return (self.longest,)

    def draw(self, dice: np.random.Generator, size: Size) -> Question:
        chances, draws = dice.beta(0.5, 0.5, 1 << self._PAST), dice.random(size[0])
        bits = [int(draw < 0.5) for draw in draws[: self._PAST]]
        for draw in draws[self._PAST :]:
            bits.append(int(draw < chances[_number(bits[-self._PAST :])]))
        return Question(np.array(bits, np.float32)[:, None])

    def pose(self, question: Question) -> Episode:
        bits = question.vectors
        asked = np.zeros(len(bits), np.bool_)
        asked[self._PAST - 1 : -1] = True
        return Episode(bits, np.where(asked[:, None], np.roll(bits, -1, 0), np.float32(0)), asked)

    def write(self, question: Question) -> str:
        return "".join(written_bits(question.vectors).split())

    def parse(self, line: str) -> Question:
        return Question(read_bits([*"".join(line.split())], 1, "0110100", self.floor))

    def answer(self, said: Bits) -> str:
        return "".join(written_bits(said).split())

    def best(self, question: Question) -> Bits:
        r"""Return the chance of a 1 at each step that is asked, as well as it can be known.

        .. math:: P(1 \mid n_0, n_1, \text{the five before}) = \frac{n_1 + 1/2}{n_0 + n_1 + 1}

        with how often 0 and 1 followed the same five so far.

        Source:
            Graves et al. 2014, equation 10, after Murphy 2012.
        """
        counts, bits, found = np.full((1 << self._PAST, 2), 0.5), question.vectors[:, 0].astype(int), list[float]()
        for place in range(self._PAST, len(bits)):
            before = counts[_number(bits[place - self._PAST : place].tolist())]
            found.append(before[1] / before.sum())
            before[bits[place]] += 1
        return np.array(found, np.float32)[:, None]


PROBLEMS: dict[str, type[Problem]] = {
    "copy": Copy,
    "repeat-copy": RepeatCopy,
    "recall": Recall,
    "sort": Sort,
    "n-grams": NGrams,
}


def _steps(read: int, said: int, inputs: int, targets: int) -> tuple[Bits, Bits, NDArray[np.bool_]]:
    """Steps of nothing at which something is read, and then something said."""
    count = read + said
    given, wanted = (np.zeros((count, width), np.float32) for width in (inputs, targets))
    return given, wanted, np.arange(count) >= read


def _number(bits: list[int]) -> int:
    """Bits as a binary number."""
    return int("".join(map(str, bits)), 2)
