"""What can be said about a run that classifies images, and the defaults that suit each data set."""

from dataclasses import dataclass
from typing import Any

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.tasks.image.maps import LookRequest
from saccade.tasks.labels.request import EvalRequest, Request

__all__ = ["RECIPES", "REQUESTS", "Options"]

#: Found by training, see docs/classify-image.md; the models have recipes of their own beside these.
RECIPES: dict[str, dict[str, Any]] = {
    "shapes": {"flip": False, "shift": 0},
    "files": {"label_smoothing": 0.1},
}


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions):
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
        SplitOptions.__post_init__(self)
        in_ranges(self, (("batch_size", 1, 1_000_000), ("shift", 0, 1000)))
        if self.size is not None and not 8 <= self.size <= 1024:
            raise ArgumentError(f"--size: expected a number of pixels from 8 to 1024, got {self.size}")
        if not 0 <= self.label_smoothing < 1:
            raise ArgumentError(f"--label-smoothing: expected 0 <= label smoothing < 1, got {self.label_smoothing}")


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
