"""Train a task: open or make the run, go on from its newest checkpoint, and write its results.

The order of things here is what makes a run safe: nothing is written before the command is known to fit the run, and
lightning, slow to import, is asked for only when there are steps to take.
"""

import math
import os
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from saccade.train.averaging import Candidate, assemble, needed
from saccade.train.baselines import baselines
from saccade.train.checkpoint import Checkpoint, load, newest, prune, repaired, save, set_aside, step_folder
from saccade.train.environment import (
    bound_shape_caches,
    check_precision,
    check_processes,
    choose_device,
    keep_freed_memory,
)
from saccade.train.files import write_json
from saccade.train.launch import launch
from saccade.train.notes import say
from saccade.train.opening import Wanted, new_model, open_run
from saccade.train.options import Options, fits, origin
from saccade.train.plan import fitted, open_plan
from saccade.train.progress import waiting
from saccade.train.ranks import Ranks, joined, place
from saccade.train.results import TrainState, complete, measure, summarize
from saccade.train.run import Run, RunError
from saccade.train.schedules import FALLING
from saccade.train.task import Evaluation, Kind, Suited, Task, kind_of, options_class, value, values
from saccade.train.weights import load_into

__all__ = ["Outcome", "train"]


@dataclass(frozen=True)
class Outcome:
    """What `train` came to.

    Args:
        run: the run.
        step: how many steps it has taken.
        results: what results.json says, None if the user stopped the run before its end.
        fresh: whether anything was done (False: the run was complete already).
        follows: whether this process only trains beside another, which has the results.
    """

    run: Run
    step: int
    results: dict[str, Any] | None
    fresh: bool
    follows: bool = False


def train(
    kind: Kind,
    options: Options,
    objects: Any = None,
    suited: Suited | None = None,
    given: Collection[str] | None = None,
    accepted: Callable[[], None] | None = None,
) -> Outcome:
    """Train, or go on training, until the budget is spent.

    Where the budget is in minutes alone, a new run measures its speed and plans how many steps fit: see
    `saccade.train.plan`. What the plan chooses takes the place of options that nobody gave.

    Args:
        kind: the task.
        options: of the task and the model, as `options_class` has them.
        objects: the data, where they are Python objects or open already.
        suited: what the defaults among the options were chosen by, which a new run says and records.
        given: names of the options that somebody gave, as a recipe did not; None: all of them, and nothing is planned.
        accepted: called once nothing is refused any more, before the first step; not where no step is left to take.

    Returns:
        The run and its results.

    Raises:
        RunError: if the run's folder belongs to something else.
        SaccadeError: if the data cannot be read, or the loss is not finite.
        OSError: if the folder cannot be written or the disk is full; the last checkpoint is kept.
    """
    began, ranks = time.perf_counter(), place(options)
    device = choose_device(options.device, ranks.local, ranks.here)
    check_precision(options.precision, device)
    if not ranks.external:
        check_processes(ranks.world)
    _share_processor(options, ranks)
    keep_freed_memory()
    bound_shape_caches()
    with joined(device) if ranks.external and ranks.world > 1 else nullcontext():
        if ranks.leads:
            return _lead(Wanted(kind, options, objects, suited, given, began), device, ranks, accepted)
        return _follow(kind, options, given, device, ranks)


