"""What is learned from a corpus before training: its words, how long captions are, and what images are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.errors import ArgumentError
from saccade.tasks.caption.data.corpus import Corpus
from saccade.tasks.image.features.store import FeatureStore
from saccade.tasks.image.sight import Sight
from saccade.tasks.image.texts import training_texts
from saccade.tasks.saved import TOKENIZER, reading, whole_number
from saccade.tasks.text.tokenizer import from_json
from saccade.tasks.text.words import Words
from saccade.train.files import write_json

__all__ = ["Vocabulary", "learn"]

_ENDLESS, _FILES = 2_000, 1_000_000  # that is learned from: images without end, captions of files


@dataclass(frozen=True)
class Vocabulary:
    """What a corpus taught.

    Args:
        target: the words.
        longest: words of the longest caption that is trained on.
        sight: what is given of images.
    """

    target: Any
    longest: int
    sight: Sight

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        known = {"longest_target": self.longest, "sight": self.sight.to_json()}
        write_json(folder / TOKENIZER, {"target": self.target.to_json(), **known})

    @classmethod
    def restore(cls, folder: Path) -> "Vocabulary":
        """Read tokenizer.json.

        Raises:
            ArgumentError: if it is not there or not whole.
        """
        with reading(folder / TOKENIZER, "the words") as content:
            longest = whole_number(content, "longest_target")
            return cls(from_json(content["target"]), longest, Sight.restore(content["sight"]))


def learn(corpus: Corpus, options: Any, store: FeatureStore | None = None) -> tuple[Vocabulary, str]:
    """Learn from the captions of the training split, and from its images.

    Args:
        corpus: the images with captions.
        options: of the run; vocabulary_size, min_count and max_length count.
        store: of features, in the place of images.

    Returns:
        What was learned, and how many captions are too long to train on, "" if none is.

    Raises:
        ArgumentError: if every caption is too long, or no word is frequent enough.
    """
    texts = [corpus.text("train", index) for index in training_texts(corpus, _FILES, _ENDLESS)]
    target = Words.learn(texts, options.vocabulary_size, options.min_count)
    if not target.words:
        raise ArgumentError(f"--min-count: no word of the captions is there {options.min_count} times; lower it")
    lengths = [len(ids) for ids in target.encode_batch(texts)]
    fitting = [length for length in lengths if length <= options.max_length]
    if not fitting:
        raise ArgumentError(f"--max-length: each training caption has more than {options.max_length} words; raise it")
    out = len(lengths) - len(fitting)
    long = f"{out} of {len(lengths)} training captions have more than {options.max_length} words: left out"
    return Vocabulary(target, max(1, *fitting), Sight.learn(corpus, store)), long if out else ""
