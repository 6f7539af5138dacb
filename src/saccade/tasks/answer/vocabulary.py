"""What is learned of questions about images before training: their words, their answers, and what images are."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from saccade.errors import ArgumentError
from saccade.tasks.answer.data import Corpus
from saccade.tasks.generate.answers import WrittenAnswers
from saccade.tasks.image.features.store import FeatureStore
from saccade.tasks.image.sight import Sight
from saccade.tasks.labels.answers import ClassAnswers
from saccade.tasks.saved import TOKENIZER, labels_from, reading, whole_number
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.text.tokenizer import SpacedWords, from_json
from saccade.tasks.text.words import Words
from saccade.train.files import write_json

__all__ = ["Vocabulary", "learn"]

_ENDLESS = 2_000  # questions that are learned from where there is no end of them


@dataclass(frozen=True)
class Vocabulary:
    """What a corpus taught.

    Args:
        words: the tokenizer.
        answers: all answers, the most frequent first; an answer's number is its place. None where they are written.
        sight: what is given of images.
        target: words of answers that are written.
        longest: words of the longest of these.
    """

    words: Words
    answers: tuple[str, ...]
    sight: Sight
    target: SpacedWords | None = None
    longest: int = 0

    def output(self, beam_size: int = 5) -> ClassAnswers | WrittenAnswers:
        """Return how answers are given; of those that are written so many are kept at once."""
        if self.target is None:
            return ClassAnswers(self.answers)
        return WrittenAnswers(self.target, self.longest, beam_size)

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
        told: dict[str, Any] = {"words": self.words.to_json(), "sight": self.sight.to_json()}
        if self.target is None:
            return told | {"labels": list(self.answers)}
        return told | {"target": self.target.to_json(), "longest_target": self.longest}

    @classmethod
    def restore(cls, folder: Path) -> "Vocabulary":
        """Read tokenizer.json.

        Raises:
            ArgumentError: if it is not there or not whole.
        """
        with reading(folder / TOKENIZER, "the words and answers") as content:
            words, sight = Words.from_json(content["words"]), Sight.restore(content["sight"])
            if "target" not in content:
                return cls(words, labels_from(content), sight)
            if not isinstance(target := from_json(content["target"]), SpacedWords):
                raise ValueError(f"target {content['target']!r:.60}")
            return cls(words, (), sight, target, whole_number(content, "longest_target"))


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
    ranked = sorted(counts, key=lambda answer: (-counts[answer], answer))
    if len(ranked) < 2:
        raise ArgumentError(f"--data: expected two different answers or more to train on, got {', '.join(ranked)}")
    found = Vocabulary(words, tuple(ranked[: options.answers]), Sight.learn(corpus, store))
    frequent = f"the {len(found.answers)} most frequent (--answers)"
    if options.generate:
        target = SpacedWords.learn((answer for one in posed for answer in one.answers), options.vocabulary_size)
        longest = max(map(len, map(target.split, ranked)))
        found = replace(found, answers=(), target=target, longest=longest)
        frequent = f"those of the {len(target.units)} most frequent words (--vocabulary-size)"
    output = found.output()
    lost = sum(not any(map(output.knows, one.answers)) for one in posed)
    note = f"train: {lost} of {len(posed)} questions have no answer among {frequent}; nothing is learned of them"
    return found, note if lost else ""
