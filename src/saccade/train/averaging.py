"""The trained model: the last or the best weights, or a mean of checkpoints."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

from saccade._system.notes import say
from saccade.train.checkpoint import CorruptCheckpoint, list_steps, load_best, load_weights
from saccade.train.options import Options
from saccade.train.results import Training, TrainState, decides_by_loss, is_better, validation_loss
from saccade.train.run import Run
from saccade.train.task import Evaluation, value
from saccade.train.weights import load_into, mean, tensors


@dataclass(frozen=True)
class Candidate:
    """Weights of a possible trained model, and the steps of their mean."""

    weights: dict[str, Tensor]
    steps: list[int]

    def __str__(self) -> str:
        steps = ", ".join(map(str, self.steps))
        return f"the mean of steps {steps}" if len(self.steps) > 1 else f"step {steps} alone"


def regular(steps: Iterable[int], end: int, is_due: Callable[[int], bool], count: int) -> list[int]:
    """Return the steps of a mean of `count` weights, except the step `end`.

    These are the last steps before `end` at which a checkpoint is due. Interruptions make checkpoints at other steps.
    Without them a resumed run equals the uninterrupted one.
    """
    due = sorted(step for step in steps if step < end and is_due(step))
    return due[max(0, len(due) - count + 1) :]


def _is_due(state: TrainState, options: Options) -> Callable[[int], bool]:
    return partial(state.is_due, "checkpoint_steps", options)


def needed(steps: Iterable[int], state: TrainState, options: Options) -> set[int]:
    """Return the steps with weights for the trained model, for any end of the run."""
    there, is_due, count = list(steps), _is_due(state, options), options.average
    return {*regular(there, state.step + 1, is_due, count + 1), *regular(there, state.best_step, is_due, count)}


def candidates(run: Run, model: nn.Module, state: TrainState, options: Options) -> list[Candidate]:
    """Return the mean of the last checkpoints under `--average`, and the last alone.

    With `--patience`, or if the run stopped early, the last one is that of the best validation.
    """
    last = {name: tensor.clone() for name, tensor in tensors(model).items()}
    takes_best = bool(options.patience) or state.stops_early(options)
    end = state.best_step if takes_best and state.best is not None else state.step
    try:
        last = last if end == state.step else load_best(run.checkpoints, end)
    except CorruptCheckpoint:
        say(f"no checkpoint of step {end}, so the model is that of the last step, {state.step}")
        return [Candidate(last, [state.step])]
    earlier: dict[int, dict[str, Tensor]] = {}
    for step in regular(list_steps(run.checkpoints), end, _is_due(state, options), options.average):
        try:
            earlier[step] = load_weights(run.checkpoints, step)
        except CorruptCheckpoint as error:
            say(f"corrupt checkpoint: {error}; the model is made without it")
    alone, steps = Candidate(last, [end]), [*earlier, end]
    if (count := len(steps)) < options.average:
        verb, noun = ("is", "checkpoint") if count == 1 else ("are", "checkpoints")
        there = f"there {verb} but {count} {noun} of this run that --average takes"
        say(f"--average {options.average}: {there} (step {', '.join(map(str, steps))})")
    return [Candidate(mean([*earlier.values(), last]), steps), alone] if earlier else [alone]


def choose(
    training: Training, models: list[Candidate], evaluations: list[Evaluation]
) -> tuple[int, list[dict[str, Any]]]:
    """Return the index of the best candidate on validation, and all headlines.

    The first is a mean. The losses are measured if they decide: see `is_better`.
    """
    if not evaluations:
        return 0, []
    task, model, best = training.task, training.model, 0
    numbers = [value(evaluation.metrics[task.headline]) for evaluation in evaluations]
    losses: list[float | None] = [None] * len(models)
    if decides_by_loss(evaluations[0].examples, *numbers):
        for number, candidate in enumerate(models):
            load_into(model, candidate.weights)
            losses[number] = validation_loss(task, model, training.options.seed)
    for number in range(1, len(models)):
        if is_better((numbers[number], losses[number]), (numbers[best], losses[best]), evaluations[0].examples):
            best = number
    parts = zip(numbers, losses, models, strict=True)
    scores = ", ".join(f"{_scored(number, loss)} for {candidate}" for number, loss, candidate in parts)
    say(f"{task.headline.replace('_', ' ')} on validation is {scores}: the model is {models[best]}")
    return best, [
        {"steps": candidate.steps, task.headline: number, **({} if loss is None else {"loss": loss})}
        for number, loss, candidate in zip(numbers, losses, models, strict=True)
    ]


def _scored(number: float, loss: float | None) -> str:
    return f"{number:.4f}" + ("" if loss is None else f" (loss {loss:.4f})")
