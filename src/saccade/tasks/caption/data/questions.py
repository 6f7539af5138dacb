"""Built-in scenes with questions instead of sentences: visual question generation.

Scene number i of a split follows from the numbers of `generator(seed, "questions", split, i)`: the scene, the order of
its questions, then its image. A training scene has four questions, of different kinds as far as it has so many.

Source:
    Mostafazadeh et al. 2016, "Generating Natural Questions About an Image". There the questions are those of people.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TypeVar

import torch

from saccade.tasks.caption.data.corpus import Captioned
from saccade.tasks.caption.data.scenes import Scenes
from saccade.tasks.image.scenes.generated import Described
from saccade.tasks.image.scenes.questions import askable
from saccade.tasks.image.scenes.scene import scene_at_random
from saccade.train.randomness import generator

__all__ = ["Questions"]

T = TypeVar("T")


@dataclass(frozen=True)
class Questions(Scenes):
    """Scenes as in `Scenes`, with questions instead of sentences.

    Questions are about things that are there and have exactly one answer. The references of an example are all such
    questions. So an output is valid if it is one of them.

    Example:
        >>> example = Questions().example("train", 5)
        >>> example.caption in example.references, example.caption
        (True, 'where is the yellow square ?')
    """

    def describe(self, split: str, number: int) -> Described:
        drawn = generator(self.seed, "questions", split, number)
        scene = scene_at_random(drawn, self.least, self.most)
        kinds = [_shuffled(questions, drawn) for questions in askable(scene).values() if questions]
        in_turn = chain.from_iterable(zip_longest(*_shuffled(kinds, drawn)))
        return Described(scene, [question.text for question in in_turn if question is not None], drawn)

    def make(self, split: str, index: int) -> Captioned:
        return super().make(split, index)._replace(scene=None)

    @property
    def fingerprint(self) -> str:
        return f"questions about {super().fingerprint}"


def _shuffled(items: Sequence[T], drawn: torch.Generator) -> list[T]:
    return [items[number] for number in torch.randperm(len(items), generator=drawn).tolist()]
