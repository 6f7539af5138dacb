"""Default options of a run: its present ones, or the recipe for model and data."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from saccade._system.files import check_folder
from saccade._system.notes import say
from saccade.errors import ArgumentError
from saccade.train.options import Options
from saccade.train.run import Run, folder_of
from saccade.train.schedules import FALLING, SCHEDULES
from saccade.train.task import Kind, Suited, models_of, on_machine, options_class, recipe

_HORIZON = ("schedule_steps", "final_rate")  # of a recipe: a schedule that does not fall has no use for them


def defaults(
    kind: Kind, model: str, data: str, explicit: Mapping[str, Any], suited: Suited | None = None
) -> dict[str, Any]:
    """Return the default options of a run with a model and data.

    They depend on the options that the user gave. Minutes alone lift the limit of steps, steps alone that of minutes,
    and a schedule that does not fall has no horizon. Without `suited` the recipe is that of the data's name.
    """
    names = {field.name for field in fields(options_class(kind, model))}
    chosen = recipe(kind, model, data) if suited is None else suited.options
    values = {name: value for name, value in chosen.items() if name in names}
    if explicit.get("max_minutes") and not explicit.get("max_steps"):
        values |= {"max_steps": None, "max_minutes": 1.0}  # the user's minutes replace this one
    elif explicit.get("max_steps"):
        values.pop("max_minutes", None)
    schedule = explicit.get("schedule")
    if schedule in SCHEDULES and schedule not in FALLING:
        values = {name: value for name, value in values.items() if name not in _HORIZON} | {"schedule": schedule}
    return {**values, "model": model, "data": data}


def resolve(kind: Kind, model: str, data: str, explicit: Mapping[str, Any], suited: Suited | None = None) -> Options:
    """Return all options of a run: the user's, and `defaults` for the rest.

    Raises ArgumentError for a wrong value.
    """
    return options_class(kind, model)(**{**defaults(kind, model, data, explicit, suited), **explicit})


def suit(kind: Kind, model: str, data: str, explicit: Mapping[str, Any], objects: Any = None) -> Suited:
    """Return the defaults of a run: its own options, or the recipe for its data.

    Data are read unless they are built in. Raises SaccadeError in one line if the data or the run cannot be read.
    """
    if data in kind.builtin and explicit.get("held_out") is not None:  # 0 too, which runs without the option have
        raise ArgumentError(f"--held-out: expected none for {data}, whose splits are fixed; leave it out")
    folder, flat = folder_of(kind.name, model, data, explicit.get("run")), options_class(kind, model)
    if explicit.get("resume", True) and (folder / "config.json").exists():
        run = Run.open(folder)
        if (run.config["task"], run.config["model"]) == (kind.name, model):
            saved = run.options(flat)
            names = (field.name for field in fields(flat) if not field.metadata.get("place"))
            return Suited({name: getattr(saved, name) for name in names}, data=objects)
        return _on_machine(Suited(recipe(kind, model, data), data=objects), explicit)
    check_folder("--run", folder)  # before the data, which take their time
    if data not in kind.builtin:
        return _on_machine(kind.suited(model, {**explicit, "data": data}, objects), explicit)
    return _on_machine(Suited(recipe(kind, model, data), data=objects), explicit)


def _on_machine(suited: Suited, explicit: Mapping[str, Any]) -> Suited:
    device = str(explicit.get("device", "auto")).partition(":")[0]
    smaller = suited.smaller and _on_machine(suited.smaller, explicit)
    return replace(suited, options=on_machine(suited.options, device), smaller=smaller)


def data_of(kind: Kind, data: str | Path) -> str:
    """Return the name of data. An existing path precedes built-in data.

    A note reports such a path. `./NAME` is always the path, so that a run's config.json names it without doubt.
    """
    name = str(data)
    if name not in kind.builtin or not Path(name).exists():
        return name
    say(f"--data {name}: taking ./{name}, which is here; the built-in data are taken where nothing has the name")
    return f"./{name}"


def usual(kind: Kind, run: str | None) -> tuple[str, str]:
    """Return the default model and data.

    They are those of the run in a folder if it exists, else the first ones.
    """
    model, data = next(iter(kind.models)), next(iter(kind.builtin))
    if not run or not (Path(run) / "config.json").exists():
        return model, data
    made = Run.open(Path(run))
    if made.config["task"] != kind.name:
        return model, data
    name, data = made.config["model"], str(made.config["options"].get("data", data))
    return name if ":" in name or name in models_of(kind) else model, data if data in kind.builtin else made.path(data)
