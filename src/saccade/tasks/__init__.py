"""The jobs: each turns raw data into a trained model, and raw input into raw output.

A new one is a module here with a `saccade.tasks.task.Task`, and a line in `TASKS`.
"""

from saccade.errors import SaccadeError
from saccade.train.task import Kind, find

__all__ = ["TASKS", "load_task"]

TASKS = {
    "translate": "saccade.tasks.translate:Translate",
    "classify-text": "saccade.tasks.classify_text:ClassifyText",
    "transcribe": "saccade.tasks.transcribe:Transcribe",
    "classify-image": "saccade.tasks.classify_image:CLASSIFY_IMAGE",
    "glimpse": "saccade.tasks.glimpse:GLIMPSE",
    "caption": "saccade.tasks.caption:Caption",
    "answer": "saccade.tasks.answer:AnswerQuestions",
    "memorize": "saccade.tasks.memorize:MEMORIZE",
    "regress": "saccade.tasks.regress:Regress",
}


def load_task(name: str) -> Kind:
    """Return a task by its name.

    Raises:
        SaccadeError: if there is none of that name.

    Example:
        >>> load_task("glimpse").unit
        'images'
    """
    if name not in TASKS:
        raise SaccadeError(f"TASK: expected one of {', '.join(TASKS)}, got {name}")
    task: Kind = find(TASKS[name])
    return task
