"""Built-in scenes with questions, endless and generated on the fly.

Scene i of a split comes from the draws of `generator(seed, "questions", split, i)`: the scene with its question, then
its image. In training each scene has four more questions, from `generator(seed, "more questions", split, i)`.
"""

from dataclasses import dataclass

from saccade.tasks.answer.data.corpus import Asked, Posed
from saccade.tasks.image.scenes import generated
from saccade.tasks.image.scenes.generated import Described
from saccade.tasks.image.scenes.questions import ask, ask_more
from saccade.train.randomness import generator

__all__ = ["Scenes"]

HELD_OUT = 2000  # examples of validation, and of test
_MORE = 4  # questions about each training scene


@dataclass(frozen=True)
class Scenes(generated.Scenes[Asked]):
    """Rendered scenes of coloured shapes, with questions about them.

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
    fewest = 4  # enough for all kinds of questions
    several = 1 + _MORE

    def describe(self, split: str, number: int) -> Described:
        drawn = generator(self.seed, "questions", split, number)
        scene, question = ask(drawn, self.least, self.most)
        more = generator(self.seed, "more questions", split, number)
        return Described(scene, [question, *(ask_more(more, scene, _MORE) if split == "train" else ())], drawn)

    def make(self, split: str, index: int) -> Asked:
        made, number, position = self.described(split, index)
        things, meant = made.scene.things, made.texts[position].things
        boxes = tuple(things[n].box for n in meant)
        others = tuple(thing.box for n, thing in enumerate(things) if n not in meant)
        return Asked(made.image.clone(), self.posed(split, index), f"{split}-{number}", boxes, others)

    def posed(self, split: str, index: int) -> Posed:
        """Return the question and its answer; the scene is not drawn for them."""
        made, _, position = self.described(split, index)
        question = made.texts[position]
        return Posed(question.text, (question.answer,), question.kind)

    @property
    def held_out(self) -> int:
        return HELD_OUT

    @property
    def fingerprint(self) -> str:
        """Sizes and seed of the questions."""
        several = f"{self.several} a scene in training"
        return f"questions about scenes of {self.least} to {self.most} things, {several}, seed {self.seed}"
