"""What can be said about a run that classifies texts, and the defaults that suit each data set."""

from dataclasses import dataclass, field
from typing import Any

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.looking import LookRequest
from saccade.tasks.labels.request import EvalRequest, Request
from saccade.train.options import PATH

__all__ = ["RECIPES", "REQUESTS", "Options"]

#: Found by training, see docs/results.md; the models have recipes of their own beside these.
RECIPES: dict[str, dict[str, Any]] = {
    "reviews": {
        "batch_tokens": 600,
        "warmup_steps": 20,
        "max_steps": 400,
        "threads": 1,
        "checkpoint_steps": 200,
        "validation_steps": 100,
        "dropout": 0.1,
        "word_dropout": 0.0,
    },
    # Found on the 6,920 sentences of SST-2, an epoch of which takes 140 steps, by their validation split: a rate of
    # 1e-3 takes more steps and ended lower; dropping a third of the words in a tenth's place,
    # and a decay of weights, made no difference beyond chance.
    "files": {
        "batch_tokens": 1000,
        "warmup_steps": 50,
        "learning_rate": 6e-3,
        "schedule": "constant",
        "max_steps": 1400,
        "checkpoint_steps": 140,
        "validation_steps": 140,
        "validation_examples": 5000,
        "patience": 4,
        "threads": 1,
    },
}
_RANGES = (
    ("batch_tokens", 1, 10_000_000),
    ("vocabulary_size", 5, 10_000_000),  # 4 special ids, and a word
    ("min_count", 1, 1_000_000),
    ("max_length", 1, 100_000),
)


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions):
    """The options of every run that classifies texts, whatever its model.

    >>> Options(min_count=2).vocabulary_size
    30000
    """

    vocabulary_size: int = 30_000
    """Most words of the vocabulary: the most frequent of the training split."""

    min_count: int = 1
    """Fewest occurrences of a word of the vocabulary in the training split."""

    vectors: str | None = field(default=None, metadata=PATH)
    """File of initial word vectors in the text format of GloVe or word2vec, perhaps gzipped."""

    freeze_vectors: bool = False
    """Do not train the word vectors of the file."""

    max_length: int = 400
    """Most words of a text. Later words are not read."""

    strip_markup: bool = field(default=False, metadata={"budget": True})  # a run compares the texts themselves
    """Remove HTML: tags become spaces, and entities such as &amp; their characters."""

    batch_tokens: int = 1000
    """Approximate number of words per batch, padding included."""

    label_smoothing: float = 0.0
    """Probability that is spread evenly over all labels."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        SplitOptions.__post_init__(self)
        in_ranges(self, _RANGES)
        if not 0 <= self.label_smoothing < 1:
            raise ArgumentError(f"--label-smoothing: expected 0 <= label smoothing < 1, got {self.label_smoothing}")
        if self.vectors == "":
            raise ArgumentError("--vectors: expected a file, got an empty name")
        if self.freeze_vectors and self.vectors is None:
            raise ArgumentError("--freeze-vectors: expected only with --vectors, got none to leave as they are")


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
