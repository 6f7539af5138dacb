"""Options of glimpses, and recipes of each data set."""

from dataclasses import dataclass
from typing import Any

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.models.checks import below_one
from saccade.tasks.image import maps
from saccade.tasks.labels import request as labels
from saccade.tasks.looking import By
from saccade.tasks.request import NoOptions

__all__ = ["RECIPES", "REQUESTS", "EvalRequest", "LookRequest", "Options", "Request"]

RECIPES: dict[str, dict[str, Any]] = {
    "digits": {},
    "translated": {},
    "cluttered": {"distractors": 4},
    "row": {"canvas": 100},
    "files": {},
}
_LARGEST = 10_000


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions):
    """Options of all runs with glimpses.

    >>> Options(canvas=100).batch_size
    32
    """

    digits: str | None = None
    """Folder of MNIST's files for built-in data. Default: the digits of scikit-learn."""

    canvas: int = 60
    """Height and width of translated and cluttered images, and of rows, in pixels."""

    shortest: int = 1
    """Fewest digits of a row."""

    longest: int = 3
    """Most digits of a row. Their string is the label."""

    distractors: int = 0
    """Pieces of other digits in a cluttered image."""

    distractor_size: int = 8
    """Height and width of these pieces in pixels."""

    data_seed: int = 0
    """Seed of translated and cluttered images and of rows."""

    size: int | None = None
    """Height and width of images of folders in pixels.
    Default: those of the first image, at most 64."""

    batch_size: int = 32
    """Images per batch, each with --samples rollouts."""

    shift: int = 0
    """Largest random shift of a training image, in pixels."""

    rollouts: int = 10
    """Rollouts of an evaluation. It reports single ones and their mean."""

    label_smoothing: float = 0.0
    """Probability spread evenly over all labels."""

    def __post_init__(self) -> None:
        SplitOptions.__post_init__(self)
        in_ranges(self, (("batch_size", 1, 1_000_000), ("shift", 0, 1000), ("rollouts", 1, _LARGEST)))
        if self.size is not None and not 8 <= self.size <= 1024:
            raise ArgumentError(f"--size: expected a number of pixels from 8 to 1024, got {self.size}")
        below_one(self, "label_smoothing")


@dataclass(frozen=True, kw_only=True)
class EvalRequest(NoOptions):
    """Options of an evaluation.

    >>> EvalRequest(rollouts=5).rollouts
    5
    """

    rollouts: int | None = None
    """Rollouts to average. Default: those of the run."""

    def __post_init__(self) -> None:
        if self.rollouts is not None and not 1 <= self.rollouts <= _LARGEST:
            raise ArgumentError(f"--rollouts: expected a number from 1 to {_LARGEST}, got {self.rollouts}")


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest, labels.Request):
    """Options of answers.

    >>> Request(nbest=2, rollouts=3).nbest
    2
    """

    rollouts: int | None = None
    """Rollouts per image. Their probabilities are averaged. Default: 1."""

    likeliest: bool = False
    """Take the most probable path instead of sampled ones."""

    def __post_init__(self) -> None:
        EvalRequest.__post_init__(self)
        labels.Request.__post_init__(self)
        if self.likeliest and self.rollouts is not None:
            raise ArgumentError(f"--rollouts: expected none with --likeliest, which is one path, got {self.rollouts}")


@dataclass(frozen=True, kw_only=True)
class LookRequest(maps.LookRequest):
    """Options of pictures.

    >>> LookRequest().likeliest
    False
    """

    by: By | None = None
    """Method of the picture: glimpses and their probabilities (attention).
    A model without glimpses has gradients by pixels, Grad-CAM, or integrated gradients.
    Default: attention, or gradient for a model without it."""

    likeliest: bool = False
    """Draw the most probable path instead of a sampled one."""


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
