"""What is learned from a corpus before training: its words and labels, and the vectors of words known elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade._system.files import read, write, write_json
from saccade.data.cleaning import WIDEST, front
from saccade.data.dataset import training_sample
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.corpus import Corpus
from saccade.tasks.saved import TOKENIZER, labels_from, reading, whole_number
from saccade.tasks.text.vectors import Vectors, read_vectors
from saccade.tasks.text.words import Words

__all__ = ["Vocabulary", "learn"]

_ENDLESS = 5_000  # texts that are learned from where there is no end of them
_FILES = 200_000  # texts of files, spread over them: more would add words that are nowhere else
_VECTORS = "vectors.safetensors"


@dataclass(frozen=True)
class Vocabulary:
    """What a corpus taught.

    Args:
        words: the tokenizer.
        labels: all labels, sorted; a label's number is its place.
        dim: features of a word's vector, None for the model's own.
        vectors: the vectors that words begin with, None where all are drawn.
    """

    words: Words
    labels: tuple[str, ...]
    dim: int | None
    vectors: Vectors | None

    def tokens(self, text: str, most: int) -> tuple[list[str], bool]:
        """Return the words of a text that are read, at most so many, and whether they are all of them."""
        stripped = text.strip()
        part = stripped[: WIDEST * most]
        tokens = self.words.pieces(part)
        return tokens[:most], len(tokens) <= most and len(part) == len(stripped)

    def save(self, folder: Path) -> None:
        """Write tokenizer.json, and the vectors that training begins with."""
        described = {"words": self.words.to_json(), "labels": list(self.labels), "embedding_dim": self.dim}
        write_json(folder / TOKENIZER, described)
        if self.vectors is not None:
            from safetensors.torch import save

            write(folder / _VECTORS, save({"numbers": self.vectors.numbers, "values": self.vectors.values}))

    @classmethod
    def restore(cls, folder: Path, *, vectors: bool) -> "Vocabulary":
        """Read back what `save` wrote, the vectors too where there are some: training may have to begin again.

        Raises:
            ArgumentError: if a file is not there or not whole.
        """
        with reading(folder / TOKENIZER, "the words and labels") as content:
            labels = labels_from(content)
            dim = None if content["embedding_dim"] is None else whole_number(content, "embedding_dim")
            words = Words.from_json(content["words"])
        return cls(words, labels, dim, _read_vectors(folder / _VECTORS) if vectors else None)


def learn(corpus: Corpus, options: Any) -> tuple[Vocabulary, tuple[str, ...]]:
    """Learn from the training split, or from a sample that is spread over it.

    Args:
        corpus: the texts.
        options: of the run; vocabulary_size, min_count, max_length, vectors and embedding_dim count.

    Returns:
        What was learned, and what a user should know of it.

    Raises:
        ArgumentError: if no word is known, or the vectors' file is none or does not suit.
        OSError: if it cannot be read.
    """
    texts = [front(example.text, options.max_length) for example in training_sample(corpus, _ENDLESS, _FILES)]
    words, labels = Words.learn(texts, options.vocabulary_size, options.min_count), tuple(corpus.labels)
    if not words.words:
        raise ArgumentError(f"--min-count: no word is {options.min_count} times in the training split; lower it")
    notes = *_alike(labels), *_too_long(words, texts, options.max_length)
    if options.vectors is None:
        return Vocabulary(words, labels, options.embedding_dim, None), notes
    vectors = read_vectors(Path(options.vectors), words.words)
    dim = vectors.values.shape[1]
    if options.embedding_dim not in (None, dim):
        raise ArgumentError(f"--embedding-dim: expected {dim}, as {options.vectors} has, got {options.embedding_dim}")
    found = f"{len(vectors.numbers)} of {len(words.words)} words have a vector in {options.vectors}, of {dim} numbers"
    return Vocabulary(words, labels, dim, vectors), (*notes, found)


def _alike(labels: Sequence[str]) -> tuple[str, ...]:
    """A note of labels that differ by case or spaces alone, as mistyped ones do.

    >>> _alike(("Good", "bad", "good"))
    ("the labels 'Good' and 'good' are alike but for case or spaces",)
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault("".join(label.casefold().split()), []).append(label)
    several = [group for group in groups.values() if len(group) > 1]
    return tuple(f"the labels {' and '.join(map(repr, group))} are alike but for case or spaces" for group in several)


def _too_long(words: Words, texts: Sequence[str], longest: int) -> tuple[str, ...]:
    count = sum(len(text) > WIDEST * longest or len(words.pieces(text)) > longest for text in texts)
    cut = f"{count} of {len(texts)} training texts looked at have more than {longest} words"
    return (f"{cut}, and what follows these is not read (--max-length)",) if count else ()


def _read_vectors(path: Path) -> Vectors:
    """The vectors that a run keeps.

    Raises:
        ArgumentError: if they are not there or not whole.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        found = load(read(path))
        return Vectors(found["numbers"], found["values"])
    except OSError as error:
        raise ArgumentError(f"{path}: expected the word vectors of this run, got {error.strerror or error}") from error
    except (SafetensorError, KeyError) as error:
        raise ArgumentError(f"{path}: expected the word vectors of this run, got {error}") from error
