"""What can be said about a run that speaks of images, whatever it says of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.tasks.image.features.store import FeatureStore
from saccade.tasks.image.pictures import check_size

__all__ = ["LookRequest", "VisualOptions"]

_LARGE = 1_000_000
_RANGES = (
    ("batch_size", 1, _LARGE),
    ("vocabulary_size", 5, _LARGE),  # 4 special ids and a word
    ("min_count", 1, _LARGE),
    ("max_length", 1, 10_000),
    ("shift", 0, 1000),
)


@dataclass(frozen=True, kw_only=True)
class VisualOptions(SplitOptions):
    """The options that all such runs have; tasks say what theirs mean and are if nothing is said.

    >>> VisualOptions(size=64).vocabulary_size
    10000
    """

    size: int | None = None
    """Pixels to which images of files are scaled."""

    features: str | None = None
    """Folder of features of the images, from `python -m saccade.tasks.image.features`. No image is read."""

    least: int = 1
    """Fewest shapes of a built-in scene."""

    most: int = 8
    """Most shapes of a built-in scene, up to 8."""

    data_seed: int = 0
    """Seed of the built-in scenes."""

    vocabulary_size: int = 10_000
    """Most words of the vocabulary, 4 special ones included: the most frequent of the training split."""

    min_count: int = 1
    """Fewest occurrences of a word of the vocabulary in the training split."""

    max_length: int = 50
    """Most words of a text."""

    batch_size: int = 32
    """Texts per batch, each with its image."""

    shift: int = 0
    """Largest random shift of a training image, in pixels."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        SplitOptions.__post_init__(self)
        in_ranges(self, _RANGES)
        if self.size is not None and self.features is not None:
            raise ArgumentError(f"--size: expected none with --features, got {self.size}")
        check_size(self.size)

    def refuse_given(self, names: Sequence[str], expected: str) -> None:
        """Refuse options that would be ignored, if they are not as they are when nobody says anything.

        Args:
            names: of the options.
            expected: where they mean something.

        Raises:
            ArgumentError: naming the option as it is typed.

        Example:
            >>> VisualOptions(least=2).refuse_given(["least"], "only with --data scenes")
            Traceback (most recent call last):
            saccade.errors.ArgumentError: --least: expected only with --data scenes, got 2
        """
        for name in names:
            if (value := getattr(self, name)) != type(self).__dataclass_fields__[name].default:
                raise ArgumentError(f"--{name.replace('_', '-')}: expected {expected}, got {value}")

    def open_features(self) -> FeatureStore | None:
        """Return the features that --features names, None if it names none."""
        return None if self.features is None else FeatureStore.open(Path(self.features))


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """What is drawn over an image that is spoken of.

    >>> LookRequest().by is None
    True
    """

    by: Literal["attention", "gradient"] | None = None
    """Attention weights (attention), or gradients of the words by each part of the image (gradient). Default:
    attention, or gradient for a model without it."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        if self.by not in (None, "attention", "gradient"):
            raise ArgumentError(f"--by: expected attention or gradient, got {self.by}")

    def check(self, *, attends: bool) -> None:
        """Refuse attention of a model without.

        Raises:
            ArgumentError: naming the option.
        """
        if self.by == "attention" and not attends:
            raise ArgumentError("--by: expected gradient of a model that does not attend, got attention")
