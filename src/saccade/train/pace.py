"""Progress through a budget in minutes, by marks of the clock.

The marks of a run are part of its checkpoints and of metrics.jsonl. Its learning rates, validations and checkpoints
follow from steps and marks alone, so a resumed run repeats them.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

BETWEEN = 0.16
"""Share of training between two validations: there are six, the last at 96%."""

FOR_FINAL = 0.5
"""Share of a budget: the final evaluation cuts training short by no more."""

MARKS = 24
"""Looks at the clock in a run, in time and in shares of training.

A plan has at least as many steps before the first look.
"""

_SHORTEST = 96  # stretches of this share of the budget between the last marks
_EPSILON = 1e-9  # 500 steps of 4,400 are no less than their share


class Mark(NamedTuple):
    """A look at the clock.

    Args:
        step: number of finished steps.
        share: share of training that they are, from 0 to 1.
        pace: share of training of a later step, up to the next mark.
    """

    step: int
    share: float
    pace: float


def progress(marks: Sequence[Mark], step: int) -> float:
    """Return the share of training after some steps.

    It grows by the pace of the last mark, and never falls.

    >>> marks = [Mark(0, 0.0, 0.01), Mark(50, 0.5, 0.05)]  # from step 50 on there is time for ten steps
    >>> [progress(marks, step) for step in (0, 20, 50, 56, 99)]
    [0.0, 0.2, 0.5, 0.8, 1.0]
    """
    mark = marks[max(0, bisect_right(marks, step, key=lambda mark: mark.step) - 1)]
    return min(1.0, mark.share + (step - mark.step) * mark.pace)


def is_due(step: int, steps: int, marks: Sequence[Mark] = (), share: float | None = None) -> bool:
    """Whether a validation or a checkpoint follows a step.

    It does every so many `steps`. With a `share`, it does whenever that much of training is over. A run that goes on
    when all of training is over has as many steps between two of them as before.

    >>> marks = [Mark(0, 0.0, 0.06), Mark(3, 0.18, 0.1)]
    >>> [step for step in range(1, 20) if is_due(step, 6)]
    [6, 12, 18]
    >>> [step for step in range(1, 20) if is_due(step, 6, marks, 0.16)]
    [3, 5, 6, 8, 10, 11, 14, 16, 18]
    """
    if share is None:
        return step % steps == 0
    if (before := progress(marks, step - 1)) >= 1:
        mark = marks[-1]
        end = mark.step + math.ceil((1 - mark.share) / mark.pace - _EPSILON)
        return (step - end) % max(1, round(share * end)) == 0
    return int(progress(marks, step) / share + _EPSILON) > int(before / share + _EPSILON)


@dataclass
class Watch:
    """Expected times of a run in seconds, at its last look at the clock.

    Args:
        budget: of the whole run.
        measured_final: of the final evaluation, at its last measurement.
        measured_validation: of a validation, at its last measurement.
        per_step: of a step, 0 before it is measured.
        usual: of a step when the other times were measured, 0 if the next look measures it.
        step: number of finished steps at the last look.
        share: share of training at the last look.
        seconds: seconds of the run at the last look.
        training: seconds in steps at the last look.
        looked: whether there was a look, or the run goes on after one.
    """

    budget: float
    measured_final: float
    measured_validation: float
    per_step: float = 0.0
    usual: float = 0.0
    step: int = 0
    share: float = 0.0
    seconds: float = 0.0
    training: float = 0.0
    looked: bool = False

    def is_due(self, share: float, seconds: float) -> bool:
        """Whether a look at the clock is due: dozens of times a run, more towards its end."""
        left = self.budget - self.final - seconds
        apart = max(self.budget / _SHORTEST, min(self.budget / MARKS, left / 2))
        return share - self.share >= 1 / MARKS or seconds - self.seconds >= apart

    def look(self, step: int, share: float, seconds: float, training: float) -> None:
        """Measure the time of a step. The machine may have got slower or faster.

        Half of it is that of the last look, since a few steps are noise. The first look replaces the plan.
        """
        if step > self.step:
            latest = (training - self.training) / (step - self.step)
            self.per_step = (self.per_step + latest) / 2 if self.looked else latest
            self.looked = True
        self.usual = self.usual or self.per_step
        self.step, self.share, self.seconds, self.training = step, share, seconds, training

    def validated(self, final: float, validation: float) -> None:
        """Take over times measured at this step."""
        self.measured_final, self.measured_validation, self.usual = final, validation, 0.0

    @property
    def slowdown(self) -> float:
        """Time of a step in multiples of that at the last measurement of the other times."""
        return self.per_step / self.usual if self.usual > 0 else 1.0

    @property
    def final(self) -> float:
        """Seconds of the final evaluation, at most half of the budget."""
        return min(self.measured_final * self.slowdown, FOR_FINAL * self.budget)

    @property
    def reserve(self) -> float:
        """Seconds that the budget keeps: of the final evaluation, and of half a step."""
        return round(self.final + self.per_step / 2, 3)

    def steps_left(self) -> int:
        """Return the number of steps left beside validations and a final evaluation."""
        coming = max(0, int(1 / BETWEEN) - int(self.share / BETWEEN + _EPSILON))
        left = self.budget - self.seconds - self.final - coming * self.measured_validation * self.slowdown
        return max(1, round(left / self.per_step)) if self.per_step > 0 else 1