def _share_processor(options: Options, ranks: Ranks) -> None:
    """Compute with as many threads as the options say; several processes that they do not speak of share the cores."""
    if options.threads or ranks.here > 1:
        torch.set_num_threads(options.threads or max(1, (os.cpu_count() or 1) // ranks.here))


def _lead(wanted: Wanted, device: torch.device, ranks: Ranks, accepted: Callable[[], None] | None) -> Outcome:
    """What the first process does, or the only one."""
    opened = open_run(wanted, device)
    run, task, options = opened.run, opened.task, opened.options
    with run.locked():
        results = run.results()
        if results is not None and run.trained and complete(results, options):
            if ranks.external:
                ranks.share(None)
            return Outcome(run, results["steps"], results, fresh=False)
        return _train(task, opened.model or new_model(task, options), run, options, device, ranks, accepted)


def _follow(kind: Kind, options: Options, given: Collection[str] | None, device: torch.device, ranks: Ranks) -> Outcome:
    """What every other process does: train beside the first, from the checkpoint that it has chosen."""
    from saccade.train.engine import advance

    told = ranks.share(None)
    if told is None:  # there was nothing to do
        return Outcome(Run(Path(), {}), 0, None, fresh=False, follows=True)
    folder, step = told
    run = Run.open(folder)
    options = options if given is None else fitted(options, open_plan(folder), given)
    task = kind.restore(options, folder)
    model, state = new_model(task, options), TrainState()
    checkpoint = load(step_folder(run.checkpoints, step)) if step else None
    if checkpoint:
        state = _restore(run, options, model, checkpoint)
    advance(task, model.to(device), run, options, device, state, checkpoint, ranks)
    return Outcome(run, state.step, None, fresh=True, follows=True)


def _work(kind: Kind, options: dict[str, Any]) -> None:
    """What a process does that `launch` starts."""
    train(kind, options_class(kind, options["model"])(**options))


def _train(
    task: Task,
    model: nn.Module,
    run: Run,
    options: Options,
    device: torch.device,
    ranks: Ranks,
    accepted: Callable[[], None] | None,
) -> Outcome:
    checkpoint = _checkpoint(run)
    if checkpoint is None and run.results() is not None and run.trained:
        lost = f"{run.checkpoints}: none can be read, so training would begin again over the model that is there"
        raise RunError(f"{lost}; --no-resume begins beside it")
    state = _beginning(run)
    if checkpoint:
        state = _restore(run, options, model, checkpoint)
        if (before := checkpoint.scalars["threads"]) != (now := torch.get_num_threads()):
            say(f"{before} threads until now, {now} from here on: the last digits of results may differ")
    model.to(device)
    run.rewind_log(state.step)
    if not state.ended(options):
        from saccade.train.engine import advance

        if accepted is not None:
            accepted()
        with launch(ranks, device, _work, kind_of(task), asdict(options)):
            ranks.share((run.folder, state.step))
            if not advance(task, model, run, options, device, state, checkpoint, ranks):
                return Outcome(run, state.step, None, fresh=True)
        _note_cut(state, options)
    elif ranks.external:
        ranks.share(None)
    return Outcome(run, state.step, _conclude(task, model, run, options, device, state), fresh=True)


def _note_cut(state: TrainState, options: Options) -> None:
    """Say so where the minutes were over before the steps that were wanted, or planned to fit."""
    wanted = options.max_steps or (options.schedule_steps if options.schedule in FALLING else None)
    if wanted and state.step < wanted and state.spent(options):
        say(f"the minutes are over at step {state.step} of {wanted}; a larger --max-minutes goes on from there")


def _beginning(run: Run) -> TrainState:
    """How far a run is before its first step: of a budget that was planned, some is over."""
    plan = open_plan(run.folder)
    return TrainState(seconds=plan.seconds["before"], reserve=plan.seconds["final"]) if plan else TrainState()


def _conclude(
    task: Task, model: nn.Module, run: Run, options: Options, device: torch.device, state: TrainState
) -> dict[str, Any]:
    """Write the trained model, measure it, and write its results."""
    candidates, found = assemble(run, model, state, options), list[Evaluation]()
    model.to(device)  # Lightning takes it back to the CPU
    with waiting("measuring on validation and test", state.reserve):
        if len(candidates) > 1:
            found = [_validated(task, model, one, options) for one in candidates]
        best, compared = _choose(task, candidates, found)
        chosen = candidates[best]
        if len(candidates) == 1 and chosen.steps[-1] != state.step:
            say(f"the model is that of step {chosen.steps[-1]}, the best on validation")
        run.save_weights(chosen.weights, chosen.steps[-1], origin(run.config, options))
        load_into(model, chosen.weights)
        test = measure(task, model, "test", options.seed)
        validation = found[best] if found else measure(task, model, "validation", options.seed)
    measured = {
        split: replace(evaluation, baselines=baselines(run, task, split))
        for split, evaluation in (("test", test), ("validation", validation))
    }
    results = summarize(run, options, state, model, measured, chosen.steps, compared)
    numbers = values(validation.metrics)
    run.log_end(state.step, **{f"final_validation_{name}": number for name, number in numbers.items()})
    write_json(run.folder / "results.json", results)
    if not newest(run.checkpoints)[1]:  # the last one can be read: those before it have had their time
        prune(run.checkpoints, lambda steps: needed(steps, state, options), keep=1)
    return results


def _validated(task: Task, model: nn.Module, candidate: Candidate, options: Options) -> Evaluation:
    """How the model does with a candidate's weights."""
    load_into(model, candidate.weights)
    return measure(task, model, "validation", options.seed)


def _choose(task: Task, candidates: list[Candidate], found: list[Evaluation]) -> tuple[int, list[dict[str, Any]]]:
    """Return which candidate did best on validation, the first where none did better, and what all of them did."""
    if not found:
        return 0, []
    numbers = [value(evaluation.metrics[task.headline]) for evaluation in found]
    best = numbers.index(max(numbers))
    told = ", ".join(f"{number:.4f} for {one}" for number, one in zip(numbers, candidates, strict=True))
    say(f"{task.headline.replace('_', ' ')} on validation is {told}: the model is {candidates[best]}")
    return best, [{"steps": one.steps, task.headline: number} for one, number in zip(candidates, numbers, strict=True)]


def _checkpoint(run: Run) -> Checkpoint | None:
    """The newest whole checkpoint; damaged ones after it are set aside and reported."""
    checkpoint, damaged = newest(run.checkpoints)
    mended = None if checkpoint or not damaged else repaired(next(iter(damaged)), run.folder / "model.safetensors")
    for folder, error in damaged.items():
        set_aside(folder)
        use = f"using step {checkpoint.step}" if checkpoint else "there is none before it"
        other = "its other files hold the same, so it is made anew" if mended else use
        say(f"corrupt checkpoint: {error}, set aside; {other}")
    if mended:
        save(run.checkpoints, mended)
    return checkpoint or mended


def _restore(run: Run, options: Options, model: nn.Module, checkpoint: Checkpoint) -> TrainState:
    """Load a checkpoint into a model; returns how far it was."""
    own = origin(run.config, options)
    if checkpoint.scalars.get("origin", own) != own:
        what = f"{run.checkpoints}: expected checkpoints of this run, got step {checkpoint.step} of another one"
        raise RunError(f"{what} (other data, seed or options); move it away")
    _check_numbers(step_folder(run.checkpoints, checkpoint.step), checkpoint.scalars)
    try:
        load_into(model, checkpoint.model)
        names = (field.name for field in fields(TrainState) if field.name != "step")
        scalars = {"reserve": 0.0, **checkpoint.scalars}  # older ones do not have it
        state = TrainState(checkpoint.step, **{name: scalars[name] for name in names})
    except (RuntimeError, KeyError) as error:
        what = f"{run.folder}: config.json, tokenizer.json and checkpoint {checkpoint.step} do not belong together"
        raise RunError(f"{what}; put back the one that was changed, or move the checkpoint away") from error
    return state


def _check_numbers(place: Path, scalars: Mapping[str, Any]) -> None:
    """Refuse a checkpoint whose numbers are none: it is whole by its checksums, which anybody can write."""
    for name, kind in {**{field.name: field.type for field in fields(TrainState)}, "threads": int}.items():
        found = scalars.get(name, 0)
        if not fits(found, kind) or (name != "best" and isinstance(found, float) and not math.isfinite(found)):
            got = f"{name}: expected a number, got {found!r:.60}"
            raise RunError(f"{place / 'state.json'}: {got}; move this checkpoint away")
