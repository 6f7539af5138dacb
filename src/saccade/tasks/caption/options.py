"""What can be said about a run that writes about images, and the defaults that suit each data set."""

from dataclasses import dataclass
from typing import Any

from saccade.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.tasks.generate import options as generate
from saccade.tasks.generate.coverage import EvalRequest, Request
from saccade.tasks.request import LookRequest
from saccade.tasks.splits import SplitOptions

__all__ = ["RECIPES", "REQUESTS", "Options"]

#: The models have recipes of their own beside these.
RECIPES: dict[str, dict[str, Any]] = {
    "scenes": {"flip": False, "shift": 0, "batch_size": 32},
    "files": {"least_count": 3, "beam_size": 5, "label_smoothing": 0.1, "batch_size": 64},
}
_RANGES = (
    ("vocabulary_size", 5, 1_000_000),  # 4 special ids and a word
    ("least_count", 1, 1_000_000),
    ("max_length", 1, 10_000),
    ("batch_size", 1, 1_000_000),
    ("shift", 0, 1000),
)


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions, generate.Options):
    """The options of every run that writes about images, whatever its model.

    >>> Options(size=64).batch_size
    64
    """

    size: int | None = None
    """Pixels of height and width that images of one's own are scaled to; 96 if not given."""

    features: str | None = None
    """Folder of features that `python -m saccade.tasks.image.features` made of the images, by whose names they are
    found; they are taken as they are, and no image is read."""

    least: int = 1
    """Things of a built-in scene, at the least."""

    most: int = 4
    """Things of a built-in scene, at the most."""

    data_seed: int = 0
    """What built-in scenes are drawn from."""

    vocabulary_size: int = 10_000
    """The most words there may be, learned from the training captions, 4 special ones among them."""

    least_count: int = 1
    """How often a word has to be in the training captions to be written."""

    max_length: int = 50
    """Training captions of more words are left out."""

    batch_size: int = 64
    """Captions a batch, each with its image."""

    flip: bool = True
    """Mirror every other image in training; --no-flip where captions say left or right."""

    shift: int = 4
    """Pixels by which images are shifted in training, at most."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        generate.Options.__post_init__(self)
        SplitOptions.__post_init__(self)
        in_ranges(self, (*_RANGES, ("most", 1, 8), ("least", 1, self.most)))
        if self.size is not None and self.features is not None:
            raise ArgumentError(f"--size: expected none with --features, got {self.size}")
        if self.size is not None and not 8 <= self.size <= 1024:
            raise ArgumentError(f"--size: expected a number of pixels from 8 to 1024, got {self.size}")


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
