"""All tasks and models. The file `entries/NAME.py` makes every law hold for the task NAME and its models.

The data are each task's own built-in ones, made so small that twelve models train in seconds.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from saccade.tasks import TASKS, batches
from saccade.tasks.labels import ranks
from tasks.laws.entry import LEARNED_FROM, Entry

STEPS, EARLIER = 6, 4
ENTRIES = Path(__file__).parent / "entries"
SHARED = ((ranks.Ranks, "endless", LEARNED_FROM), (batches, "_LOOKED_AT", 50))
"""Constants of modules that several tasks share, and their values here."""


def missing(folder: Path = ENTRIES) -> str:
    """Return the files that tasks lack, or that have no task, as one sentence. It is empty if all are there."""
    names = {name.replace("-", "_") for name in TASKS}
    files = {path.stem for path in folder.glob("*.py")}
    steps = {"add": names - files, "remove": files - names}
    return ", ".join(f"{step} tests/tasks/laws/entries/{name}.py" for step in steps for name in sorted(steps[step]))


def read_entries() -> dict[str, Entry]:
    """Return the entries by their tasks, in the order of the tasks."""
    files = {path.stem.replace("_", "-"): path.stem for path in ENTRIES.glob("*.py")}
    return {task: import_module(f"tasks.laws.entries.{files[task]}").ENTRY for task in TASKS if task in files}


TABLE = read_entries()
CASES = [(task, model) for task, entry in TABLE.items() for model in entry.models]
FIRST = [(task, next(iter(entry.models))) for task, entry in TABLE.items()]
REST = [pytest.param(case, id=" ".join(case), marks=pytest.mark.slow) for case in CASES if case not in FIRST]
MARKED = [*(pytest.param(case, id=" ".join(case)) for case in FIRST), *REST]
"""All cases, those slow that are not the first of their task."""


LIGHT = [task for task, entry in TABLE.items() if entry.light]
"""Tasks whose runs take little time."""


def quick(*tasks: str) -> list[Any]:
    """The first case of each task, those slow that are not of the tasks named."""
    return [pytest.param(case, id=" ".join(case), marks=[pytest.mark.slow] * (case[0] not in tasks)) for case in FIRST]


each_task = pytest.mark.parametrize("run", FIRST, indirect=True, ids=" ".join)
"""For laws that hold whatever the model is: the first run of each task."""


light_tasks = pytest.mark.parametrize("run", [*quick(*LIGHT), *REST], indirect=True)
"""For laws that take time: the first runs of light tasks, and slowly all others."""


def settings(task: str, model: str, **more: Any) -> dict[str, Any]:
    """Return the options of a tiny run."""
    entry = TABLE[task]
    shared = {"threads": 1, "warmup_steps": 3, "checkpoint_steps": 2, "validation_steps": 4, "validation_examples": 5}
    return {"model": model, "seed": 3, "max_steps": STEPS, **shared, **entry.options, **entry.models[model], **more}


def shrink(patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """Make the built-in data small."""
    for owner, name, value in (*SHARED, *(constant for entry in TABLE.values() for constant in entry.small)):
        patch(owner, name, value)


def several(task: Any, count: int) -> dict[str, int]:
    """Return what asks for so many answers, where a task has several: numbers have one."""
    return {"nbest": count} if "nbest" in task.requests["predict"].__dataclass_fields__ else {}


def questions(task: Any, folder: Path, count: int = 3) -> list[str]:
    """Return what a shell would ask: the first examples of the test, as lines or as the paths of files."""
    found = []
    for index in range(count):
        example = task.example("test", index)
        if example.file is None:
            found.append(example.text)
            continue
        suffix, content = example.file
        path = folder / f"{index}{suffix}"
        path.write_bytes(content)
        found.append(f"{path}\t{example.text}" if TABLE[task.name].beside else str(path))
    return found
