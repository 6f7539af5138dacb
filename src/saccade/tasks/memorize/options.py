"""What can be said about a run that memorizes, and the defaults that suit each data set."""

from dataclasses import dataclass
from typing import Any

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.tasks import looking

__all__ = ["RECIPES", "REQUESTS", "STORIES", "EvalRequest", "LookRequest", "Options", "Request"]

_FALLING = {"schedule": "linear", "final_rate": 0.1, "warmup_steps": 20, "clip": 10.0, "threads": 1}


def _recipe(steps: int, every: int, rate: float) -> dict[str, Any]:
    """Rates that fall to a tenth over the steps, measured so often."""
    spans = {"max_steps": steps, "schedule_steps": steps, "checkpoint_steps": every, "validation_steps": every}
    return {**_FALLING, **spans, "learning_rate": rate}


#: Found by training, see docs/memorize.md; the models have recipes of their own beside these.
RECIPES: dict[str, dict[str, Any]] = {
    "copy": _recipe(5000, 500, 3e-3),
    "repeat-copy": _recipe(8000, 500, 3e-3),
    "recall": _recipe(6000, 500, 3e-3),
    "sort": _recipe(6000, 500, 3e-3),
    "n-grams": _recipe(3000, 500, 3e-3),
    "files": _recipe(6000, 500, 2e-3),
}


#: What suits stories, in the place of what suits other files.
STORIES: dict[str, Any] = {**_recipe(5000, 500, 3e-3), "batch_size": 32, "sentences": True}


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions):
    """The options of every run that memorizes, whatever its model.

    >>> Options().batch_size
    16
    """

    batch_size: int = 16
    """Sequences per batch, of similar lengths."""

    sentences: bool = False
    """Read a story a sentence per step, as a weighted sum of its words (Sukhbaatar et al. 2015). Default: only for
    bAbI's files."""

    longest: int | None = None
    """Largest built-in problem in training: vectors, items or bits. Default: that of the paper. Tests go beyond it, see
    docs/memorize.md."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        SplitOptions.__post_init__(self)
        in_ranges(self, (("batch_size", 1, 1_000_000),))


@dataclass(frozen=True, kw_only=True)
class EvalRequest:
    """With what memory questions are answered.

    >>> EvalRequest(cells=200).cells
    200
    """

    cells: int | None = None
    """Cells of the external memory. Default: those of training. No weight depends on their number."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        if self.cells is not None and not 1 <= self.cells <= 1 << 20:
            raise ArgumentError(f"--cells: expected a number from 1 to {1 << 20}, got {self.cells}")


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest):
    """How questions are answered.

    >>> Request(nbest=2).nbest
    2
    """

    nbest: int = 1
    """Answers per question, most probable first, each on its own line."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        EvalRequest.__post_init__(self)
        in_ranges(self, (("nbest", 1, 1000),))


@dataclass(frozen=True, kw_only=True)
class LookRequest(EvalRequest, looking.LookRequest):
    """What is drawn of a sequence.

    >>> LookRequest(by="jacobian").cells is None
    True
    """

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        EvalRequest.__post_init__(self)
        looking.LookRequest.__post_init__(self)


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
