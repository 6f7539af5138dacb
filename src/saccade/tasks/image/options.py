"""What can be said about a run that speaks of images, whatever it says of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.tasks.image.decoded import check_size
from saccade.tasks.image.features.store import FeatureStore

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
    """Pixels that images of files are scaled to."""

    features: str | None = None
    """Folder of features that `python -m saccade.tasks.image.features` made of the images, by whose names they are
    found; they are taken as they are, and no image is read."""

    least: int = 1
    """Things of a built-in scene, at the least."""

    most: int = 8
    """Things of a built-in scene, at the most: 8 or fewer."""

    data_seed: int = 0
    """What built-in scenes are drawn from."""

    vocabulary_size: int = 10_000
    """The most words there may be, learned from the training split: the most frequent, 4 special ones among them."""

    min_count: int = 1
    """How often a word has to be in the training split to be known."""

    max_length: int = 50
    """Words of a text that are read or learned."""

    batch_size: int = 32
    """Texts a batch, each with its image."""

    shift: int = 0
    """Pixels by which images are shifted in training, at most."""

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
    """Where the model looked (attention), or how much each part of the image moves what is said (gradient); attention
    if not given, and gradient of a model without."""

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
