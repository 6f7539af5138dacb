"""Tasks, models, data and options, read without torch.

`saccade list` and shell completion read them from catalogue.json. `tools/write_options.py` writes it.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from importlib.metadata import entry_points
from inspect import get_annotations
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from saccade._definitions.argument_hints import help_texts
from saccade._system.notes import say
from saccade.errors import SaccadeError
from saccade.tasks import TASKS, usable_tasks

if TYPE_CHECKING:
    from saccade.train.task import Kind

FILE = Path(__file__).with_name("catalogue.json")


def load() -> dict[str, Any]:
    """Return the content of catalogue.json."""
    content: dict[str, Any] = json.loads(FILE.read_bytes())
    return content


def tasks(names: Iterable[str] = TASKS) -> list[dict[str, Any]]:
    """Return tasks by their names, each with its models, their options, and its data."""
    listed = {task["name"]: task for task in expanded(load())}
    extended = {point.name.partition(".")[0] for point in entry_points(group="saccade.models")}
    other = (name for name in names if name in TASKS and (name not in listed or name in extended))
    if kinds := usable_tasks(other).values():
        listed |= {task["name"]: task for task in expanded(packed((kind, _usable_models(kind)) for kind in kinds))}
    return [listed[name] for name in names if name in listed]


def _usable_models(kind: "Kind") -> dict[str, str]:
    """Models of a task that can be imported. Notes name the rest."""
    from saccade.train.task import model_class, models_of

    table = dict[str, str]()
    for name, where in models_of(kind).items():
        try:
            model_class(kind, name)
            table[name] = where
        except SaccadeError as error:
            say(f"{kind.name} {name}: {error}")
    return table


def summaries() -> dict[str, str]:
    """Return a sentence about each task."""
    return {task["name"]: task["summary"] for task in tasks()}


def expanded(catalogue: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tasks of a catalogue, with all options of every model."""
    for task in catalogue["tasks"]:
        for model in task["models"]:
            options = dict[str, Any]()
            for name in model.pop("classes"):  # a derived class may redefine a field
                options |= catalogue["classes"][name]
            usual = model.pop("defaults")
            model["options"] = [
                {"name": name, "type": kind, "default": usual.get(name, default), "help": text}
                for name, (kind, default, text) in options.items()
            ]
    return list(catalogue["tasks"])


def packed(kinds: Iterable[tuple["Kind", Mapping[str, str]]]) -> dict[str, Any]:
    """Return tasks as a catalogue, with each class of options once.

    Each task comes with its models by name, "module:Class". Defaults are those of its first built-in data set.
    """
    from saccade.train.recipes import defaults
    from saccade.train.task import options_class

    classes: dict[str, dict[str, Any]] = {}
    listed = []
    for kind, table in kinds:
        models = []
        for name in table:
            parts = options_class(kind, name).__mro__[-2:0:-1]
            classes |= {_name(part): _options(part) for part in parts}
            usual = defaults(kind, name, next(iter(kind.builtin)), {})
            models.append(
                {
                    "name": name,
                    "summary": _model_summary(table, name),
                    "classes": [_name(part) for part in parts],
                    "defaults": usual,
                }
            )
        data = [{"name": name, "summary": sentence} for name, sentence in kind.builtin.items()]
        summary = getattr(kind, "summary", "") or _first_line(sys.modules[TASKS[kind.name].partition(":")[0]].__doc__)
        listed.append({"name": kind.name, "summary": summary, "models": models, "data": data})
    return {"classes": dict(sorted(classes.items())), "tasks": listed}


def _name(part: type) -> str:
    return f"{part.__module__}:{part.__qualname__}"


def _options(part: type) -> dict[str, tuple[str, Any, str]]:
    """Type, default and help of the fields that a dataclass itself defines."""
    texts, types = help_texts([part]), get_type_hints(part)
    return {
        field.name: (
            _type(types[field.name]),
            None if field.default is MISSING else field.default,
            texts.get(field.name, ""),
        )
        for field in fields(part)
        if field.name in get_annotations(part)
    }


def _type(kind: Any) -> str:
    parts = (get_args(part) or (part,) for part in get_args(kind) if part is not NoneType)
    choices = [choice for part in parts for choice in part]
    if choices and all(isinstance(choice, str) for choice in choices):
        return " or ".join(choices)
    return getattr(kind, "__name__", str(kind)) if get_origin(kind) is None else str(kind)


def _model_summary(table: Mapping[str, str], model: str) -> str:
    """First line about a model: of its module, or of its class in a shared module."""
    from saccade._system.imports import find

    modules = [where.partition(":")[0] for where in table.values()]
    network, module = find(table[model]), table[model].partition(":")[0]
    return _first_line((sys.modules[module] if modules.count(module) == 1 else network).__doc__)


def _first_line(text: str | None) -> str:
    return next(iter((text or "").strip().splitlines()), "")  # python -OO leaves docstrings out
