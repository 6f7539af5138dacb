"""Labelled texts as ids of words: vocabulary, vectors of words, and batches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from saccade._system.files import read, write
from saccade.data.cleaning import front
from saccade.data.dataset import training_sample
from saccade.errors import ArgumentError
from saccade.models.classifier import Classifier
from saccade.models.padded import Padded
from saccade.models.word_prior import Coefficients
from saccade.tasks.classify_text import tfidf
from saccade.tasks.classify_text.data import Corpus
from saccade.tasks.export import Signature
from saccade.tasks.saved import reading, whole_number
from saccade.tasks.text.codec import Text, TextCodec
from saccade.tasks.text.markup import without_markup
from saccade.tasks.text.special import SPECIAL, UNKNOWN
from saccade.tasks.text.vectors import Vectors, read_vectors
from saccade.tasks.text.words import Words
from saccade.train.options import select

__all__ = ["LabelledTexts"]

_VECTORS, _PRIOR = "vectors.safetensors", "prior.safetensors"


@dataclass(frozen=True)
class LabelledTexts(TextCodec):
    """Codec of texts with one label each.

    Args:
        labels: all labels, sorted. The number of a label is its index.
        words: the vocabulary.
        dim: features of the word vectors, or None for the default of the model.
        vectors: initial vectors of words, or None if all are drawn.
        prior: logistic regression on TF-IDF, or None without it.
        options: of the run.
    """

    words: Words
    dim: int | None = None
    vectors: Vectors | None = None
    prior: Coefficients | None = None

    @classmethod
    def fit(cls, data: Corpus, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn words and labels from the training split, or from a sample of it.

        Raises:
            ArgumentError: if no word is frequent enough, or the file of vectors does not fit.
            OSError: if that file cannot be read.
        """
        texts = [example.text for example in training_sample(data, cls.endless, cls.learned)]
        fronts = (front(text, options.max_length) for text in texts)
        words = Words.learn(fronts, options.vocabulary_size, options.min_count)
        if not words.words:
            raise ArgumentError(f"--min-count: no word is {options.min_count} times in the training split; lower it")
        codec = cls(tuple(data.labels), words, options.embedding_dim, options=options)
        long = sum(not codec.tokens(text)[1] for text in texts)
        cut = f"{long} of {len(texts)} training texts looked at have more than {codec.limit}" if long else ""
        notes = [*_similar(codec.labels), cut]
        if _has_prior(options):
            codec = codec.with_prior(data)
        if options.vectors is None:
            return codec, notes
        vectors = read_vectors(Path(options.vectors), words.words)
        dim = vectors.values.shape[1]
        if codec.dim not in (None, dim):
            raise ArgumentError(f"--embedding-dim: expected {dim}, as {options.vectors} has, got {codec.dim}")
        count = f"{len(vectors.numbers)} of {len(words.words)} words"
        note = f"{count} have a vector in {options.vectors}, of {dim} numbers"
        return replace(codec, dim=dim, vectors=vectors), [*notes, note]

    def with_prior(self, data: Corpus) -> Self:
        """Return the codec with a logistic regression of training texts, at most a sample."""
        samples = self.encode(training_sample(data, self.endless, tfidf.TEXTS), "train")
        texts, labels = [sample.ids for sample in samples], [sample.labels[0] for sample in samples]
        return replace(self, prior=tfidf.coefficients(texts, labels, len(self.words), len(self.labels)))

    def more(self) -> dict[str, Any]:
        """Return the features of word vectors."""
        return {"embedding_dim": self.dim}

    @classmethod
    def fields(cls, content: Any) -> dict[str, Any]:
        """Return the features of word vectors."""
        return {"dim": None if content["embedding_dim"] is None else whole_number(content, "embedding_dim")}

    def save(self, folder: Path) -> None:
        """Write tokenizer.json, the initial vectors of words, and the logistic regression."""
        super().save(folder)
        if self.prior is not None:
            write(folder / _PRIOR, save(self.prior._asdict()))
        if self.vectors is not None:
            write(folder / _VECTORS, save({"numbers": self.vectors.numbers, "values": self.vectors.values}))

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read the files of `save`.

        The vectors are needed if a training that was killed before its first step begins again.

        Raises:
            ArgumentError: if a file is missing or damaged.
        """
        codec = super().restore(folder, options)
        if _has_prior(options):
            with reading(folder / _PRIOR, "the logistic regression", lambda path: load(read(path))) as tensors:
                codec = replace(codec, prior=Coefficients(**tensors))
        if options.vectors is None:
            return codec
        with reading(folder / _VECTORS, "the word vectors", lambda path: load(read(path))) as tensors:
            return replace(codec, vectors=Vectors(tensors["numbers"], tensors["values"]))

    def build(self, model: Any) -> nn.Module:
        """Return a model for these words and labels, with the initial vectors of words."""
        options = replace(select(self.options, model.Options), embedding_dim=self.dim)
        classifier: Classifier = model(len(self.words), len(self.labels), options)
        classifier.name_words(self.words.words)
        if self.vectors is not None:
            _initialize(classifier.words.embedding, self.vectors, trained=not self.options.freeze_vectors)
        if self.prior is not None:
            classifier.start_from(self.prior)
        return classifier

    def signature(self, model: nn.Module) -> Signature:
        """Return the model as a function of word ids and lengths, for `saccade export`."""

        def draw(batch: int, length: int) -> dict[str, Tensor]:
            ids = torch.arange(batch * length).view(batch, length) % (len(self.words) - UNKNOWN) + UNKNOWN
            lengths = length - torch.arange(batch) % length
            return {"ids": torch.where(torch.arange(length) < lengths[:, None], ids, 0), "lengths": lengths}

        about = {
            "labels": self.labels,
            "tokenizer": {**self.words.to_json(), "pattern": self.words.pattern},
            "max_length": self.options.max_length,
            "strip_markup": self.options.strip_markup,
        }
        sizes = {"ids": {0: "batch", 1: "length"}, "lengths": {0: "batch"}}
        return Signature(_OfTensors(model), draw, sizes, ["logits"], about)

    def read(self, line: str, number: int) -> Text:
        """Return a text to classify, with a note if it is too long."""
        return super().read(without_markup(line) if self.options.strip_markup else line, number)


def _has_prior(options: Any) -> bool:
    """Whether the option is on. Models of other packages may lack it."""
    return getattr(options, "prior", "none") == "tfidf"


class _OfTensors(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        logits: Tensor = self.model(Padded(ids, lengths))
        return logits


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
