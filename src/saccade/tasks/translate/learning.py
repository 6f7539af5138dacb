"""What is learned from a corpus before training: its tokenizers, and how long its texts are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from saccade.errors import ArgumentError
from saccade.tasks.batches import spread
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.tokenizer import Characters, Tokenizer
from saccade.tasks.translate.batches import encode
from saccade.tasks.translate.corpus import Corpus, Pair

__all__ = ["Learned", "learn"]

_ENDLESS = 20_000  # pairs that are learned from where there is no end of them
_FILES = 100_000  # pairs of a file, spread over it: more would change little of what is learned
_PART = 1000  # pairs encoded at once


@dataclass(frozen=True)
class Learned:
    """What a corpus taught.

    Args:
        source: tokenizer of the sources.
        target: tokenizer of the targets; the same object where one serves both.
        longest: tokens of the longest target that is trained on.
        note: how many pairs are too long to train on, "" if none is.
    """

    source: Tokenizer
    target: Tokenizer
    longest: int
    note: str


def learn(corpus: Corpus, options: Any) -> Learned:
    """Learn from the training split, or from a sample that is spread over it.

    Args:
        corpus: the pairs.
        options: of the run; tokenizer, vocabulary_size and max_length count.

    Raises:
        ArgumentError: if every pair is too long.
    """
    size = corpus.size("train")
    pairs = [corpus.example("train", index) for index in (range(_ENDLESS) if size is None else spread(size, _FILES))]
    source, target = _tokenizers(pairs, options)
    lengths = [
        (len(encoded.source), len(encoded.target))
        for first in range(0, len(pairs), _PART)
        for encoded in encode(pairs[first : first + _PART], source, target)
    ]
    fitting = [target for source, target in lengths if max(source, target) <= options.max_length]
    note = _too_long(len(lengths) - len(fitting), len(pairs), options.max_length)
    return Learned(source, target, max(1, *fitting), note)


def _tokenizers(pairs: Sequence[Pair], options: Any) -> tuple[Tokenizer, Tokenizer]:
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    if options.tokenizer == "bpe":  # names, numbers and cognates are then the same tokens on both sides
        joint = BytePairs.learn([*sources, *targets], options.vocabulary_size)
        return joint, joint
    return (Characters.learn(sources, options.vocabulary_size), Characters.learn(targets, options.vocabulary_size))


def _too_long(count: int, seen: int, longest: int) -> str:
    if count == seen:
        raise ArgumentError(f"--max-length: each training pair has a side of more than {longest} tokens; raise it")
    left_out = f"{count} of {seen} training pairs looked at have a side of more than {longest} tokens"
    return f"{left_out}, and such are left out (--max-length)" if count else ""
