"""`saccade list`: name the tasks, their models and their built-in data."""

import sys

from saccade.cli.arguments import UsageError
from saccade.tasks import TASKS, find, load_task

__all__ = ["run"]


def run(arguments: list[str]) -> int:
    """Print each task, its models and its data with a sentence each."""
    if arguments and arguments[0] not in ("-h", "--help"):
        raise UsageError(f"saccade list: expected no arguments, got {arguments[0]}")
    for name in TASKS:
        task = load_task(name)
        print(f"{name}: {_sentence(sys.modules[task.__module__.rpartition('.')[0]].__doc__)}")
        print("  models")
        for model, where in task.models.items():
            find(where)
            print(f"    {model:12} {_sentence(sys.modules[where.partition(':')[0]].__doc__)}")
        print("  data")
        for data, sentence in task.builtin.items():
            print(f"    {data:12} {sentence}")
    return 0


def _sentence(text: str | None) -> str:
    """The first line of a docstring."""
    return (text or "").strip().splitlines()[0]
