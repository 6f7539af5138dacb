"""Options, examples and loading of a run."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from saccade._definitions.argument_hints import choose
from saccade._system.environment import choose_device
from saccade.data.objects import OBJECTS, kept
from saccade.errors import ArgumentError
from saccade.tasks import TASKS, load_task
from saccade.tasks.other_data import measured_on, reading_options
from saccade.tasks.task import Job
from saccade.train.options import Options, check_named, flag
from saccade.train.recipes import data_of, resolve
from saccade.train.run import Run as Folder
from saccade.train.task import Example, Kind, Suited, choose_model, options_class
from saccade.train.trained import Trained, load_trained

__all__ = ["checked_model", "examples", "load_run", "named_source", "options"]


def load_run(
    folder: str | Path, device: str, option: str, data: Any = None, reading: Mapping[str, Any] | None = None
) -> Trained:
    """Load a run with its trained model.

    Args:
        folder: of the run.
        device: where to compute, as for `saccade.runs.load`.
        option: name of the folder in messages.
        data, reading: as for `saccade.runs.load`.

    Raises:
        SaccadeError: if it is no run, or has nothing trained.
    """
    if not str(folder):
        raise ArgumentError(f"{option}: expected the folder of a run, got an empty name")
    run = Folder.open(Path(folder))
    kind = load_task(choose(f"{run.folder}: task", run.config["task"], TASKS))
    if data is None:
        if reading:
            raise ArgumentError(f"{flag(next(iter(reading)))}: expected with --data, got no data; leave it out")
        return load_trained(kind, run, choose_device(device))
    check_named(reading or {}, reading_options(kind.Options), f"reading data of {kind.name}")
    name, objects = (str(data), None) if isinstance(data, str | Path) else (OBJECTS, kept(data))
    named = {"data": name, **({} if objects is None else {"encoding": None}), **(reading or {})}
    trained = load_trained(kind, run, choose_device(device), objects, named)
    if not isinstance(trained.task, Job):
        return trained
    located = run.located(trained.options, kind.builtin)
    return replace(trained, task=measured_on(trained.task, located, named, objects, run.config["data"]))


def named_source(kind: Kind, data: Any) -> tuple[str, Any]:
    """Return the name of data, and the Python objects if they are some."""
    return (data_of(kind, data), None) if isinstance(data, str | Path) else (OBJECTS, data)


def options(
    kind: Kind, data: str | None, model: str | None, given: Mapping[str, Any], suited: Suited | None = None
) -> Options:
    """Return all options of a run: the given ones, and its recipes for the rest.

    Args:
        kind: the task.
        data: as `--data` names them. The first built-in data set if None.
        model: its name. The task's first one if None.
        given: others by their names.
        suited: recipes suitable for data that were read. Without them nothing is read.

    Raises:
        ArgumentError: an option that there is not, or a value that means nothing.
    """
    model = checked_model(kind, model, given)
    return resolve(kind, model, next(iter(kind.builtin)) if data is None else data, given, suited)


def checked_model(kind: Kind, model: str | None, named: Mapping[str, Any]) -> str:
    """Return the name of the model, after a check of the named options."""
    model = next(iter(kind.models)) if model is None else choose_model(kind, model)
    check_named(named, options_class(kind, model), f"{kind.name} with the model {model}")
    return model


def examples(task: str | Kind, split: str, count: int, *, data: Any = None, **more: Any) -> Iterator[Example]:
    """Give the first examples of a data set as the task reads it.

    Args:
        task: its name.
        split: "train", "validation" or "test".
        count: how many; fewer where there are fewer.
        data: as for `saccade.runs.train`.
        more: options of the task that say how data are read.
    """
    kind = load_task(choose("task", task, TASKS)) if isinstance(task, str) else task
    name, objects = named_source(kind, next(iter(kind.builtin)) if data is None else data)
    prepared = kind.prepare(options(kind, name, None, more), objects)
    size = prepared.data.size(split)
    return (prepared.example(split, index) for index in range(count if size is None else min(count, size)))
