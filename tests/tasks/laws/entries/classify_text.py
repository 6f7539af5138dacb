"""The laws' entry of `classify-text`."""

from saccade.tasks.classify_text import codec, task
from saccade.tasks.classify_text.data import reviews
from saccade.tasks.labels.metrics import accuracy
from tasks.laws.entry import HELD_OUT, LEARNED_FROM, SELF_REINFORCED, Entry, repeated

ENTRY = Entry(
    options={"batch_tokens": 80, "label_smoothing": 0.1, "embedding_dim": 6},
    models={
        "rnn-attention": {"hidden_dim": 6, "dropout": 0.2},
        "self-attention": {"hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 8, "queries": 2},
        "fixed": {"dropout": 0.2},
        "sum": {"dropout": 0.2},
        "hierarchical": {"hidden_dim": 6, "dropout": 0.2, "sentence_words": 3},
    },
    row=lambda example: (example.text, example.label),
    columns=("text", "label"),
    by_hand=accuracy,
    small=(
        (reviews, "HELD_OUT", HELD_OUT),
        (codec.LabelledTexts, "endless", LEARNED_FROM),
        (task, "_ENDLESS", LEARNED_FROM),
        (task.TextRanks, "endless", LEARNED_FROM),
    ),
    group=lambda data, split, index: data.example(split, index).label,
    blank=" \u3000",
    classes=True,
    asked=({"nbest": 2},),
    looked=({"layer": 1, "head": 1}, {"by": "jacobian"}),
    looked_model="self-attention",
    omitted=(("weights",), ("levels",)),
    joined={"weights": repeated},
    averaging={"self-attention": SELF_REINFORCED},
    incompatible=({"min_count": 4}, "the words of RUN"),
)
