"""The laws' entry of `caption`."""

from saccade.tasks.caption import codec, task
from saccade.tasks.caption.data import scenes
from saccade.tasks.translate.metrics import exact_match
from tasks.laws.entry import HELD_OUT, LEARNED_FROM, REINFORCED, Entry, repeated

SIGHT = {"widths": "4,6", "stem_stride": 4, "cell_dim": 6, "dropout": 0.2}
RECURRENT = {**SIGHT, "hidden_dim": 6, "embedding_dim": 4}
ENTRY = Entry(
    options={"batch_size": 6, "label_smoothing": 0.1, "shift": 1, "flip": True},
    models={
        "show-attend-and-tell": {**RECURRENT, "doubly_stochastic": 1.0},
        "adaptive-attention": RECURRENT,
        "show-and-tell": RECURRENT,
        "m-rnn": RECURRENT,
        "first-step-rnn": RECURRENT,
        "lrcn": RECURRENT,
        "visual-memory": RECURRENT,
        "transformer": {**SIGHT, "hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 12},
    },
    row=lambda example: (example.image, example.caption),
    columns=("image", "caption"),
    by_hand=exact_match,  # no model of a few steps writes a sentence of scenes
    small=(
        (scenes, "HELD_OUT", HELD_OUT),
        (task, "_ENDLESS", LEARNED_FROM),
        (codec, "_ENDLESS", LEARNED_FROM),
        (codec.Captions, "limit", 12),  # models of a few steps never end, and every word is drawn
    ),
    group=lambda data, split, index: data.example(split, index).group,
    silent=True,
    content="image",
    images=True,
    asked=({"sample": True}, {"beam_size": 3, "coverage_penalty": 0.2}),
    omitted=(("weights",),),
    joined={"weights": repeated},
    averaging={"show-attend-and-tell": {**REINFORCED, "charge": "whole", "doubly_stochastic": 0.0}},
    light=False,
)
