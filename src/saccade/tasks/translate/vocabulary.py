"""What is learned from a corpus before training: its tokenizers, and how long its texts are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.data.cleaning import front
from saccade.data.dataset import training_sample
from saccade.errors import ArgumentError
from saccade.tasks.saved import TOKENIZER, reading, whole_number
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.tokenizer import Characters, SpacedWords, Tokenizer, from_json
from saccade.tasks.translate.batches import encode_fitting
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.train.files import write_json

__all__ = ["Vocabulary", "learn"]

_ENDLESS = 20_000  # pairs that are learned from where there is no end of them
_FILES = 100_000  # pairs of a file, spread over it: more would change little of what is learned
_PART = 1000  # pairs encoded at once


@dataclass(frozen=True)
class Vocabulary:
    """What a corpus taught.

    Args:
        source: tokenizer of the sources.
        target: tokenizer of the targets; the same object where one serves both.
        longest: tokens of the longest target that is trained on.
    """

    source: Tokenizer
    target: Tokenizer
    longest: int

    @property
    def joint(self) -> bool:
        """Whether an id means the same token on both sides."""
        return self.source is self.target

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        sides = {"joint": self.source} if self.joint else {"source": self.source, "target": self.target}
        described = {name: tokenizer.to_json() for name, tokenizer in sides.items()}
        write_json(folder / TOKENIZER, {**described, "longest_target": self.longest})

    @classmethod
    def restore(cls, folder: Path) -> "Vocabulary":
        """Read tokenizer.json.

        Raises:
            ArgumentError: if it is not there or not whole.
        """
        with reading(folder / TOKENIZER, "the tokenizers") as content:
            longest = whole_number(content, "longest_target")
            if "joint" in content:
                joint = from_json(content["joint"])
                return cls(joint, joint, longest)
            return cls(from_json(content["source"]), from_json(content["target"]), longest)


def learn(corpus: Corpus, options: Any) -> tuple[Vocabulary, str]:
    """Learn from the training split, or from a sample that is spread over it.

    Args:
        corpus: the pairs.
        options: of the run; tokenizer, vocabulary_size and max_length count.

    Returns:
        What was learned, and how many pairs are too long to train on, "" if none is.

    Raises:
        ArgumentError: if every pair is too long.
    """
    pairs = training_sample(corpus, _ENDLESS, _FILES)
    source, target = _tokenizers(pairs, options)
    lengths = [
        len(encoded.target)
        for first in range(0, len(pairs), _PART)
        for encoded in encode_fitting(pairs[first : first + _PART], source, target, options.max_length)
    ]
    note = _too_long(len(lengths), len(pairs), options.max_length)
    return Vocabulary(source, target, max(1, *lengths)), note


def _too_long(fitting: int, seen: int, longest: int) -> str:
    """Return a note on pairs that are too long to train on, "" if none is.

    Raises:
        ArgumentError: if all are.
    """
    if not fitting:
        raise ArgumentError(f"--max-length: each training pair has a side of more than {longest} tokens; raise it")
    left_out = f"{seen - fitting} of {seen} training pairs looked at have a side of more than {longest} tokens"
    return f"{left_out}, and such are left out (--max-length)" if fitting < seen else ""


def _tokenizers(pairs: Sequence[Pair], options: Any) -> tuple[Tokenizer, Tokenizer]:
    sources, targets = (
        [front(text, options.max_length) for text in side]
        for side in ([pair.source for pair in pairs], [pair.target for pair in pairs])
    )
    if options.tokenizer == "bpe":  # names, numbers and cognates are then the same tokens on both sides
        joint = BytePairs.learn([*sources, *targets], options.vocabulary_size)
        return joint, joint
    units = Characters if options.tokenizer == "characters" else SpacedWords
    return units.learn(sources, options.vocabulary_size), units.learn(targets, options.vocabulary_size)
