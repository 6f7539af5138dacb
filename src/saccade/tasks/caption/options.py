"""Options of image captioning, and recipes of each data set."""

from dataclasses import dataclass
from typing import Any

from saccade._definitions.checks import in_ranges
from saccade.tasks.generate import options as generate
from saccade.tasks.generate.coverage import EvalRequest, Request
from saccade.tasks.image.options import LookRequest, VisualOptions

__all__ = ["RECIPES", "REQUESTS", "Options"]

_SCENES: dict[str, Any] = {"flip": False, "shift": 0, "batch_size": 96}  # about 24 scenes, of four texts each
RECIPES: dict[str, dict[str, Any]] = {
    "scenes": _SCENES,
    "scenes-questions": _SCENES,
    "files": {"min_count": 3, "beam_size": 5, "label_smoothing": 0.1, "batch_size": 64},
}


@dataclass(frozen=True, kw_only=True)
class Options(VisualOptions, generate.Options):
    """Options of all captioning runs.

    >>> Options(size=64).batch_size
    64
    """

    size: int | None = None
    """Height and width of images of files in pixels. Default: 96."""

    most: int = 4
    """Most shapes of a built-in scene, up to 8."""

    max_length: int = 50
    """Most words of a training caption. Longer ones are left out."""

    batch_size: int = 64
    """Captions per batch, each with its image."""

    flip: bool = True
    """Mirror every other training image. Use --no-flip if captions say left or right."""

    shift: int = 4
    """Largest random shift of a training image, in pixels."""

    def __post_init__(self) -> None:
        generate.Options.__post_init__(self)
        VisualOptions.__post_init__(self)
        in_ranges(self, (("most", 1, 8), ("least", 1, self.most)))


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
