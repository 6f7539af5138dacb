"""Options of image captioning, and recipes of each data set."""

from dataclasses import dataclass
from typing import Any

from saccade._definitions.checks import in_ranges
from saccade.tasks.generate import options as generate
from saccade.tasks.generate.coverage import EvalRequest, Request
from saccade.tasks.image.options import LookRequest, VisualOptions

__all__ = ["RECIPES", "REQUESTS", "Options"]

#: The models have recipes of their own beside these.
RECIPES: dict[str, dict[str, Any]] = {
    "scenes": {"flip": False, "shift": 0, "batch_size": 96},  # about 24 scenes, of four sentences each
    "files": {"min_count": 3, "beam_size": 5, "label_smoothing": 0.1, "batch_size": 64},
}


@dataclass(frozen=True, kw_only=True)
class Options(VisualOptions, generate.Options):
    """Options of all captioning runs.

    >>> Options(size=64).batch_size
    64
    """

    size: int | None = None
    """Pixels of height and width that images of one's own are scaled to; 96 if not given."""

    most: int = 4
    """Things of a built-in scene, at the most: 8 or fewer."""

    max_length: int = 50
    """Training captions of more words are left out."""

    batch_size: int = 64
    """Captions a batch, each with its image."""

    flip: bool = True
    """Mirror every other image in training; --no-flip where captions say left or right."""

    shift: int = 4
    """Pixels by which images are shifted in training, at most."""

    def __post_init__(self) -> None:
        generate.Options.__post_init__(self)
        VisualOptions.__post_init__(self)
        in_ranges(self, (("most", 1, 8), ("least", 1, self.most)))


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
