"""The built-in data: questions of one problem, drawn as they are asked for."""

import numpy as np

from saccade.data.generated import Generated
from saccade.tasks.memorize.data.corpus import Item
from saccade.tasks.memorize.data.problem import Problem
from saccade.train.randomness import derive

__all__ = ["HELD_OUT", "Made"]

HELD_OUT = 500  # questions of validation, and of test
_VERSION = 1  # of how questions are drawn: another one makes other data


class Made(Generated[Item]):
    """Questions of a problem; a group for those as long as in training, and one for each longer kind.

    Training is endless; validation and test hold 500 questions each, of one kind after another. Splits are draws of
    their own: of very short questions, of which there are few, some are in several.

    Args:
        name: of the problem.
        problem: the problem.

    Example:
        >>> from saccade.tasks.memorize.data.problems import Copy
        >>> data = Made("copy", Copy())
        >>> data.size("test"), data.example("test", 1).group, len(data.example("test", 1).text.split())
        (500, '20', 20)
    """

    def __init__(self, name: str, problem: Problem) -> None:
        self.name, self.problem = name, problem

    def make(self, split: str, index: int) -> Item:
        dice, problem = np.random.default_rng(derive(0, "memorize", self.name, split, index)), self.problem
        kinds = [(problem.trained, None), *self._beyond(split)]
        group, size = kinds[index % len(kinds)]
        question = problem.draw(dice, problem.size(dice) if size is None else size)
        episode = problem.pose(question)
        return Item(problem.write(question), problem.answer(episode.targets[episode.asked]), group)

    @property
    def held_out(self) -> int:
        return HELD_OUT

    @property
    def fingerprint(self) -> str:
        """What the questions are, in one string."""
        return f"{self.name} {_VERSION}, up to {self.problem.longest}"

    def _beyond(self, split: str) -> list[tuple[str, tuple[int, ...]]]:
        return [] if split == "train" else [*self.problem.beyond(split).items()]
