"""Write the tables of options for the command line and for editors.

    python tools/write_options.py

src/saccade/cli/catalogue.json is for `saccade list`, shell completion and the navigation of the documentation.
src/saccade/_keywords.pyi has the keywords of `saccade.runs`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from saccade.cli.catalogue import FILE, packed
from saccade.cli.help import choices_of, positional
from saccade.tasks import TASKS, load_task
from saccade.tasks.other_data import reading_options
from saccade.train.options import Options
from saccade.train.task import Kind, options_class

KEYWORDS = Path(__file__).resolve().parents[1] / "src/saccade/_keywords.pyi"
HEAD = '''"""Keywords of `saccade.runs`. `python tools/write_options.py` writes this file."""

# fmt: off
# ruff: noqa: E501
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, Unpack, overload

from saccade.runs import Run
'''
VERBS = ("eval", "predict", "look", "explore", "serve", "data", "bench", "list", "env")
TYPED = {"model", "data", "run"}  # options of `train` with a type of their own


def kinds() -> list[Kind]:
    """Tasks of Saccade itself."""
    return [load_task(name) for name, where in TASKS.items() if where.startswith("saccade.")]


def catalogue() -> str:
    """Content of catalogue.json."""
    content = {**packed((kind, kind.models) for kind in kinds()), "verbs": verbs(kinds())}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def verbs(tasks: Sequence[Kind]) -> dict[str, dict[str, list[str]]]:
    """Options of each verb for any task, with their values if these are few."""
    listed: dict[str, dict[str, list[str]]] = {"train": {"config": []}}  # others depend on the model
    for verb in VERBS:
        shared = import_module(f"saccade.cli.{verb}").Arguments
        parts = [shared, *(task.Options if verb == "data" else task.requests.get(verb, shared) for task in tasks)]
        parts += [reading_options(task.Options) for task in tasks if verb == "eval"]
        options = {field.name: field for part in parts for field in fields(part) if not positional(field)}
        listed[verb] = {name: choices_of(field.type) for name, field in options.items()}
    return listed


def keywords() -> str:
    """Content of _keywords.pyi."""
    shared = {name: text for name, text in types([Options]).items() if name not in TYPED}
    blocks = [HEAD, block("Options", "TypedDict", {"data": "Any", "run": "str | Path", **shared})]
    for kind in kinds():
        options = types(options_class(kind, model) for model in kind.models)
        model = {"model": f"{literal(kind.models)} | str"}
        specific = {name: text for name, text in options.items() if name not in {*shared, *TYPED}}
        blocks.append(block(class_name(kind.name), "Options", {**model, **specific}))
    requests = {verb: types(kind.requests[verb] for kind in kinds()) for verb in ("predict", "eval", "look")}
    blocks += [block(verb.capitalize(), "TypedDict", options) for verb, options in requests.items()]
    return "\n".join([*blocks, overloads(kind.name for kind in kinds())])


def overloads(names: Iterable[str]) -> str:
    """The type of `saccade.runs.train`, with the options of each task."""
    typed = [(literal([name]), f"Unpack[{class_name(name)}]") for name in names]
    return "class Train(Protocol):\n" + "".join(
        f"    @overload\n    def __call__(self, task: {task}, **more: {options}) -> Run: ...\n"
        for task, options in (*typed, ("str", "Any"))  # the last is for tasks of other packages
    )


def class_name(task: str) -> str:
    """The name of the keywords of a task."""
    return task.title().replace("-", "")


def types(parts: Iterable[type]) -> dict[str, str]:
    """Types of all fields of some dataclasses, as annotations."""
    kinds_of: dict[str, list[Any]] = {}
    for part in parts:
        for field in fields(part):
            kinds_of.setdefault(field.name, []).append(field.type)
    return {name: annotation(options) for name, options in kinds_of.items()}


def annotation(options: Sequence[Any]) -> str:
    """The union of some types."""
    parts = [part for option in options for part in (get_args(option) if is_union(option) else [option])]
    words = list(dict.fromkeys(word for part in parts if get_origin(part) is Literal for word in get_args(part)))
    names = [part.__name__ for part in parts if isinstance(part, type) and part is not NoneType]
    empty = ["None"] if NoneType in parts else []
    return " | ".join([*dict.fromkeys(names), *([literal(words)] if words else []), *empty])


def is_union(option: Any) -> bool:
    """Whether a type has several parts, one of them perhaps a choice."""
    return get_origin(option) not in (None, Literal)


def literal(words: Iterable[str]) -> str:
    """A choice of words."""
    quoted = ", ".join(f'"{word}"' for word in words)
    return f"Literal[{quoted}]"


def block(name: str, base: str, annotations: Mapping[str, str]) -> str:
    """A class of keywords."""
    return f"class {name}({base}, total=False):\n" + "".join(
        f"    {key}: {text}\n" for key, text in annotations.items()
    )


if __name__ == "__main__":
    FILE.write_text(catalogue(), encoding="utf-8")
    KEYWORDS.write_text(keywords(), encoding="utf-8")
