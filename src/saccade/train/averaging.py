"""Which checkpoints the trained model is made of, and which have to be kept for that."""

import copy
from collections.abc import Iterable, Iterator

from torch import Tensor, nn

from saccade.train.checkpoint import Checkpoint, CorruptCheckpoint, list_checkpoints, load, step_of
from saccade.train.notes import say
from saccade.train.options import Options
from saccade.train.results import TrainState
from saccade.train.run import Run
from saccade.train.weights import load_into, mean, tensors

__all__ = ["assemble", "chosen", "needed"]


def chosen(steps: Iterable[int], end: int, every: int, count: int) -> list[int]:
    """Return the steps whose mean the model at step `end` is: `end`, and those before it at multiples of `every`.

    A run that was interrupted has checkpoints at other steps too; leaving them out makes it the uninterrupted one.

    Args:
        steps: of the checkpoints that are there.
        end: the last step of the mean.
        every: steps between two checkpoints.
        count: how many the mean is of, as far as there are so many.

    Example:
        >>> chosen([10, 14, 20, 30, 34], end=34, every=10, count=3)
        [20, 30, 34]
    """
    regular = sorted(step for step in steps if step < end and step % every == 0)
    return [*regular[max(0, len(regular) - count + 1) :], end]


def needed(steps: Iterable[int], state: TrainState, options: Options) -> set[int]:
    """Return the steps whose checkpoints the trained model may yet be made of, wherever the run ends."""
    there, every, count = list(steps), options.checkpoint_steps, options.average
    coming = chosen(there, state.step + 1, every, count + 1)[:-1]
    return {*coming, *(chosen(there, state.best_step, every, count) if state.best_step else ())}


def assemble(run: Run, model: nn.Module, state: TrainState, options: Options) -> tuple[dict[str, Tensor], list[int]]:
    """Return the weights that training came to, and the steps that they are the mean of.

    Args:
        run: where the checkpoints are.
        model: as it was after the last step.
        state: how far it is, and where it was best.
        options: `average` says of how many checkpoints, `patience` whether up to the best validation or to the end.
    """
    end = state.best_step if options.patience and state.best_step else state.step
    if end == state.step and options.average == 1:
        return tensors(model), [end]
    places = {step_of(place): place for place in list_checkpoints(run.checkpoints)}
    steps = [step for step in chosen(places, end, options.checkpoint_steps, options.average) if step in places]
    used: list[int] = []
    scratch = copy.deepcopy(model)

    def whole() -> Iterator[dict[str, Tensor]]:
        for step in steps:
            try:
                checkpoint: Checkpoint = load(places[step])
            except CorruptCheckpoint as error:
                say(f"corrupt checkpoint: {error}; the model is made without it")
            else:
                used.append(step)
                load_into(scratch, checkpoint.model)  # files of before may have other names for some of it
                yield {name: tensor.clone() for name, tensor in tensors(scratch).items()}

    weights = mean(whole())
    if end not in used:
        say(f"no checkpoint of step {end}, so the model is that of the last step, {state.step}")
        return tensors(model), [state.step]
    if len(used) < options.average:
        say(f"the model is the mean of {len(used)} checkpoints: there are not {options.average} to average")
    return weights, used
