"""What a run's options are where nobody says otherwise: its own if it is there, else what suits its model and data."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from saccade.errors import ArgumentError
from saccade.train.notes import say
from saccade.train.options import Options, check_types, identity
from saccade.train.run import Run, RunError, folder_of
from saccade.train.schedules import FALLING, SCHEDULES
from saccade.train.task import Kind, Suited, models_of, options_class, recipe

__all__ = ["data_of", "defaults", "suit", "usual_model"]

_HORIZON = ("schedule_steps", "final_rate")  # of a recipe: a schedule that does not fall has no use for them


def defaults(
    kind: Kind, model: str, data: str, given: Mapping[str, Any], suited: Suited | None = None
) -> dict[str, Any]:
    """Return the options of a run that follow from its model and data, and from the few others that change them.

    Args:
        kind: the task.
        model: its model's name.
        data: as `--data` names them.
        given: of the options that are given, max_minutes, max_steps and schedule count: minutes alone lift the recipe's
            steps, and a schedule that does not fall its horizon.
        suited: what was found by `suit`; without it nothing is read, and the recipe is that of the data's name.
    """
    known = {field.name for field in fields(options_class(kind, model))}
    found = recipe(kind, model, data) if suited is None else suited.options
    values = {name: value for name, value in found.items() if name in known}
    if given.get("max_minutes") and not given.get("max_steps"):
        values |= {"max_steps": None, "max_minutes": 1.0}  # the minutes that are given take this one's place
    schedule = given.get("schedule")
    if schedule in SCHEDULES and schedule not in FALLING:
        values = {name: value for name, value in values.items() if name not in _HORIZON} | {"schedule": schedule}
    return {**values, "model": model, "data": data}


def suit(kind: Kind, model: str, data: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
    """Return what suits a run: its own options if it is there, else what its data say, which are read unless built in.

    Args:
        kind: the task.
        model: its model's name.
        data: as `--data` names them.
        given: the options that are given, by their names.
        objects: the data, where they are Python objects.

    Raises:
        SaccadeError: in one line, if the data or the run cannot be read.
    """
    run = _there(kind, given, model, data)
    if run is not None and (run.config["task"], run.config["model"]) == (kind.name, model):
        own = identity(run.options(options_class(kind, model)))  # budgets are no run's own: those of its recipe count
        return Suited({**_recorded(run, kind, model, data), **own}, data=objects)
    if run is not None or data in kind.builtin:
        return Suited(recipe(kind, model, data), data=objects)
    return kind.suited(model, {**given, "data": data}, objects)


def data_of(kind: Kind, data: str | Path | None) -> str:
    """Return the data of a run: a path beside you comes before built-in data.

    A note says so. Without a name it is the first built-in data set. `./NAME` is always the path, so that a run's
    config.json names it without doubt.
    """
    name = next(iter(kind.builtin)) if data is None else str(data)
    if data is None or name not in kind.builtin or not Path(name).exists():
        return name
    say(f"--data {name}: taking ./{name}, which is here; the built-in data are taken where nothing has the name")
    return f"./{name}"


def usual_model(kind: Kind, run: str | None) -> str:
    """Return the model where none is named: that of the run in a folder, if it is there, else the task's first one."""
    first = next(iter(kind.models))
    if not run or not (Path(run) / "config.json").exists():
        return first
    config = Run.open(Path(run)).config
    model = str(config["model"])
    there = ":" in model or model in models_of(kind)
    return model if there and config["task"] == kind.name else first


def _there(kind: Kind, given: Mapping[str, Any], model: str, data: str) -> Run | None:
    """The run that the options go on with, None where they begin one."""
    folder = folder_of(kind.name, model, data, given.get("run"))
    return Run.open(folder) if given.get("resume", True) and (folder / "config.json").exists() else None


def _recorded(run: Run, kind: Kind, model: str, data: str) -> Mapping[str, Any]:
    """The recipe that a run was made by; runs from before there was a choice have that of their data's name."""
    if run.recipe is None:
        return recipe(kind, model, data)
    flat: type[Options] = options_class(kind, model)
    try:
        check_types(flat, run.recipe)
    except ArgumentError as error:
        raise RunError(f"{run.folder / 'config.json'}: recipe: {error}") from error
    return run.recipe
