"""Built-in scenes with questions, endless and generated on the fly.

Scene i of a split comes from the draws of `generator(seed, "questions", split, i)`: the scene with its question, then
its image. In training each scene has four more questions, from `generator(seed, "more questions", split, i)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from saccade.data.dataset import check_index
from saccade.data.generated import Generated
from saccade.tasks.answer.data.corpus import Asked, Posed
from saccade.tasks.image.scenes.questions import Question, ask, ask_more
from saccade.tasks.image.scenes.scene import SIDE, Scene, check_things, draw
from saccade.train.randomness import generator

__all__ = ["Scenes"]

HELD_OUT = 2000  # examples of validation, and of test
_LEAST = 4  # things for all kinds of questions
_MORE = 4  # questions about each training scene


@dataclass(frozen=True)
class Scenes(Generated[Asked]):
    """Scenes of coloured shapes, with questions of several kinds.

    Questions are about presence, colour, number and relations. All answers to a kind of question are equally likely, so
    a question without its image has no clue. The further questions about a training scene have the frequencies of
    scenes. Some of them are about positions.

    Args:
        least, most: number of things of a scene, 4 to 8.
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
    _last: "dict[tuple[str, int], _Made]" = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_things(self.least, self.most, _LEAST)

    def make(self, split: str, index: int) -> Asked:
        made, question = self._question(split, index)
        things = made.scene.things
        boxes = tuple(things[number].box for number in question.things)
        others = tuple(thing.box for number, thing in enumerate(things) if number not in question.things)
        return Asked(made.image.clone(), _posed(question), made.name, boxes, others)

    def posed(self, split: str, index: int) -> Posed:
        """Return the question and its answer, without the image."""
        return _posed(self._question(split, index)[1])

    @property
    def held_out(self) -> int:
        return HELD_OUT

    def images(self, split: str) -> int | None:
        """Return the number of scenes of a split, None if it is endless."""
        return self.size(split)

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the numbers of the questions about a scene."""
        count = _count(split)
        return range(image * count, (image + 1) * count)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of all images."""
        return 3, SIDE, SIDE

    @property
    def fingerprint(self) -> str:
        """Name and settings of the questions."""
        several = f"{_count('train')} a scene in training"
        return f"questions about scenes of {self.least} to {self.most} things, {several}, seed {self.seed}"

    def _question(self, split: str, index: int) -> "tuple[_Made, Question]":
        check_index(split, index, self.size(split))
        number, which = divmod(index, _count(split))
        made = self._last.get((split, number))
        if made is None:  # kept for the next question about it
            made = self._make(split, number)
            self._last.clear()
            self._last[split, number] = made
        return made, made.questions[which]

    def _make(self, split: str, number: int) -> "_Made":
        drawn = generator(self.seed, "questions", split, number)
        scene, question = ask(drawn, self.least, self.most)
        questions = [question]
        if _count(split) > 1:
            questions += ask_more(generator(self.seed, "more questions", split, number), scene, _MORE)
        return _Made(f"{split}-{number}", scene, questions, drawn)


@dataclass(frozen=True)
class _Made:
    """A scene, its questions, and the generator of its image."""

    name: str
    scene: Scene
    questions: Sequence[Question]
    drawn: torch.Generator

    @cached_property
    def image(self) -> Tensor:
        return draw(self.scene, self.drawn)


def _count(split: str) -> int:
    """Return the number of questions about a scene."""
    return 1 + _MORE if split == "train" else 1


def _posed(question: Question) -> Posed:
    return Posed(question.text, (question.answer,), question.kind)
