"""What is learned from a corpus before training: its words, and the vectors of those that are known elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.errors import ArgumentError
from saccade.tasks.batches import spread
from saccade.tasks.classify_text.corpus import Corpus
from saccade.tasks.text.vectors import Vectors, read_vectors
from saccade.tasks.text.words import Words

__all__ = ["Learned", "learn"]

_ENDLESS = 5_000  # texts that are learned from where there is no end of them
_FILES = 200_000  # texts of files, spread over them: more would add words that are nowhere else


@dataclass(frozen=True)
class Learned:
    """What a corpus taught.

    Args:
        words: the tokenizer.
        dim: features of a word's vector, None for the model's own.
        vectors: of the words that have one in the file; None without a file.
        notes: what a user should know.
    """

    words: Words
    dim: int | None
    vectors: Vectors | None
    notes: tuple[str, ...]


def learn(corpus: Corpus, options: Any) -> Learned:
    """Learn from the training split, or from a sample that is spread over it.

    Args:
        corpus: the texts.
        options: of the run; vocabulary_size, min_count, max_length, vectors and embedding_dim count.

    Raises:
        ArgumentError: if no word is known, or the vectors' file is none or does not suit.
        OSError: if it cannot be read.
    """
    size = corpus.size("train")
    indices = range(_ENDLESS) if size is None else spread(size, _FILES)
    texts = [corpus.example("train", index).text for index in indices]
    words = Words.learn(texts, options.vocabulary_size, options.min_count)
    if not words.words:
        raise ArgumentError(f"--min-count: no word is {options.min_count} times in the training split; lower it")
    notes = _too_long(words, texts, options.max_length)
    if options.vectors is None:
        return Learned(words, options.embedding_dim, None, notes)
    vectors = read_vectors(Path(options.vectors), words.words)
    dim = vectors.values.shape[1]
    if options.embedding_dim not in (None, dim):
        raise ArgumentError(f"--embedding-dim: expected {dim}, as {options.vectors} has, got {options.embedding_dim}")
    found = f"{len(vectors.numbers)} of {len(words.words)} words have a vector in {options.vectors}, of {dim} numbers"
    return Learned(words, dim, vectors, (*notes, found))


def _too_long(words: Words, texts: Sequence[str], longest: int) -> tuple[str, ...]:
    count = sum(len(words.pieces(text)) > longest for text in texts)
    cut = f"{count} of {len(texts)} training texts looked at have more than {longest} words"
    return (f"{cut}, and what follows these is not read (--max-length)",) if count else ()
