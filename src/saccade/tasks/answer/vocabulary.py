"""What is learned of questions about images before training: their words, their answers, and what images are."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade._system.files import write_json
from saccade.errors import ArgumentError
from saccade.tasks.answer.data import Corpus
from saccade.tasks.generate.answers import WrittenAnswers
from saccade.tasks.image.features.store import FeatureStore
from saccade.tasks.image.sight import Sight
from saccade.tasks.labels.answers import ClassAnswers
from saccade.tasks.saved import TOKENIZER, reading
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.text.words import Words

__all__ = ["Vocabulary", "learn"]

_ENDLESS = 2_000  # questions that are learned from where there is no end of them


@dataclass(frozen=True)
class Vocabulary:
    """What a corpus taught.

    Args:
        words: the tokenizer.
        output: the answers, and how they are given.
        sight: what is given of images.
    """

    words: Words
    output: ClassAnswers | WrittenAnswers
    sight: Sight

    def tokens(self, question: str, most: int) -> tuple[list[str], bool]:
        """Return the words of a question that are read, one at the least, and whether they are all of them."""
        tokens = self.words.pieces(question) or [question]
        return tokens[:most], len(tokens) <= most

    def ids(self, tokens: list[str]) -> list[int]:
        """Return the ids of words."""
        return self.words.numbers(tokens) or [UNKNOWN]

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        write_json(folder / TOKENIZER, self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return what `restore` reads."""
        return {"words": self.words.to_json(), "sight": self.sight.to_json(), **self.output.to_json()}

    @classmethod
    def restore(cls, folder: Path) -> "Vocabulary":
        """Read tokenizer.json.

        Raises:
            ArgumentError: if it is not there or not whole.
        """
        with reading(folder / TOKENIZER, "the words and answers") as content:
            kind = WrittenAnswers if "target" in content else ClassAnswers
            return cls(Words.from_json(content["words"]), kind.restore(content), Sight.restore(content["sight"]))


def learn(corpus: Corpus, options: Any, store: FeatureStore | None = None) -> tuple[Vocabulary, str]:
    """Learn from the training split.

    Args:
        corpus: the questions.
        options: of the run; vocabulary_size, min_count, answers and generate count.
        store: of features, in the place of images.

    Returns:
        What was learned, and what a user should know of it, "" if nothing.

    Raises:
        ArgumentError: if no word is known, or there are fewer than two answers.
    """
    size = corpus.size("train")
    posed = [corpus.posed("train", index) for index in range(_ENDLESS if size is None else size)]
    words = Words.learn((one.question for one in posed), options.vocabulary_size, options.min_count)
    if not words.words:
        raise ArgumentError(f"--min-count: no word is {options.min_count} times in the training split; lower it")
    counts = Counter(answer for one in posed for answer in one.answers)
    if len(counts) < 2:
        raise ArgumentError(f"--data: expected two different answers or more to train on, got {', '.join(counts)}")
    output: ClassAnswers | WrittenAnswers = ClassAnswers.learn(counts, options.answers)
    if options.generate:
        output = WrittenAnswers.learn(counts.elements(), options.vocabulary_size)
    lost = sum(not any(map(output.knows, one.answers)) for one in posed)
    if lost == len(posed):
        raise ArgumentError(f"--data: none of {lost} training questions has an answer among {output.among}; raise that")
    note = f"train: {lost} of {len(posed)} questions have no answer among {output.among}; nothing is learned of them"
    return Vocabulary(words, output, Sight.learn(corpus, store)), note if lost else ""
