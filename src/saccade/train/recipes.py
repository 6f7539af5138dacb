"""What a run's options are where nobody says otherwise: the recipes of the task and of the model for its data."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from saccade.train.schedules import FALLING, SCHEDULES
from saccade.train.task import Task, options_class, recipe

__all__ = ["defaults"]

_HORIZON = ("schedule_steps", "final_rate")  # of a recipe: a schedule that does not fall has no use for them


def defaults(kind: type[Task], model: str, data: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run that follow from its model and data, and from the few others that change them.

    Args:
        kind: the task.
        model: its model's name.
        data: as `--data` names them.
        given: of the options that are given, max_minutes, max_steps and schedule count: minutes alone lift the recipe's
            steps, and a schedule that does not fall its horizon.
    """
    flat = options_class(kind, model)
    known, found = {field.name for field in fields(flat)}, recipe(kind, model, data)
    values = {name: value for name, value in found.items() if name in known}
    if given.get("max_minutes") and not given.get("max_steps"):
        values |= {"max_steps": None, "max_minutes": 1.0}  # the minutes that are given take this one's place
    schedule = given.get("schedule")
    if schedule in SCHEDULES and schedule not in FALLING:
        values = {name: value for name, value in values.items() if name not in _HORIZON} | {"schedule": schedule}
    return {"model": model, "data": data, **values}
