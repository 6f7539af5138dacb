"""Jobs: from raw data to a trained model, and from raw inputs to raw outputs.

A new task is a module of this package with a `saccade.tasks.task.Task`, and a line in `TASKS`. Other packages register
tasks by entry points of the group `saccade.tasks`, and models by entry points of the group `saccade.models`.
"""

from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from saccade._system.notes import say
from saccade.errors import SaccadeError

if TYPE_CHECKING:
    from saccade.train.task import Kind

__all__ = ["TASKS", "load_task", "usable_tasks"]

TASKS = {
    "translate": "saccade.tasks.translate:TRANSLATE",
    "classify-text": "saccade.tasks.classify_text:CLASSIFY_TEXT",
    "transcribe": "saccade.tasks.transcribe:TRANSCRIBE",
    "classify-image": "saccade.tasks.classify_image:CLASSIFY_IMAGE",
    "glimpse": "saccade.tasks.glimpse:GLIMPSE",
    "caption": "saccade.tasks.caption:CAPTION",
    "answer": "saccade.tasks.answer:ANSWER",
    "memorize": "saccade.tasks.memorize:MEMORIZE",
    "regress": "saccade.tasks.regress:REGRESS",
    "tag-words": "saccade.tasks.tag_words:TAG_WORDS",
}
TASKS |= {point.name: point.value for point in entry_points(group="saccade.tasks") if point.name not in TASKS}


def load_task(name: str) -> "Kind":
    """Return a task by its name.

    Raises:
        SaccadeError: if there is no such task, or it cannot be imported.

    Example:
        >>> load_task("glimpse").unit
        'images'
    """
    if name not in TASKS:
        raise SaccadeError(f"TASK: expected one of {', '.join(TASKS)}, got {name}")
    from saccade._system.imports import find  # imports torch, which the names of tasks do not need

    try:
        task: Kind = find(TASKS[name])
    except SaccadeError as error:
        raise SaccadeError(f"TASK {name}: {error}") from error
    if not hasattr(task, "prepare"):
        raise SaccadeError(f"TASK {name}: expected a saccade.tasks.task.Task, got {type(task).__name__} {TASKS[name]}")
    return task


def usable_tasks(names: Iterable[str]) -> "dict[str, Kind]":
    """Return tasks by name.

    If the import of a task of another package fails, the task is left out with a note.
    """
    tasks = dict[str, "Kind"]()
    for name in names:
        try:
            tasks[name] = load_task(name)
        except SaccadeError as error:
            say(str(error))
    return tasks
