"""`saccade list`: name the tasks, their models and their built-in data."""

import json
from dataclasses import dataclass

from saccade._system.notes import output
from saccade.cli.arguments import parse
from saccade.cli.catalogue import tasks


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Name the tasks, their models and their built-in data."""

    json: bool = False
    """Write one JSON object instead, with the options of every model."""


def run(arguments: list[str]) -> int:
    """Print each task, its models and its data with a sentence each."""
    options = parse(Arguments, arguments, "saccade list", Arguments.__doc__ or "")
    if options.json:
        output(json.dumps({"tasks": tasks()}, ensure_ascii=False, indent=2))
        return 0
    for task in tasks():
        wide = max(len(choice["name"]) for choice in task["models"] + task["data"])
        output(f"{task['name']}: {task['summary']}")
        for title in ("models", "data"):
            output(f"  {title}")
            for choice in task[title]:
                output(f"    {choice['name']:{wide}}  {choice['summary']}")
    return 0
