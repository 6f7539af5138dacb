"""Loading of the folder of a run, with its data or other data."""

from collections.abc import Mapping
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
from saccade.train.options import check_named, flag
from saccade.train.run import Run as Folder
from saccade.train.trained import Trained, load_trained

__all__ = ["load_run"]


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
