"""What can be said about a run that classifies images, and the defaults that suit each data set."""

from dataclasses import dataclass
from typing import Any, Literal

from saccade.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.tasks.labels.request import EvalRequest, Request

__all__ = ["RECIPES", "REQUESTS", "LookRequest", "Options"]

#: Found by training, see docs/classify-image.md; the models have recipes of their own beside these.
RECIPES: dict[str, dict[str, Any]] = {
    "shapes": {"flip": False, "shift": 0},
    "files": {"label_smoothing": 0.1},
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of every run that classifies images, whatever its model.

    >>> Options(size=64).batch_size
    128
    """

    size: int | None = None
    """Pixels of height and width that images of folders are scaled to; as the first image has them, 64 at most, if not
    given."""

    batch_size: int = 128
    """Images a batch."""

    flip: bool = True
    """Mirror every other image in training; --no-flip where left and right mean something, as in digits."""

    shift: int = 4
    """Pixels by which images are shifted in training, at most."""

    label_smoothing: float = 0.0
    """Share of the label's probability that is spread evenly over all labels."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        in_ranges(self, (("batch_size", 1, 1_000_000), ("shift", 0, 1000)))
        if self.size is not None and not 8 <= self.size <= 1024:
            raise ArgumentError(f"--size: expected a number of pixels from 8 to 1024, got {self.size}")
        if not 0 <= self.label_smoothing < 1:
            raise ArgumentError(f"--label-smoothing: expected 0 <= label smoothing < 1, got {self.label_smoothing}")


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """What is drawn over an image.

    >>> LookRequest(by="grad-cam").label is None
    True
    """

    by: Literal["attention", "gradient", "grad-cam"] | None = None
    """What chosen positions attend to (attention), how much each pixel moves the answer (gradient), or where the last
    features speak for it (grad-cam); attention if not given, and gradient of a model without."""

    label: str | None = None
    """With gradient and grad-cam: the class that is asked about; the most probable one if not given."""


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
