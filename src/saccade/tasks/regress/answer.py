"""What a model makes of numbers: an answer with its interval, as lines and JSON, and what is drawn of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade._system.notes import say
from saccade.tasks.answered import Answered
from saccade.tasks.regress.batches import padded
from saccade.tasks.regress.columns import Columns
from saccade.tasks.regress.interval import interval
from saccade.tasks.regress.looking import Pictures
from saccade.train.task import Form, Unreadable

__all__ = ["Asked", "Regression", "answers", "spelled"]

_DIGITS = 6  # significant ones, as many as float32 has


@dataclass(frozen=True)
class Asked:
    """The numbers of one question."""

    numbers: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Regression(Answered):
    """What a model makes of one question.

    Args:
        asked: the numbers; a line that could not be read.
        mean, lower, upper: the answer and the ends of its interval; none if it could not be read.
        weights: what was attended to, by heads; None of a model without attention.
        pictures: what is drawn; None where no picture is wanted.
    """

    asked: Asked | Unreadable
    mean: tuple[float, ...] = ()
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    weights: Tensor | None = None
    pictures: Pictures | None = None

    def lines(self) -> list[str]:
        """Return the answer, and the lower and the upper end of its interval behind tabs; a blank line of no answer."""
        return ["\t".join(map(spelled, (self.mean, self.lower, self.upper))) if self.mean else ""]

    def to_json(self) -> dict[str, Any]:
        """Return the numbers, the answer, its interval and what was attended to."""
        numbers = [] if isinstance(self.asked, Unreadable) else list(self.asked.numbers)
        found: dict[str, Any] = {"numbers": numbers, "answer": list(self.mean)}
        found |= {"lower": list(self.lower), "upper": list(self.upper)}
        weights = None if self.weights is None else [[round(one, 6) for one in row] for row in self.weights.tolist()]
        return {**found, "weights": weights}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw what led to the answer."""
        if self.pictures is not None:
            yield from self.pictures.draw(folder, json=json)


def spelled(numbers: Sequence[float]) -> str:
    """Return numbers as a line has them, commas between.

    >>> spelled([0.5, 1 / 3])
    '0.5,0.333333'
    """
    return ",".join(f"{number:.{_DIGITS}g}" for number in numbers)


def answers(
    model: Any, asked: Sequence[Asked | Unreadable], known: Columns, coverage: float, form: Form
) -> list[Regression]:
    """Return what a model makes of each question: one at a time, so that none is rounded otherwise beside others."""
    return [_answer(model, one, known, coverage, form) for one in asked]


def _answer(model: Any, asked: Asked | Unreadable, known: Columns, coverage: float, form: Form) -> Regression:
    if isinstance(asked, Unreadable):
        return Regression(asked)
    points = padded([asked.numbers]).to(next(model.parameters()).device)
    found = model(points)
    if not bool(found.mean.isfinite().all() and found.deviation.isfinite().all()):
        say(f"no answer to {spelled(asked.numbers):.60}: numbers so far from those of training cannot be reckoned with")
        return Regression(Unreadable(spelled(asked.numbers)))
    mean, lower, upper = (
        tuple(part[0].tolist()) for part in (found.mean, *interval(found.mean, found.deviation, coverage))
    )
    weights = model.weights(points) if form != "lines" else None
    weights = None if weights is None else weights[0].cpu()
    drawn = Pictures(model, known, asked.numbers, mean, lower, upper, weights, coverage) if form == "pictures" else None
    return Regression(asked, mean, lower, upper, weights, drawn)
