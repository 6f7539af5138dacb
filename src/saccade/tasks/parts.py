"""Parts of a task, for authors of tasks: import them from here."""

from saccade.data import Blank, Column, Examples, SplitNames, open_rows
from saccade.data.generated import Generated, first_in
from saccade.tasks.answered import Answered
from saccade.tasks.labels.baselines import majority, usual
from saccade.tasks.labels.metrics import confusion, measured
from saccade.tasks.predictor import Predictor
from saccade.tasks.request import NoOptions
from saccade.tasks.task import Job, Task
from saccade.tasks.text.codec import Text, TextCodec
from saccade.tasks.text.options import TextOptions
from saccade.train.randomness import derive
from saccade.train.task import Baseline, Evaluation, Loss

__all__ = [
    "Answered",
    "Baseline",
    "Blank",
    "Column",
    "Evaluation",
    "Examples",
    "Generated",
    "Job",
    "Loss",
    "NoOptions",
    "Predictor",
    "SplitNames",
    "Task",
    "Text",
    "TextCodec",
    "TextOptions",
    "confusion",
    "derive",
    "first_in",
    "majority",
    "measured",
    "open_rows",
    "usual",
]
