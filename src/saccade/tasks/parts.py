"""Parts of a task, for authors of tasks: `from saccade.tasks import parts`."""

from saccade.data import Blank, Column, Examples, Names, Row, Rows, SplitNames, open_rows
from saccade.data.columns import label, text, words
from saccade.data.dataset import training_sample
from saccade.data.generated import Generated, first_in
from saccade.errors import ArgumentError
from saccade.tasks.answered import Answered
from saccade.tasks.labels.baselines import majority, usual
from saccade.tasks.labels.labelled import LabelledText
from saccade.tasks.labels.metrics import confusion, measured
from saccade.tasks.labels.ranks import Batch, Ranks
from saccade.tasks.labels.word_labels import LabelledWords, WordLabels
from saccade.tasks.looking import LookRequest
from saccade.tasks.predictor import Predictor
from saccade.tasks.request import NoOptions
from saccade.tasks.task import Job, Task
from saccade.tasks.text.codec import Text, TextCodec, WordLabelsCodec
from saccade.tasks.text.options import TextOptions
from saccade.train.randomness import derive
from saccade.train.task import Baseline, Evaluation, Loss

__all__ = [
    "Answered",
    "ArgumentError",
    "Baseline",
    "Batch",
    "Blank",
    "Column",
    "Evaluation",
    "Examples",
    "Generated",
    "Job",
    "LabelledText",
    "LabelledWords",
    "LookRequest",
    "Loss",
    "Names",
    "NoOptions",
    "Predictor",
    "Ranks",
    "Row",
    "Rows",
    "SplitNames",
    "Task",
    "Text",
    "TextCodec",
    "TextOptions",
    "WordLabels",
    "WordLabelsCodec",
    "confusion",
    "derive",
    "first_in",
    "label",
    "majority",
    "measured",
    "open_rows",
    "text",
    "training_sample",
    "usual",
    "words",
]
