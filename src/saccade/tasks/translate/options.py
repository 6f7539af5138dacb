"""Options of translation, and recipes of each data set."""

from dataclasses import dataclass
from typing import Any

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.tasks.generate import coverage
from saccade.tasks.generate import options as generate
from saccade.tasks.looking import LookRequest

__all__ = ["RECIPES", "REQUESTS", "TOKENIZERS", "EvalRequest", "Options", "Request"]

_SMALL = {"warmup_steps": 100, "threads": 1, "checkpoint_steps": 100}
#: Found by training. The models have recipes of their own beside these.
RECIPES: dict[str, dict[str, Any]] = {
    # About 64 dates a batch: many small steps beat few large ones, and a rate below 3e-3 takes more of them. Two
    # threads are little faster than one, and far slower if another program runs.
    "dates": {**_SMALL, "batch_tokens": 1200, "max_steps": 600, "validation_steps": 100, "tokenizer": "characters"},
    # Rows of dates are twice as long in the mean.
    "several-dates": {
        **_SMALL,
        "batch_tokens": 2400,
        "max_steps": 500,
        "validation_steps": 250,
        "tokenizer": "characters",
    },
    # Words, brackets and tags are one token each. A batch has from 20 long to 200 short sentences.
    "trees": {
        **_SMALL,
        "batch_tokens": 2400,
        "max_steps": 800,
        "validation_steps": 200,
        "tokenizer": "words",
        "schedule": "cosine",
        "schedule_steps": 800,
        "final_rate": 0.05,
    },
    # Found on the 29,000 pairs of Multi30k, which these steps pass 15 times. Larger batches make too few steps, and
    # without dropping a third of all features so small a corpus is learned by heart.
    "files": {
        "label_smoothing": 0.1,
        "batch_tokens": 2000,
        "warmup_steps": 400,
        "schedule": "cosine",
        "schedule_steps": 4400,
        "final_rate": 0.02,
        "max_steps": 4400,
        "matmul_precision": "medium",
        "beam_size": 5,
        "length_penalty": 1.0,
    },
}
TOKENIZERS = ("bpe", "characters", "words")
_RANGES = (
    ("batch_tokens", 1, 10_000_000),
    ("vocabulary_size", 260, 1_000_000),  # 256 bytes and 4 special ids are the least that can write any text
    ("max_length", 1, 100_000),
)


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions, generate.Options):
    """Options of all translation runs.

    >>> Options(beam_size=5).beam_size
    5
    """

    source: str | None = None
    """Source language: the suffix of its files, such as de for train.de.
    In a file of pairs it is the name of its column or its code."""

    target: str | None = None
    """Target language, such as en for train.en."""

    tokenizer: str = "bpe"
    """Tokens of the texts: bpe (pieces of words), characters, or words.
    Both languages share the pieces."""

    vocabulary_size: int = 4000
    """Most tokens of the vocabulary, learned from the training split.
    Characters and words have one vocabulary per language."""

    max_length: int = 200
    """Most tokens on either side of a training pair. Longer pairs are left out."""

    batch_tokens: int = 4000
    """Approximate number of tokens per batch, padding included.
    The longer side of each pair counts."""

    def __post_init__(self) -> None:
        generate.Options.__post_init__(self)
        SplitOptions.__post_init__(self)
        in_ranges(self, _RANGES)
        if self.tokenizer not in TOKENIZERS:
            raise ArgumentError(f"--tokenizer: expected {', '.join(TOKENIZERS)}, got {self.tokenizer}")


@dataclass(frozen=True, kw_only=True)
class EvalRequest(coverage.EvalRequest):
    """Options of an evaluation.

    >>> EvalRequest(coverage_penalty=0.2).attends
    True
    """

    replace_unknown: bool = False
    """Replace each unknown token by the input token with the largest attention weight."""

    @property
    def attends(self) -> bool:
        """Whether outputs depend on attention weights."""
        return self.replace_unknown or self.coverage_penalty > 0


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest, coverage.Request):
    """Options of a prediction.

    >>> Request(nbest=3).coverage_penalty
    0.0
    """


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
