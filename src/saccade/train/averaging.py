"""The trained model: the last or the best weights, or a mean of checkpoints."""

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor, nn

from saccade._system.notes import say
from saccade.train.checkpoint import CorruptCheckpoint, list_steps, load_best, load_weights
from saccade.train.options import Options
from saccade.train.results import TrainState
from saccade.train.run import Run
from saccade.train.weights import mean, tensors


@dataclass(frozen=True)
class Candidate:
    """Weights of a possible trained model, and the steps of their mean."""

    weights: dict[str, Tensor]
    steps: list[int]

    def __str__(self) -> str:
        steps = ", ".join(map(str, self.steps))
        return f"the mean of steps {steps}" if len(self.steps) > 1 else f"step {steps} alone"


def regular(steps: Iterable[int], end: int, every: int, count: int) -> list[int]:
    """Return the steps of a mean of `count` weights, except the step `end`.

    These are the last multiples of `every` before `end`. Interruptions make checkpoints at other steps. Without them
    a resumed run equals the uninterrupted one.
    """
    multiples = sorted(step for step in steps if step < end and step % every == 0)
    return multiples[max(0, len(multiples) - count + 1) :]


def needed(steps: Iterable[int], state: TrainState, options: Options) -> set[int]:
    """Return the steps with weights for the trained model, for any end of the run."""
    there, every, count = list(steps), options.checkpoint_steps, options.average
    return {*regular(there, state.step + 1, every, count + 1), *regular(there, state.best_step, every, count)}


def candidates(run: Run, model: nn.Module, state: TrainState, options: Options) -> list[Candidate]:
    """Return the mean of the last checkpoints under `--average`, and the last alone.

    With `--patience`, or if the run stopped early, the last one is that of the best validation.
    """
    last = {name: tensor.clone() for name, tensor in tensors(model).items()}
    takes_best = bool(options.patience) or state.stops_early(options)
    end = state.best_step if takes_best and state.best_step else state.step
    try:
        last = last if end == state.step else load_best(run.checkpoints, end)
    except CorruptCheckpoint:
        say(f"no checkpoint of step {end}, so the model is that of the last step, {state.step}")
        return [Candidate(last, [state.step])]
    earlier: dict[int, dict[str, Tensor]] = {}
    for step in regular(list_steps(run.checkpoints), end, options.checkpoint_steps, options.average):
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
