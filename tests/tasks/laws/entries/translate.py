"""The laws' entry of `translate`."""

from saccade.tasks.translate import codec, task
from saccade.tasks.translate.data import dates
from saccade.tasks.translate.metrics import exact_match
from tasks.laws.entry import HELD_OUT, LEARNED_FROM, REINFORCED, SELF_REINFORCED, Entry, repeated

RECURRENT = {"hidden_dim": 10, "embedding_dim": 6, "dropout": 0.2}
ENTRY = Entry(
    options={"batch_tokens": 150, "label_smoothing": 0.1, "tokenizer": "characters"},
    models={
        "rnnsearch": RECURRENT,
        "encoder-decoder": RECURRENT,
        "luong": {**RECURRENT, "layers": 1, "score": "general"},
        "transformer": {"hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 12, "dropout": 0.2},
        "bytenet": {"hidden_dim": 8, "sets": 1, "max_dilation": 2, "dropout": 0.2},
    },
    row=lambda pair: (pair.source, pair.target),
    columns=("source", "target"),
    by_hand=exact_match,
    small=((dates, "HELD_OUT", HELD_OUT), (codec, "_ENDLESS", LEARNED_FROM), (task, "_ENDLESS", LEARNED_FROM)),
    group=lambda data, split, index: dates.LANGUAGES[data.example(split, index).group],
    blank="",
    baselines=("copy", "length", "nearest"),
    asked=({"sample": True}, {"beam_size": 3, "coverage_penalty": 0.2}, {"replace_unknown": True}),
    looked=({}, {"by": "jacobian"}),
    omitted=(("weights",),),
    joined={"weights": repeated},
    incompatible=({"tokenizer": "bpe", "vocabulary_size": 300}, "the source tokenizer of RUN"),
    averaging={
        **{model: {**REINFORCED, "charge": "whole"} for model in ("rnnsearch", "luong")},
        "transformer": SELF_REINFORCED,
    },
)
