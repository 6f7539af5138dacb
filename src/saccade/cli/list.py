"""`saccade list`: name the tasks, their models and their built-in data."""

import json
import sys
from dataclasses import MISSING, dataclass, fields
from typing import Any, get_args, get_origin

from saccade.cli.arguments import help_texts, parse
from saccade.tasks import TASKS, load_task
from saccade.tasks.task import Task as Value
from saccade.train.notes import output
from saccade.train.recipes import defaults
from saccade.train.task import Kind, find, options_class


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Name the tasks, their models and their built-in data."""

    json: bool = False
    """Write one JSON object instead, with the options of every model."""


def run(arguments: list[str]) -> int:
    """Print each task, its models and its data with a sentence each."""
    options = parse(Arguments, arguments, "saccade list", Arguments.__doc__ or "")
    if options.json:
        output(json.dumps({"tasks": [described(load_task(name)) for name in TASKS]}, ensure_ascii=False, indent=2))
        return 0
    for name in TASKS:
        kind = load_task(name)
        wide = max(map(len, (*kind.models, *kind.builtin)))
        output(f"{name}: {_summary(kind)}\n  models")
        for model in kind.models:
            output(f"    {model:{wide}}  {_sentence(kind, model)}")
        output("  data")
        for data, sentence in kind.builtin.items():
            output(f"    {data:{wide}}  {sentence}")
    return 0


def described(kind: Kind) -> dict[str, Any]:
    """Return a task, its models with all options, and its data, for JSON.

    Options have the defaults of the first built-in data set.
    """
    models = [{"name": name, "summary": _sentence(kind, name), "options": _options(kind, name)} for name in kind.models]
    data = [{"name": name, "summary": sentence} for name, sentence in kind.builtin.items()]
    return {"name": kind.name, "summary": _summary(kind), "models": models, "data": data}


def _options(kind: Kind, model: str) -> list[dict[str, Any]]:
    flat, usual = options_class(kind, model), defaults(kind, model, next(iter(kind.builtin)), {})
    texts = help_texts(flat.__mro__[1:])
    return [
        {
            "name": field.name,
            "type": _type(field.type),
            "default": usual.get(field.name, None if field.default is MISSING else field.default),
            "help": texts[field.name],
        }
        for field in fields(flat)
    ]


def _type(kind: Any) -> str:
    if get_origin(kind) is not None and all(isinstance(choice, str) for choice in get_args(kind)):
        return " or ".join(get_args(kind))
    return getattr(kind, "__name__", str(kind)) if get_origin(kind) is None else str(kind)


def _summary(kind: Any) -> str:
    if isinstance(kind, Value):
        return kind.summary
    return _first_line(sys.modules[kind.__module__.rpartition(".")[0]].__doc__)


def _sentence(kind: Kind, model: str) -> str:
    """First line about a model: of its module, or of its class in a shared module."""
    modules = [where.partition(":")[0] for where in kind.models.values()]
    network, module = find(kind.models[model]), kind.models[model].partition(":")[0]
    return _first_line((sys.modules[module] if modules.count(module) == 1 else network).__doc__)


def _first_line(text: str | None) -> str:
    return next(iter((text or "").strip().splitlines()), "")  # python -OO leaves docstrings out
