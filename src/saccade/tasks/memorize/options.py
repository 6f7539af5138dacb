"""Options of memorizing, and recipes of each data set."""

from dataclasses import dataclass
from typing import Any

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.tasks import looking

__all__ = ["RECIPES", "REQUESTS", "STORIES", "EvalRequest", "LookRequest", "Options", "Request"]


def _recipe(steps: int, rate: float = 3e-3) -> dict[str, Any]:
    """Options of a training with a rate falling to a tenth over its steps."""
    spans = {"max_steps": steps, "schedule_steps": steps, "checkpoint_steps": 500, "validation_steps": 500}
    falling = {"schedule": "linear", "final_rate": 0.1, "warmup_steps": 20, "clip": 10.0, "threads": 1}
    return {**falling, **spans, "learning_rate": rate}


#: Tuned by training, see docs/memorize.md. Models add recipes to these.
RECIPES: dict[str, dict[str, Any]] = {
    "copy": _recipe(5000),
    "repeat-copy": _recipe(8000),
    "recall": _recipe(6000),
    "sort": _recipe(6000),
    "n-grams": _recipe(3000),
    "files": _recipe(6000, 2e-3),
}

#: In place of "files" for stories.
STORIES: dict[str, Any] = {**_recipe(5000), "batch_size": 32, "sentences": True}


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions):
    """Options of all runs that memorize.

    >>> Options().batch_size
    16
    """

    batch_size: int = 16
    """Sequences per batch, of similar lengths."""

    sentences: bool = False
    """Read a sentence of a story per step.
    It is a weighted sum of its words (Sukhbaatar et al. 2015). Default: only for bAbI's files."""

    longest: int | None = None
    """Largest built-in problem in training: vectors, items or bits.
    Tests go beyond it (docs/memorize.md). Default: that of the paper."""

    def __post_init__(self) -> None:
        SplitOptions.__post_init__(self)
        in_ranges(self, (("batch_size", 1, 1_000_000),))


@dataclass(frozen=True, kw_only=True)
class EvalRequest:
    """Options of an evaluation.

    >>> EvalRequest(cells=200).cells
    200
    """

    cells: int | None = None
    """Cells of the external memory. Default: those of training.
    No weight depends on their number."""

    def __post_init__(self) -> None:
        if self.cells is not None:
            in_ranges(self, (("cells", 1, 1 << 20),))


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest):
    """Options of a prediction.

    >>> Request(nbest=2).nbest
    2
    """

    nbest: int = 1
    """Answers per question, most probable first, each on its own line."""

    def __post_init__(self) -> None:
        super().__post_init__()
        in_ranges(self, (("nbest", 1, 1000),))


@dataclass(frozen=True, kw_only=True)
class LookRequest(EvalRequest, looking.LookRequest):
    """Options of a picture.

    >>> LookRequest(by="jacobian").cells is None
    True
    """

    def __post_init__(self) -> None:
        EvalRequest.__post_init__(self)
        looking.LookRequest.__post_init__(self)


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
