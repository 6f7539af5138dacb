"""Options of speech recognition, and recipes of each data set."""

from dataclasses import dataclass
from typing import Any, Literal

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.tasks import looking
from saccade.tasks.audio.recordings import check_rate
from saccade.tasks.audio.signals import Normalization
from saccade.tasks.generate import options as generate
from saccade.tasks.generate.request import EvalRequest as GenerateEvalRequest
from saccade.tasks.generate.request import Request as GenerateRequest

__all__ = ["RECIPES", "REQUESTS", "WAVEFORM", "EvalRequest", "LookRequest", "Options", "Request", "check_rescoring"]

# Many small steps. With half of these the attention does not change.
_TONES: dict[str, Any] = {
    "batch_tokens": 2400,
    "warmup_steps": 100,
    "max_steps": 600,
    "threads": 1,
    "checkpoint_steps": 100,
    "validation_steps": 100,
}
#: Tuned by training, see the comments. Models add recipes for their sizes. Other options keep their defaults.
RECIPES: dict[str, dict[str, Any]] = {
    "tones": _TONES,
    "voices": {**_TONES, "max_steps": 1500},
    "phrases": _TONES,
    # User data. Tuned on the 40 minutes of AN4, for 60 epochs. Batches are small, since learning to attend depends on
    # the number of steps rather than the amount of speech.
    "files": {
        "label_smoothing": 0.1,
        "batch_tokens": 3000,
        "stretch": 0.2,
        "warmup_steps": 300,
        "schedule": "cosine",
        "schedule_steps": 5000,
        "final_rate": 0.02,
        "max_steps": 5000,
        "average": 3,
        "beam_size": 20,
        "ctc_rescoring": 0.5,
    },
}
#: Options of the features of a waveform, in the order of `Signals`.
WAVEFORM = ("mels", "window_ms", "hop_ms", "normalization", "trim_db")
_RANGES = (
    ("mels", 1, 1000),
    ("batch_tokens", 1, 100_000_000),
    ("vocabulary_size", 5, 1_000_000),
    ("max_length", 1, 100_000),
    ("hop_ms", 1, 1000),
    ("window_ms", 1, 1000),
    ("max_seconds", 0.01, 100_000),
    ("trim_db", 0, 200),
)
_BYTES = 260  # and 4 special ids


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions, generate.Options):
    """Options of all speech recognition runs.

    >>> Options(tokenizer="characters").hop_ms
    10
    """

    rate: int | None = None
    """Sample rate of the recordings after resampling.
    Default: that of a built-in data set, and the highest of your files between 8000 and 16000."""

    language: str | None = None
    """Language of the words of built-in data, such as fr for zéro, un, deux.

    Default: digits, or the English words of phrases."""

    mels: int = 40
    """Bands of the log-mel features. Data sets of features keep theirs."""

    window_ms: int = 25
    """Width of a frame in milliseconds."""

    hop_ms: int = 10
    """Milliseconds from one frame to the next."""

    normalization: Normalization = "bands"
    """Mean 0 and variance 1 of each band (bands) or of a whole recording (recording)."""

    trim_db: float = 0.0
    """Cut silence at both ends, so many decibels below the loudest frame. 0: none."""

    tokenizer: Literal["words", "characters", "bpe"] = "words"
    """Tokens of the texts: words, characters, or bpe (pieces of words)."""

    vocabulary_size: int = 2000
    """Most tokens of the vocabulary, learned from the training split."""

    max_seconds: float = 20.0
    """Longest training utterance in seconds. Longer ones are left out."""

    max_length: int = 200
    """Most tokens of a training utterance. Longer ones are left out."""

    batch_tokens: int = 8000
    """Approximate number of frames per batch, padding included."""

    stretch: float = 0.1
    """Largest change of the speed of a training utterance, as a fraction."""

    ctc_rescoring: float = 0.0
    """Weight of CTC in the ranking of the beam's outputs. 0: none."""

    def __post_init__(self) -> None:
        generate.Options.__post_init__(self)
        SplitOptions.__post_init__(self)
        in_ranges(self, _RANGES)
        if self.rate is not None:
            check_rate(self.rate)
        if self.hop_ms > self.window_ms:
            raise ArgumentError(f"--hop-ms: expected at most {self.window_ms}, the --window-ms, got {self.hop_ms}")
        if self.tokenizer == "bpe" and self.vocabulary_size < _BYTES:
            expected = f"{_BYTES} or more for bpe, whose first tokens are the bytes"
            raise ArgumentError(f"--vocabulary-size: expected {expected}, got {self.vocabulary_size}")
        if not 0 <= self.stretch < 1:
            raise ArgumentError(f"--stretch: expected a share from 0 to below 1, got {self.stretch}")
        check_rescoring(self.ctc_rescoring, self.beam_size)


def check_rescoring(share: float, beam_size: int) -> None:
    """Reject a share of CTC outside 0 to 1, or above 0 without a beam search."""
    if not 0 <= share <= 1:
        raise ArgumentError(f"--ctc-rescoring: expected a share from 0 to 1, got {share}")
    if share and beam_size == 1:
        way_out = "there is nothing to rank; 0 leaves it out"
        raise ArgumentError(f"--ctc-rescoring: expected a --beam-size above 1, got 1: {way_out}")


@dataclass(frozen=True, kw_only=True)
class EvalRequest(GenerateEvalRequest):
    """Options of an evaluation.

    >>> EvalRequest(ctc_rescoring=0.5).beam_size is None
    True
    """

    ctc_rescoring: float | None = None
    """Weight of CTC in the ranking of the outputs. Default: that of the run."""


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest, GenerateRequest):
    """Options of a prediction.

    >>> Request(nbest=3).ctc_rescoring is None
    True
    """


@dataclass(frozen=True, kw_only=True)
class LookRequest(looking.LookRequest):
    """Options of a picture.

    >>> LookRequest(prefix="high").by is None
    True
    """

    prefix: str | None = None
    """First words of the text, for example the voice to attend to."""

    def __post_init__(self) -> None:
        super().__post_init__()
        Request(prefix=self.prefix)


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
