"""What can be said about a translation run, and the defaults that suit each data set."""

from dataclasses import dataclass
from typing import Any

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.tasks.generate import coverage
from saccade.tasks.generate import options as generate
from saccade.tasks.looking import LookRequest

__all__ = ["RECIPES", "REQUESTS", "TOKENIZERS", "EvalRequest", "Options", "Request"]

#: Found by training: see the comments. The models have recipes of their own beside these, for their sizes; options that
#: are in neither keep the defaults of their dataclass.
RECIPES: dict[str, dict[str, Any]] = {
    # About 64 dates a batch: many small steps beat few large ones, and a rate below 3e-3 takes more of them. Two
    # threads are little faster than one where both are free, and far slower where another program runs.
    "dates": {
        "batch_tokens": 1200,
        "warmup_steps": 100,
        "max_steps": 600,
        "threads": 1,
        "checkpoint_steps": 100,
        "validation_steps": 100,
        "tokenizer": "characters",
    },
    # Rows of dates are twice as long in the mean; the rest is as above.
    "several-dates": {
        "batch_tokens": 2400,
        "warmup_steps": 100,
        "max_steps": 500,
        "threads": 1,
        "checkpoint_steps": 100,
        "validation_steps": 250,
        "tokenizer": "characters",
    },
    # A word, a bracket and a tag is one token each. Sentences are short and long, so that a batch has from 20 to 200.
    "trees": {
        "batch_tokens": 2400,
        "warmup_steps": 100,
        "schedule": "cosine",
        "schedule_steps": 800,
        "final_rate": 0.05,
        "max_steps": 800,
        "threads": 1,
        "checkpoint_steps": 100,
        "validation_steps": 200,
        "tokenizer": "words",
    },
    # A corpus of one's own: found on the 29,000 pairs of Multi30k, which these steps pass 15 times. Batches of 2,000
    # make enough of them; without dropping a third of all features so small a corpus is learned by heart.
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
    """The options of every translation run, whatever its model.

    >>> Options(beam_size=5).beam_size
    5
    """

    source: str | None = None
    """The side to translate from: what its files end in, as de for train.de; of a file of pairs its language."""

    target: str | None = None
    """The side to translate to, as en for train.en."""

    tokenizer: str = "bpe"
    """What texts are cut into: bpe (pieces of words, the same for both sides), characters, or words as they stand
    between spaces."""

    vocabulary_size: int = 4000
    """The most tokens there may be, learned from the training split; of characters and words on each side."""

    max_length: int = 200
    """Training pairs with a side of more tokens are left out."""

    batch_tokens: int = 4000
    """Tokens a batch, about, padding included; of each pair the longer side counts."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        generate.Options.__post_init__(self)
        SplitOptions.__post_init__(self)
        in_ranges(self, _RANGES)
        if self.tokenizer not in TOKENIZERS:
            raise ArgumentError(f"--tokenizer: expected {', '.join(TOKENIZERS)}, got {self.tokenizer}")


@dataclass(frozen=True, kw_only=True)
class EvalRequest(coverage.EvalRequest):
    """How translations are found when a run is measured.

    >>> EvalRequest(coverage_penalty=0.2).attends
    True
    """

    replace_unknown: bool = False
    """Write what an unknown token looked at in the input in its place."""

    @property
    def attends(self) -> bool:
        """Whether it needs to know what the model attended to."""
        return self.replace_unknown or self.coverage_penalty > 0


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest, coverage.Request):
    """How translations are written.

    >>> Request(nbest=3).coverage_penalty
    0.0
    """


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
