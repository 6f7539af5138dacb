"""What is learned from a corpus before training: its tokenizer, and how long its texts are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.errors import ArgumentError
from saccade.tasks.batches import spread
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.tokenizer import UNKNOWN, Characters, SpacedWords, Tokenizer
from saccade.tasks.transcribe.corpus import Corpus

__all__ = ["Learned", "learn"]

_ENDLESS = 2000  # utterances that are learned from where there is no end of them
_FILES = 100_000  # of files, spread over them: more would change little of what is learned
_TOKENIZERS: dict[str, Any] = {"words": SpacedWords, "characters": Characters, "bpe": BytePairs}


@dataclass(frozen=True)
class Learned:
    """What a corpus taught.

    Args:
        target: tokenizer of the texts.
        longest: tokens of the longest text that is trained on.
        note: what a user should know of the texts, "" if nothing.
    """

    target: Tokenizer
    longest: int
    note: str


def learn(corpus: Corpus, options: Any) -> Learned:
    """Learn from the texts of the training split, or from a sample that is spread over it.

    Args:
        corpus: the utterances.
        options: of the run; tokenizer, vocabulary_size and max_length count.

    Raises:
        ArgumentError: if every text is too long.
    """
    size = corpus.size("train")
    texts = [corpus.text("train", index) for index in (range(_ENDLESS) if size is None else spread(size, _FILES))]
    target: Tokenizer = _TOKENIZERS[options.tokenizer].learn(texts, options.vocabulary_size)
    lengths = [len(ids) for ids in target.encode_batch(texts)]
    fitting = [length for length in lengths if length <= options.max_length]
    if not fitting:
        raise ArgumentError(f"--max-length: each training text has more than {options.max_length} tokens; raise it")
    left_out = len(lengths) - len(fitting)
    long = f"{left_out} of {len(lengths)} training texts looked at have more than {options.max_length} tokens"
    notes = [f"{long}, and such are left out (--max-length)" if left_out else "", *_strange(corpus, target, texts)]
    return Learned(target, max(1, *fitting), "; ".join(filter(None, notes)))


def _strange(corpus: Corpus, target: Tokenizer, training: Sequence[str]) -> Iterator[str]:
    """Notes on what cannot be written: it is beyond the vocabulary's size, or never in training."""
    cut = _unknown(training, target)
    if cut:
        yield f"{_some(cut)} are not among the most frequent (--vocabulary-size), and cannot be written"
    for split in ("validation", "test"):
        texts = [corpus.text(split, index) for index in range(corpus.size(split) or 0)]
        never = [piece for piece in _unknown(texts, target) if piece not in set(cut)]
        if never:
            yield f"{split} has {_some(never)}, which training has not: they cannot be written"


def _some(pieces: Sequence[str]) -> str:
    """The first five of some."""
    return ", ".join(pieces[:5]) + (f" and {len(pieces) - 5} more" if len(pieces) > 5 else "")


def _unknown(texts: Sequence[str], target: Tokenizer) -> list[str]:
    found: dict[str, None] = {}
    for text, ids in zip(texts, target.encode_batch(texts), strict=True):
        if UNKNOWN in ids:
            pieces = target.pieces(text)
            found |= {piece: None for piece, number in zip(pieces, ids, strict=True) if number == UNKNOWN}
    return sorted(found)
