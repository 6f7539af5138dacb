"""The built-in scenes with what the grammar says of them: endless, made as they are asked for.

Scene number i of a split is made of one draw of numbers, those of `generator(seed, "captions", split, i)`: the scene,
then its image. In training all sentences about a scene are learned, in validation and test the first is the example's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from saccade.data.dataset import check_index
from saccade.data.generated import Generated
from saccade.tasks.caption.data.corpus import Captioned
from saccade.tasks.image.scenes.grammar import references
from saccade.tasks.image.scenes.scene import SIDE, Scene, check_things, draw, scene_at_random
from saccade.train.randomness import generator

__all__ = ["Scenes"]

HELD_OUT = 1000  # examples of validation, and of test
_SENTENCES = 4  # numbers of captions that each training scene has


@dataclass(frozen=True)
class Scenes(Generated[Captioned]):
    """Rendered scenes of coloured shapes, with all sentences of the grammar that name every thing and each relation.

    The group of an example is how many things are in its scene. In training four numbers in a row are a scene's; one of
    fewer sentences has them again.

    Args:
        least, most: how many things a scene has, 1 to 8.
        seed: of all draws.

    Raises:
        ArgumentError: if no scene has so many things.

    Example:
        >>> data = Scenes()
        >>> example = data.example("train", 5)
        >>> example.caption in example.references, example.group == str(len(example.scene.things)), data.size("train")
        (True, True, None)
    """

    least: int = 1
    most: int = 4
    seed: int = 0
    _last: "dict[tuple[str, int], _Made]" = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn, or said."""
        check_things(self.least, self.most)

    def make(self, split: str, index: int) -> Captioned:
        made, place = self._said(split, index)
        scene, known = made.scene, made.sentences
        name = f"{split} {index // _count(split)}"
        return Captioned(made.image.clone(), known[place], known, str(len(scene.things)), scene, name)

    def text(self, split: str, index: int) -> str:
        """Return the sentence of a scene that is learned; it is not drawn for it."""
        made, place = self._said(split, index)
        return made.sentences[place]

    def references(self, split: str, index: int) -> tuple[str, ...]:
        """Return all sentences of a scene; it is not drawn for them."""
        return self._said(split, index)[0].sentences

    @property
    def held_out(self) -> int:
        return HELD_OUT

    def images(self, split: str) -> int | None:
        """Return how many scenes a split has: as many as captions, no end of them to train on."""
        return self.size(split)

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the numbers of a scene's captions, which are all different."""
        first = image * _count(split)
        return range(first, first + (len(self.references(split, first)) if split == "train" else 1))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of all images."""
        return 3, SIDE, SIDE

    @property
    def fingerprint(self) -> str:
        """What the scenes are, in one string."""
        return f"scenes of {self.least} to {self.most} things, all sentences of each in training, seed {self.seed}"

    def _said(self, split: str, index: int) -> "tuple[_Made, int]":
        """A scene, and which of its sentences a number is."""
        check_index(split, index, self.size(split))
        number, place = divmod(index, _count(split))
        made = self._last.get((split, number))
        if made is None:  # captions of a scene are asked for one after another: the last scene is kept
            drawn = generator(self.seed, "captions", split, number)
            scene = scene_at_random(drawn, self.least, self.most)
            made = _Made(scene, references(scene), drawn)
            self._last.clear()
            self._last[split, number] = made
        return made, place % len(made.sentences)


@dataclass(frozen=True)
class _Made:
    """A scene, its sentences, and what its image is drawn from."""

    scene: Scene
    sentences: tuple[str, ...]
    drawn: torch.Generator

    @cached_property
    def image(self) -> Tensor:
        return draw(self.scene, self.drawn)


def _count(split: str) -> int:
    """How many numbers of captions a scene has."""
    return _SENTENCES if split == "train" else 1
