"""The jobs: each turns raw data into a trained model, and raw input into raw output.

Adding one is a folder here with a class of the shape of `saccade.train.task.Task`, and a line in `TASKS`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from saccade.errors import SaccadeError

if TYPE_CHECKING:
    from saccade.train.task import Task

__all__ = ["TASKS", "load_task"]

TASKS = {
    "translate": "saccade.tasks.translate:Translate",
    "classify-text": "saccade.tasks.classify_text:ClassifyText",
    "transcribe": "saccade.tasks.transcribe:Transcribe",
    "classify-image": "saccade.tasks.classify_image:ClassifyImage",
    "glimpse": "saccade.tasks.glimpse:Glimpse",
    "caption": "saccade.tasks.caption:Caption",
    "answer": "saccade.tasks.answer:AnswerQuestions",
    "memorize": "saccade.tasks.memorize:Memorize",
    "regress": "saccade.tasks.regress:Regress",
}


def load_task(name: str) -> type["Task"]:
    """Return a task by its name.

    Raises:
        SaccadeError: if there is none of that name.

    Example:
        >>> load_task("translate").__name__
        'Translate'
    """
    if name not in TASKS:
        raise SaccadeError(f"TASK: expected one of {', '.join(TASKS)}, got {name}")
    module, _, attribute = TASKS[name].partition(":")
    task: type[Task] = getattr(import_module(module), attribute)
    return task
