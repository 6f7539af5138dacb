"""What is learned of questions about images before training: their words, their answers, and what images are."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from saccade.errors import ArgumentError
from saccade.tasks.answer.data import Corpus
from saccade.tasks.batches import spread
from saccade.tasks.image.features.store import FeatureStore
from saccade.tasks.image.sight import Sight
from saccade.tasks.saved import TOKENIZER, labels_from, reading
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.text.words import Words
from saccade.train.files import write_json

__all__ = ["Vocabulary", "learn"]

_ENDLESS = 2_000  # questions that are learned from where there is no end of them
_LOOKED_AT = 300  # images that the mean and deviation of channels are computed from


@dataclass(frozen=True)
class Vocabulary:
    """What a corpus taught.

    Args:
        words: the tokenizer.
        answers: all answers, the most frequent first; an answer's number is its place.
        sight: what is given of images.
    """

    words: Words
    answers: tuple[str, ...]
    sight: Sight

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each answer."""
        return {answer: number for number, answer in enumerate(self.answers)}

    def tokens(self, question: str, most: int) -> tuple[list[str], bool]:
        """Return the words of a question that are read, one at the least, and whether they are all of them."""
        tokens = self.words.pieces(question) or [question]
        return tokens[:most], len(tokens) <= most

    def ids(self, tokens: list[str]) -> list[int]:
        """Return the ids of words."""
        return self.words.numbers(tokens) or [UNKNOWN]

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        told = {"words": self.words.to_json(), "labels": list(self.answers), "sight": self.sight.to_json()}
        write_json(folder / TOKENIZER, told)

    @classmethod
    def restore(cls, folder: Path) -> "Vocabulary":
        """Read tokenizer.json.

        Raises:
            ArgumentError: if it is not there or not whole.
        """
        with reading(folder / TOKENIZER, "the words and answers") as content:
            words, answers = Words.from_json(content["words"]), labels_from(content)
            return cls(words, answers, Sight.restore(content["sight"]))


def learn(corpus: Corpus, options: Any, store: FeatureStore | None = None) -> tuple[Vocabulary, str]:
    """Learn from the training split.

    Args:
        corpus: the questions.
        options: of the run; vocabulary_size, min_count and answers count.
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
    answers = tuple(ranked[: options.answers])
    known = set(answers)
    lost = sum(not known.intersection(one.answers) for one in posed)
    frequent = f"the {len(answers)} most frequent (--answers)"
    note = f"train: {lost} of {len(posed)} questions have no answer among {frequent}; nothing is learned of them"
    return Vocabulary(words, answers, _sight(corpus, store)), note if lost else ""


def _sight(corpus: Corpus, store: FeatureStore | None) -> Sight:
    """What is given of images: features, or pixels with the mean and standard deviation of each channel."""
    if store is not None:
        return Sight(dim=store.dim, grid=store.shape)
    shape = corpus.shape
    assert shape is not None, "where there are no features there are images"
    size = corpus.size("train")
    total = square = torch.zeros(shape[0], dtype=torch.float64)
    indices = spread(_LOOKED_AT if size is None else size, _LOOKED_AT)
    for index in indices:
        seen = corpus.example("train", index).image
        assert seen is not None
        image = seen.double() / 255
        total, square = total + image.mean((1, 2)), square + image.square().mean((1, 2))
    mean = total / len(indices)
    variance = (square / len(indices) - mean.square()).clamp(min=0)
    deviation = torch.where(variance > 1e-8, variance.sqrt(), 1.0)
    told = (tuple(round(each, 6) for each in part.tolist()) for part in (mean, deviation))
    return Sight(shape, *told)
