"""The built-in scenes with questions about them: endless, made as they are asked for.

Scene number i of a split is made of the numbers that `generator(seed, "questions", split, i)` draws: the scene with
its question, then its image. In training each scene has four questions more, of `generator(seed, "more questions",
split, i)`.
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
_LEAST = 4  # things, so that all kinds of questions can be asked
_MORE = 4  # questions about each training scene


@dataclass(frozen=True)
class Scenes(Generated[Asked]):
    """Rendered scenes of coloured shapes, with questions about existence, colour, counting and relation.

    All answers to a kind of question are equally likely, so that a question alone tells nothing; but for the questions
    that a training scene has beside its first, whose answers are as likely as scenes have them. Some of these are about
    places, which are asked in training only.

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
    _last: "dict[tuple[str, int], _Made]" = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn, or asked about."""
        check_things(self.least, self.most, _LEAST)

    def make(self, split: str, index: int) -> Asked:
        made, question = self._asked(split, index)
        things = made.scene.things
        boxes = tuple(things[number].box for number in question.things)
        others = tuple(thing.box for number, thing in enumerate(things) if number not in question.things)
        return Asked(made.image.clone(), _posed(question), made.name, boxes, others)

    def posed(self, split: str, index: int) -> Posed:
        """Return the question and its answer; the scene is not drawn for them."""
        return _posed(self._asked(split, index)[1])

    @property
    def held_out(self) -> int:
        return HELD_OUT

    def images(self, split: str) -> int | None:
        """Return how many scenes a split has: as many as questions, no end of them to train on."""
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
        """What the questions are, in one string."""
        several = f"{_count('train')} a scene in training"
        return f"questions about scenes of {self.least} to {self.most} things, {several}, seed {self.seed}"

    def _asked(self, split: str, index: int) -> "tuple[_Made, Question]":
        check_index(split, index, self.size(split))
        number, place = divmod(index, _count(split))
        made = self._last.get((split, number))
        if made is None:  # questions about a scene are asked for one after another: the last scene is kept
            made = self._make(split, number)
            self._last.clear()
            self._last[split, number] = made
        return made, made.questions[place]

    def _make(self, split: str, number: int) -> "_Made":
        drawn = generator(self.seed, "questions", split, number)
        scene, question = ask(drawn, self.least, self.most)
        questions = [question]
        if _count(split) > 1:
            questions += ask_more(generator(self.seed, "more questions", split, number), scene, _MORE)
        return _Made(f"{split}-{number}", scene, questions, drawn)


@dataclass(frozen=True)
class _Made:
    """A scene, its questions, and what its image is drawn from."""

    name: str
    scene: Scene
    questions: Sequence[Question]
    drawn: torch.Generator

    @cached_property
    def image(self) -> Tensor:
        return draw(self.scene, self.drawn)


def _count(split: str) -> int:
    """How many questions there are about a scene."""
    return 1 + _MORE if split == "train" else 1


def _posed(question: Question) -> Posed:
    return Posed(question.text, (question.answer,), question.kind)
