"""What is learned from a corpus before training: its tokenizer, and how long its texts are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.data.dataset import inventory, spread
from saccade.errors import ArgumentError
from saccade.tasks.audio.signals import Signals
from saccade.tasks.saved import TOKENIZER, reading, whole_number
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.text.tokenizer import Characters, SpacedWords, Tokenizer, from_json
from saccade.tasks.transcribe.data.corpus import Corpus
from saccade.tasks.transcribe.options import Options
from saccade.train.files import write_json
from saccade.train.options import flag

__all__ = ["Vocabulary", "learn"]

_ENDLESS = 2000  # utterances that are learned from where there is no end of them
_FILES = 100_000  # of files, spread over them: more would change little of what is learned
_TOKENIZERS: dict[str, Any] = {"words": SpacedWords, "characters": Characters, "bpe": BytePairs}


@dataclass(frozen=True)
class Vocabulary:
    """What a corpus taught.

    Args:
        target: tokenizer of the texts.
        longest: tokens of the longest text that is trained on.
        signals: what recordings are taken as.
    """

    target: Tokenizer
    longest: int
    signals: Signals

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        known = {"longest_target": self.longest, "rate": self.signals.rate, "dim": self.signals.dim}
        write_json(folder / TOKENIZER, {"target": self.target.to_json(), **known})

    @classmethod
    def restore(cls, folder: Path, options: Any) -> "Vocabulary":
        """Read tokenizer.json.

        Raises:
            ArgumentError: if it is not there or not whole.
        """
        with reading(folder / TOKENIZER, "the tokenizer") as content:
            longest = whole_number(content, "longest_target")
            rate, dim = (None if content[name] is None else whole_number(content, name) for name in ("rate", "dim"))
            if (rate is None) == (dim is None):
                raise ValueError(f"rate {rate} and dim {dim}, of which one is null")
            return cls(from_json(content["target"]), longest, _signals(rate, dim, options))


def learn(corpus: Corpus, options: Any) -> tuple[Vocabulary, str]:
    """Learn from the texts of the training split, or from a sample that is spread over it.

    Args:
        corpus: the utterances.
        options: of the run; tokenizer, vocabulary_size and max_length count, and what features are made of.

    Returns:
        What was learned, and what a user should know of the texts, "" if nothing.

    Raises:
        ArgumentError: if every text is too long, or features cannot be made so.
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
    vocabulary = Vocabulary(target, max(1, *fitting), _signals(corpus.rate, corpus.dim, options))
    return vocabulary, "; ".join(filter(None, notes))


def _signals(rate: int | None, dim: int | None, options: Any) -> Signals:
    """What recordings are taken as, once it is known that such features can be made."""
    if dim is None:
        signals = Signals(rate, dim, options.mels, options.window_ms, options.hop_ms)
        signals.check()
        return signals
    for name in ("mels", "window_ms", "hop_ms"):
        if (value := getattr(options, name)) != Options.__dataclass_fields__[name].default:
            raise ArgumentError(f"{flag(name)}: expected only with recordings, as these data are features, got {value}")
    return Signals(rate, dim)


def _strange(corpus: Corpus, target: Tokenizer, training: Sequence[str]) -> Iterator[str]:
    """Notes on what cannot be written: it is beyond the vocabulary's size, or never in training."""
    cut = _unknown(training, target)
    if cut:
        yield f"{inventory(cut)} are not among the most frequent (--vocabulary-size), and cannot be written"
    for split in ("validation", "test"):
        texts = [corpus.text(split, index) for index in range(corpus.size(split) or 0)]
        never = [piece for piece in _unknown(texts, target) if piece not in set(cut)]
        if never:
            yield f"{split} has {inventory(never)}, which training has not: they cannot be written"


def _unknown(texts: Sequence[str], target: Tokenizer) -> list[str]:
    found: dict[str, None] = {}
    for text, ids in zip(texts, target.encode_batch(texts), strict=True):
        if UNKNOWN in ids:
            pieces = target.pieces(text)
            found |= {piece: None for piece, number in zip(pieces, ids, strict=True) if number == UNKNOWN}
    return sorted(found)
