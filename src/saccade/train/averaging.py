"""Which checkpoints the trained model is made of, and which have to be kept for that."""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from saccade.train.checkpoint import Checkpoint, CorruptCheckpoint, list_checkpoints, load, step_of
from saccade.train.notes import say
from saccade.train.options import Options
from saccade.train.results import TrainState
from saccade.train.run import Run
from saccade.train.weights import load_into, mean, tensors

__all__ = ["Candidate", "assemble", "chosen", "needed"]


@dataclass(frozen=True)
class Candidate:
    """What the trained model may be.

    Args:
        weights: by their names.
        steps: whose weights these are, or are the mean of.
    """

    weights: dict[str, Tensor]
    steps: list[int]

    def __str__(self) -> str:
        """Its name in a sentence.

        >>> str(Candidate({}, [20, 25, 30])), str(Candidate({}, [30]))
        ('the mean of steps 20, 25, 30', 'step 30 alone')
        """
        several = ", ".join(map(str, self.steps))
        return f"the mean of steps {several}" if len(self.steps) > 1 else f"step {several} alone"


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


def assemble(run: Run, model: nn.Module, state: TrainState, options: Options) -> list[Candidate]:
    """Return what training came to: the mean of its last checkpoints, and the last of them alone.

    Args:
        run: where the checkpoints are.
        model: as it was after the last step.
        state: how far it is, and where it was best.
        options: `average` says of how many checkpoints, `patience` whether up to the best validation or to the end.
    """
    end = state.best_step if options.patience and state.best_step else state.step
    if end == state.step and options.average == 1:
        return [Candidate(tensors(model), [end])]
    places = {step_of(place): place for place in list_checkpoints(run.checkpoints)}
    steps = [step for step in chosen(places, end, options.checkpoint_steps, options.average) if step in places]
    used: dict[int, dict[str, Tensor]] = {}
    scratch = copy.deepcopy(model)

    def whole() -> Iterator[dict[str, Tensor]]:
        for step in steps:
            try:
                checkpoint: Checkpoint = load(places[step])
            except CorruptCheckpoint as error:
                say(f"corrupt checkpoint: {error}; the model is made without it")
            else:
                load_into(scratch, checkpoint.model)  # files of before may have other names for some of it
                own = {name: tensor.clone() for name, tensor in tensors(scratch).items()}
                used[step] = own if step == end else {}
                yield own

    weights = mean(whole())
    if end not in used:
        say(f"no checkpoint of step {end}, so the model is that of the last step, {state.step}")
        return [Candidate(tensors(model), [state.step])]
    alone = Candidate(used[end], [end])
    if len(used) < options.average:
        there = f"{len(used)} checkpoint{'' if len(used) == 1 else 's'} of this run that --average takes"
        say(f"--average {options.average}: there {'is' if len(used) == 1 else 'are'} but {there} ({_listed(used)})")
    return [alone] if len(used) == 1 else [Candidate(weights, list(used)), alone]


def _listed(steps: Iterable[int]) -> str:
    return "step " + ", ".join(map(str, steps))
