"""Labelled texts as ids of words: vocabulary, vectors of words, and batches."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from safetensors.torch import load, save
from torch import nn

from saccade._system.files import read, write, write_json
from saccade._system.notes import Once, say
from saccade.data.cleaning import WIDEST, composed, front
from saccade.data.dataset import training_sample
from saccade.errors import ArgumentError
from saccade.models.classifier import Classifier
from saccade.models.padded import Padded
from saccade.tasks.batches import rectangle
from saccade.tasks.classify_text.data import Corpus
from saccade.tasks.classify_text.data.reviews import Example as Labelled
from saccade.tasks.labels.ranking import label_numbers
from saccade.tasks.labels.ranks import Batch
from saccade.tasks.saved import TOKENIZER, labels_from, reading, whole_number
from saccade.tasks.text.markup import without_markup
from saccade.tasks.text.special import SPECIAL
from saccade.tasks.text.vectors import Vectors, read_vectors
from saccade.tasks.text.words import Words
from saccade.train.options import select
from saccade.train.task import Example

__all__ = ["LabelledTexts", "Text", "pad"]

_ENDLESS, _FILES = 5_000, 200_000  # texts to learn from: of an endless split, and spread over others
_CACHED = 50_000  # texts whose ids are kept: to cut them anew takes a third of a training step
_VECTORS = "vectors.safetensors"


class Text(NamedTuple):
    """A text as a model reads it.

    Args:
        ids: of its words.
        label: its number.
        text: the whole text, composed (NFC), of an input.
        tokens: the words as they are written, of an input.
    """

    ids: Sequence[int]
    label: int = 0
    text: str = ""
    tokens: Sequence[str] = ()

    @property
    def size(self) -> int:
        """Number of words."""
        return len(self.ids)

    @property
    def order(self) -> int:
        """Sort key of texts of like length."""
        return len(self.ids)


@dataclass(frozen=True)
class LabelledTexts:
    """Codec of texts with one label each.

    Args:
        labels: all labels, sorted. The number of a label is its index.
        words: the vocabulary.
        dim: features of the word vectors, or None for the default of the model.
        vectors: initial vectors of words, or None if all are drawn.
        options: of the run.
    """

    labels: tuple[str, ...]
    words: Words
    dim: int | None = None
    vectors: Vectors | None = None
    options: Any = field(default=None, compare=False)

    @classmethod
    def fit(cls, data: Corpus, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn words and labels from the training split, or from a sample of it.

        Raises:
            ArgumentError: if no word is frequent enough, or the file of vectors does not fit.
            OSError: if that file cannot be read.
        """
        texts = [example.text for example in training_sample(data, _ENDLESS, _FILES)]
        fronts = (front(text, options.max_length) for text in texts)
        words = Words.learn(fronts, options.vocabulary_size, options.min_count)
        if not words.words:
            raise ArgumentError(f"--min-count: no word is {options.min_count} times in the training split; lower it")
        codec = cls(tuple(data.labels), words, options.embedding_dim, options=options)
        long = sum(not codec.tokens(text)[1] for text in texts)
        cut = f"{long} of {len(texts)} training texts looked at have more than {codec._limit}" if long else ""
        notes = [*_similar(codec.labels), cut]
        if options.vectors is None:
            return codec, notes
        vectors = read_vectors(Path(options.vectors), words.words)
        dim = vectors.values.shape[1]
        if codec.dim not in (None, dim):
            raise ArgumentError(f"--embedding-dim: expected {dim}, as {options.vectors} has, got {codec.dim}")
        count = f"{len(vectors.numbers)} of {len(words.words)} words"
        note = f"{count} have a vector in {options.vectors}, of {dim} numbers"
        return replace(codec, dim=dim, vectors=vectors), [*notes, note]

    def save(self, folder: Path) -> None:
        """Write tokenizer.json, and the initial vectors of words."""
        described = {"words": self.words.to_json(), "labels": list(self.labels), "embedding_dim": self.dim}
        write_json(folder / TOKENIZER, described)
        if self.vectors is not None:
            write(folder / _VECTORS, save({"numbers": self.vectors.numbers, "values": self.vectors.values}))

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read the files of `save`.

        The vectors are needed if a training that was killed before its first step begins again.

        Raises:
            ArgumentError: if a file is missing or damaged.
        """
        with reading(folder / TOKENIZER, "the words and labels") as content:
            labels = labels_from(content)
            dim = None if content["embedding_dim"] is None else whole_number(content, "embedding_dim")
            codec = cls(labels, Words.from_json(content["words"]), dim, options=options)
        if options.vectors is None:
            return codec
        with reading(folder / _VECTORS, "the word vectors", lambda path: load(read(path))) as tensors:
            return replace(codec, vectors=Vectors(tensors["numbers"], tensors["values"]))

    def encode(self, examples: Sequence[Labelled], split: str) -> list[Text]:
        """Return texts with the numbers of their labels.

        A note tells how many texts are too long. `fit` has counted those of the training split.

        Raises:
            ArgumentError: for an unknown label.
        """
        numbers = label_numbers(self.labels, [example.label for example in examples], split)
        cut = [self._ids(example.text) for example in examples]
        if split != "train" and (long := sum(not whole for _, whole in cut)):
            self._once.say(split, f"{split}: {long} of {len(cut)} texts have more than {self._limit}")
        return [Text(ids, number) for (ids, _), number in zip(cut, numbers, strict=True)]

    def collate(self, samples: Sequence[Text], step: int | None = None) -> Batch:
        """Return a batch of texts."""
        return Batch(pad(samples), torch.tensor([sample.label for sample in samples]))

    def build(self, model: Any) -> nn.Module:
        """Return a model for these words and labels, with the initial vectors of words."""
        options = replace(select(self.options, model.Options), embedding_dim=self.dim)
        classifier: Classifier = model(len(self.words), len(self.labels), options)
        classifier.name_words(self.words.words)
        if self.vectors is not None:
            _initialize(classifier.words.embedding, self.vectors, trained=not self.options.freeze_vectors)
        return classifier

    def show(self, example: Labelled, name: str) -> Example:
        """Return a text and its label."""
        return Example(self._text(example.text)[0], example.text, example.label)

    def read(self, line: str, number: int) -> Text:
        """Return a text to classify, with a note if it is too long."""
        text, whole = self._text(without_markup(line) if self.options.strip_markup else line)
        if not whole:
            say(f"line {number}: longer than {self._limit}")
        return text

    def tokens(self, text: str) -> tuple[list[str], bool]:
        """Return the first words of a text, and whether these are all of its words."""
        limit, stripped = self.options.max_length, text.strip()
        part = stripped[: WIDEST * limit]
        tokens = self.words.pieces(part)
        return tokens[:limit], len(tokens) <= limit and len(part) == len(stripped)

    @property
    def parts(self) -> dict[str, tuple[object, str]]:
        """Labels and words, alike in all members of an ensemble."""
        got = "others; train both on the same data with the same --vocabulary-size and --min-count"
        return {"the labels": (self.labels, f"{', '.join(self.labels):.80}"), "the words": (self.words.words, got)}

    def _text(self, text: str) -> tuple[Text, bool]:
        """Return a text with its words, and whether these are all of its words."""
        text = composed(text)
        tokens, whole = self.tokens(text)
        return Text(self.words.numbers(tokens), 0, text, tokens), whole

    @cached_property
    def _ids(self) -> Callable[[str], tuple[Sequence[int], bool]]:
        def ids(text: str) -> tuple[Sequence[int], bool]:
            read, whole = self._text(text)
            return read.ids, whole

        return lru_cache(_CACHED)(ids)

    @cached_property
    def _once(self) -> Once:
        return Once()

    @property
    def _limit(self) -> str:
        return f"{self.options.max_length} words (--max-length), and later words are not read"


def pad(texts: Sequence[Text]) -> Padded:
    """Return padded ids of words.

    >>> pad([Text([7, 8]), Text([9])]).values
    tensor([[7, 8],
            [9, 0]])
    """
    return Padded(rectangle([text.ids for text in texts]), torch.tensor([text.size for text in texts]))


def _similar(labels: Sequence[str]) -> Iterable[str]:
    """Return notes of labels that differ by case or spaces alone, as mistyped ones do.

    >>> list(_similar(("Good", "bad", "good")))
    ["the labels 'Good' and 'good' are alike but for case or spaces"]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault("".join(label.casefold().split()), []).append(label)
    several = [group for group in groups.values() if len(group) > 1]
    return [f"the labels {' and '.join(map(repr, group))} are alike but for case or spaces" for group in several]


def _initialize(embedding: nn.Embedding, vectors: Vectors, *, trained: bool) -> None:
    """Set the vectors of words.

    Those of other words are drawn at the same scale (Kim 2014, section 4.3).
    """
    with torch.no_grad():
        drawn = embedding.weight[SPECIAL:].std()
        embedding.weight *= vectors.values.std(correction=0) / drawn if bool(drawn > 0) else 1.0
        embedding.weight[vectors.numbers + SPECIAL] = vectors.values
    embedding.weight.requires_grad_(trained)
