"""The laws' entry of `answer`."""

from saccade.tasks.answer import codec, task
from saccade.tasks.answer.data import scenes
from saccade.tasks.labels.metrics import accuracy
from tasks.laws.entry import HELD_OUT, LEARNED_FROM, REINFORCED, Entry, longer, repeated

SIGHT = {"widths": "4,6", "stem_stride": 4, "cell_dim": 6, "dropout": 0.2, "hidden_dim": 6}
BOTH = {**SIGHT, "embedding_dim": 4, "classifier_dim": 8}
ENTRY = Entry(
    options={"batch_size": 6, "label_smoothing": 0.1, "shift": 1},
    models={
        "ask-attend-and-answer": SIGHT,
        "show-ask-attend-and-answer": BOTH,
        "attention-lstm": BOTH,
        "show-and-answer": BOTH,
        "question-only": {"hidden_dim": 6, "embedding_dim": 4, "dropout": 0.2, "shift": 0},
        "image-only": SIGHT,
    },
    row=lambda example: (example.image, example.posed.question, example.posed.answers[0]),
    columns=("image", "question", "answer"),
    by_hand=accuracy,
    small=((scenes, "HELD_OUT", HELD_OUT), (task, "_ENDLESS", LEARNED_FROM), (codec, "_ENDLESS", LEARNED_FROM)),
    group=lambda data, split, index: data.posed(split, index).group,
    beside=True,
    pad=lambda batch: batch._replace(question=longer(batch.question)),
    images=True,
    classes=True,
    omitted=(("weights", "words"),),
    joined={"weights": repeated},
    averaging=dict.fromkeys(("ask-attend-and-answer", "show-ask-attend-and-answer"), REINFORCED),
)
