"""The built-in scenes with a question about each: endless, made as they are asked for.

Example number i of a split is made of the numbers that `generator(seed, "questions", split, i)` draws: the scene with
its question, then its image.
"""

from dataclasses import dataclass

import torch

from saccade.tasks.answer.data.corpus import Asked, Posed
from saccade.tasks.dataset import check_index, check_split
from saccade.tasks.image.scenes.questions import Question, ask
from saccade.tasks.image.scenes.scene import SIDE, Scene, check_things, draw
from saccade.train.randomness import generator

__all__ = ["Scenes"]

HELD_OUT = 2000  # examples of validation, and of test
_LEAST = 4  # things, so that all kinds of questions can be asked


@dataclass(frozen=True)
class Scenes:
    """Rendered scenes of coloured shapes, with questions about existence, colour, counting and relation.

    All answers to a kind of question are equally likely, so that a question alone tells nothing.

    Args:
        least, most: how many things a scene has, 4 to 8.
        seed: of all draws.

    Raises:
        ArgumentError: if no scene has so many things.

    Example:
        >>> data = Scenes()
        >>> example = data.example("train", 5)
        >>> example.posed == data.posed("train", 5), example.image.shape == data.shape, data.size("train")
        (True, True, None)
    """

    least: int = 4
    most: int = 6
    seed: int = 0

    note = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn, or asked about."""
        check_things(self.least, self.most, _LEAST)

    def example(self, split: str, index: int) -> Asked:
        """Return scene number `index` of a split, and what is asked of it: always the same.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        scene, question, drawn = self._asked(split, index)
        boxes = tuple(scene.things[number].box for number in question.things)
        return Asked(draw(scene, drawn), _posed(question), f"{split}-{index}", boxes)

    def posed(self, split: str, index: int) -> Posed:
        """Return the question and its answer; the scene is not drawn for them."""
        return _posed(self._asked(split, index)[1])

    def size(self, split: str) -> int | None:
        """Return how many scenes a split has: 2,000 to validate and to test on, no end of them to train on.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        return None if split == "train" else HELD_OUT

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of all images."""
        return 3, SIDE, SIDE

    @property
    def fingerprint(self) -> str:
        """What the questions are, in one string."""
        return f"questions about scenes of {self.least} to {self.most} things, seed {self.seed}"

    def _asked(self, split: str, index: int) -> tuple[Scene, Question, torch.Generator]:
        check_index(split, index, self.size(split))
        drawn = generator(self.seed, "questions", split, index)
        return *ask(drawn, self.least, self.most), drawn


def _posed(question: Question) -> Posed:
    return Posed(question.text, (question.answer,), question.kind)
