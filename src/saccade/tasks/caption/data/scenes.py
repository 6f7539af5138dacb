"""Built-in scenes with the sentences of a grammar.

Scene number i of a split follows from the numbers of `generator(seed, "captions", split, i)`: the scene, then its
image. In training all sentences about a scene are learned. In validation and test the first is the example's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.tasks.caption.data.corpus import Captioned
from saccade.tasks.image.scenes import generated
from saccade.tasks.image.scenes.generated import Described
from saccade.tasks.image.scenes.grammar import references
from saccade.tasks.image.scenes.scene import scene_at_random
from saccade.train.randomness import generator

__all__ = ["Scenes"]

HELD_OUT = 1000  # examples of validation, and of test


@dataclass(frozen=True)
class Scenes(generated.Scenes[Captioned]):
    """Scenes of coloured shapes, with sentences for every thing and each relation.

    The group of an example is the number of things of its scene. A training scene has four indices. One of fewer
    sentences has them again.

    Args:
        least, most: numbers of things of a scene, 1 to 8.
        seed: of all draws.

    Example:
        >>> data = Scenes()
        >>> example = data.example("train", 5)
        >>> example.caption in example.references, example.group == str(len(example.scene.things)), data.size("train")
        (True, True, None)
    """

    least: int = 1
    most: int = 4
    several = 4

    def describe(self, split: str, number: int) -> Described:
        drawn = generator(self.seed, "captions", split, number)
        scene = scene_at_random(drawn, self.least, self.most)
        return Described(scene, references(scene), drawn)

    def make(self, split: str, index: int) -> Captioned:
        made, number, _ = self.described(split, index)
        group, name, sentences = str(len(made.scene.things)), f"{split} {number}", self.references(split, index)
        return Captioned(made.image.clone(), self.text(split, index), sentences, group, made.scene, name)

    def text(self, split: str, index: int) -> str:
        """Return the sentence of an example; its scene is not drawn."""
        made, _, position = self.described(split, index)
        return str(made.texts[position % len(made.texts)])

    def references(self, split: str, index: int) -> tuple[str, ...]:
        """Return all sentences of a scene; it is not drawn."""
        return tuple(self.described(split, index)[0].texts)

    @property
    def held_out(self) -> int:
        return HELD_OUT

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the indices of a scene's sentences, without duplicates."""
        indices = super().about(split, image)
        return indices[: len(self.references(split, indices[0]))]

    @property
    def fingerprint(self) -> str:
        """Sizes and seed of the scenes."""
        return f"scenes of {self.least} to {self.most} things, all sentences of each in training, seed {self.seed}"
