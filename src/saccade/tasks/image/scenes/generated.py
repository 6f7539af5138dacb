"""Built-in data of texts about scenes: endless, drawn on demand."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor

from saccade.data.dataset import check_index
from saccade.data.generated import Generated
from saccade.tasks.image.scenes.scene import SIDE, Scene, check_things, draw

__all__ = ["Described", "Scenes"]

E = TypeVar("E")


@dataclass(frozen=True)
class Described:
    """A scene, its texts, and the generator of its image."""

    scene: Scene
    texts: Sequence[Any]
    drawn: torch.Generator

    @cached_property
    def image(self) -> Tensor:
        """The image, drawn once."""
        return draw(self.scene, self.drawn)


@dataclass(frozen=True)
class Scenes(Generated[E]):
    """Scenes of coloured shapes with texts.

    A training scene has several texts, with consecutive indices. Other scenes have one text.

    Args:
        least, most: numbers of things of a scene.
        seed: of all draws.

    Raises:
        ArgumentError: if no scene has so many things.
    """

    least: int
    most: int
    seed: int = 0
    _last: dict[tuple[str, int], Described] = field(default_factory=dict, init=False, repr=False, compare=False)

    fewest: ClassVar[int] = 1
    """Fewest things of a scene."""
    several: ClassVar[int]
    """Number of texts about a training scene."""

    def __post_init__(self) -> None:
        check_things(self.least, self.most, self.fewest)

    @abstractmethod
    def describe(self, split: str, number: int) -> Described:
        """Make a scene and its texts."""

    def described(self, split: str, index: int) -> tuple[Described, int, int]:
        """Return the scene of an index, its number, and the position of the text.

        The last scene is cached.
        """
        check_index(split, index, self.size(split))
        number, position = divmod(index, self.count(split))
        described = self._last.get((split, number))
        if described is None:
            described = self.describe(split, number)
            self._last.clear()
            self._last[split, number] = described
        return described, number, position

    def count(self, split: str) -> int:
        """Return the number of indices of a scene."""
        return self.several if split == "train" else 1

    def images(self, split: str) -> int | None:
        """Return the number of scenes of a split, None if they are endless."""
        return self.size(split)

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the indices of the texts about a scene."""
        return range(image * self.count(split), (image + 1) * self.count(split))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of all images."""
        return 3, SIDE, SIDE
