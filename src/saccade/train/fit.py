"""Train a task: open or make the run, go on from its newest checkpoint, and write its results.

The order of things here is what makes a run safe: nothing is written before the command is known to fit the run, and
lightning, slow to import, is asked for only when there are steps to take.
"""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from saccade.train.checkpoint import Checkpoint, newest, set_aside
from saccade.train.environment import choose_device, versions
from saccade.train.files import write_json
from saccade.train.options import Options, identity
from saccade.train.randomness import seeded
from saccade.train.results import Books, measure, summarize
from saccade.train.run import Run, RunError, beside
from saccade.train.task import Task

__all__ = ["Outcome", "train"]


@dataclass(frozen=True)
class Outcome:
    """What `train` came to.

    Args:
        run: the run.
        step: how many steps it has taken.
        results: what results.json says, None if the user stopped the run before its end.
        fresh: whether anything was done (False: the run was complete already).
    """

    run: Run
    step: int
    results: dict[str, Any] | None
    fresh: bool


def train(kind: type[Task], options: Options) -> Outcome:
    """Train, or go on training, until the budget is spent.

    Args:
        kind: the task.
        options: of the task and the model, as the task's `options` has them.

    Returns:
        The run and its results.

    Raises:
        RunError: if the run's folder belongs to something else.
        SaccadeError: if the data cannot be read, or the loss is no longer a number.
        OSError: if the folder cannot be written or the disk is full; the last checkpoint is kept.
    """
    device = choose_device(options.device)
    if options.threads:
        torch.set_num_threads(options.threads)
    run, task = open_run(kind, options)
    with run.locked():
        results = run.results()
        if results is not None and run.trained and Books(results["steps"], seconds=results["seconds"]).spent(options):
            return Outcome(run, results["steps"], results, fresh=False)
        return _train(task, run, options, device)


def open_run(kind: type[Task], options: Options) -> tuple[Run, Task]:
    """Return the run that the options name, made if it is not there, and its task."""
    folder = Path(options.run or f"runs/{kind.name}-{Path(options.data).name}-{options.model}")
    if not options.resume and folder.exists():
        folder = beside(folder)
        say(f"starting a new run in {folder}")
    if not (folder / "config.json").exists():
        task = kind.prepare(options)
        task.build()  # a model too large for the memory leaves no folder behind
        config = {"task": kind.name, "model": options.model, "data": task.fingerprint, "options": asdict(options)}
        return Run.create(folder, {**config, "saccade": versions().get("saccade", "unknown")}, task.save), task
    run = Run.open(folder)
    run.refuse_difference(kind.name, {"model": options.model})
    task = kind.restore(options, folder)
    if task.fingerprint != run.config["data"]:
        old, new = run.config["options"]["data"], options.data
        run.refuse("--data", *((old, new) if old != new else (run.config["data"], task.fingerprint)))
    run.refuse_difference(kind.name, identity(options))  # last: what data there are changes other options' defaults
    return run, task


def _train(task: Task, run: Run, options: Options, device: torch.device) -> Outcome:
    checkpoint = _checkpoint(run)
    if checkpoint is None and run.results() is not None and (run.folder / "model.safetensors").exists():
        lost = f"{run.checkpoints}: none can be read, so training would begin again over the model that is there"
        raise RunError(f"{lost}; --no-resume begins beside it")
    model, books = _model(task, options), Books()
    if checkpoint:
        books = _restore(run, model, checkpoint)
    model.to(device)
    run.rewind_log(books.step)
    if not books.spent(options):
        from saccade.train.engine import advance

        say(f"{'going on' if books.step else 'training'} in {run.folder} at step {books.step}")
        if not advance(task, model, run, options, device, books, checkpoint.optimizer if checkpoint else {}):
            return Outcome(run, books.step, None, fresh=True)
        model.to(device)  # Lightning takes it back to the CPU
    run.save_weights({name: tensor.cpu() for name, tensor in model.state_dict().items()}, books.step)
    test, validation = (measure(task, model, split, options.seed) for split in ("test", "validation"))
    results = summarize(run, options, books, model, test, validation)
    write_json(run.folder / "results.json", results)
    run.log(step=books.step, **{f"final_validation_{name}": value for name, value in validation.metrics.items()})
    return Outcome(run, books.step, results, fresh=True)


def _checkpoint(run: Run) -> Checkpoint | None:
    """The newest whole checkpoint; damaged ones after it are set aside and reported."""
    checkpoint, damaged = newest(run.checkpoints)
    for place, error in damaged.items():
        set_aside(place)
        say(f"corrupt checkpoint: {error}; using step {checkpoint.step if checkpoint else 0}")
    return checkpoint


def _model(task: Task, options: Options) -> nn.Module:
    with seeded(options.seed, "weights"):
        return task.build()


def _restore(run: Run, model: nn.Module, checkpoint: Checkpoint) -> Books:
    """Load a checkpoint into a model; returns how far it was."""
    try:
        model.load_state_dict(checkpoint.model)
        before, now = checkpoint.scalars["threads"], torch.get_num_threads()
        names = ("tokens", "seconds", "training_seconds")
        books = Books(checkpoint.step, **{name: checkpoint.scalars[name] for name in names})
    except (RuntimeError, KeyError) as error:
        what = f"{run.checkpoints}: step {checkpoint.step} is of another model or Saccade"
        raise RunError(f"{what}; move it away, and training goes on from the one before") from error
    if before != now:
        say(f"{before} threads until now, {now} from here on: the last digits of results may differ")
    return books


def say(line: str) -> None:
    """Write a note to standard error."""
    sys.stderr.write(line + "\n")
