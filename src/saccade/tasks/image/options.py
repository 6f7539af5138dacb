"""Options of tasks about images with texts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.tasks.image.features.store import FeatureStore
from saccade.tasks.image.pictures import check_size
from saccade.tasks.looking import By, check_by
from saccade.train.options import PATH

__all__ = ["LookRequest", "VisualOptions"]


@dataclass(frozen=True, kw_only=True)
class VisualOptions(SplitOptions):
    """Options of all runs with images and texts.

    >>> VisualOptions(size=64).vocabulary_size
    10000
    """

    size: int | None = None
    """Height and width of images of files after scaling, in pixels."""

    features: str | None = field(default=None, metadata=PATH)
    """Folder of features of the images, read in place of these.
    `python -m saccade.tasks.image.features` computes it."""

    least: int = 1
    """Fewest shapes of a built-in scene."""

    most: int = 8
    """Most shapes of a built-in scene, up to 8."""

    data_seed: int = 0
    """Seed of the built-in scenes."""

    vocabulary_size: int = 10_000
    """Most words of the vocabulary, 4 special ones included.
    They are the most frequent of the training split."""

    min_count: int = 1
    """Fewest occurrences of a word of the vocabulary in the training split."""

    max_length: int = 50
    """Most words of a text."""

    batch_size: int = 32
    """Texts per batch, each with its image."""

    shift: int = 0
    """Largest random shift of a training image, in pixels."""

    def __post_init__(self) -> None:
        SplitOptions.__post_init__(self)
        large, special = 1_000_000, 4  # ids that are no words
        ranges = (("batch_size", 1, large), ("vocabulary_size", special + 1, large), ("min_count", 1, large))
        in_ranges(self, (*ranges, ("max_length", 1, 10_000), ("shift", 0, 1000)))
        if self.size is not None and self.features is not None:
            raise ArgumentError(f"--size: expected none with --features, got {self.size}")
        check_size(self.size)

    def refuse_given(self, names: Sequence[str], expected: str) -> None:
        """Reject options without effect, unless they keep their defaults.

        Example:
            >>> VisualOptions(least=2).refuse_given(["least"], "only with --data scenes")
            Traceback (most recent call last):
            saccade.errors.ArgumentError: --least: expected only with --data scenes, got 2
        """
        for name in names:
            if (value := getattr(self, name)) != type(self).__dataclass_fields__[name].default:
                raise ArgumentError(f"--{name.replace('_', '-')}: expected {expected}, got {value}")

    def open_features(self) -> FeatureStore | None:
        """Open the store of --features, if there is one."""
        return None if self.features is None else FeatureStore.open(Path(self.features))


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Options of a picture over an image.

    >>> LookRequest().by is None
    True
    """

    by: By | None = None
    """Method of the maps: attention weights, their rollout or flow through layers,
    gradients of the words by each part of the image, Grad-CAM, or integrated gradients.
    Default: attention, or gradient for a model without it."""

    def __post_init__(self) -> None:
        check_by(self.by, get_args(By))
