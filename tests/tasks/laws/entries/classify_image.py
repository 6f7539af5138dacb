"""The laws' entry of `classify-image`."""

from saccade.models import encoders
from saccade.tasks.image import dataset, shapes
from saccade.tasks.labels.metrics import accuracy
from tasks.laws.entry import HELD_OUT, Entry
from tiny_encoder import WITH_TINY, tiny_weights

ENTRY = Entry(
    options={"batch_size": 6, "label_smoothing": 0.1, "flip": True, "shift": 2},
    models={
        "cnn": {"widths": "4,6", "dropout": 0.2},
        "cnn-attention": {"widths": "4,6", "attention_dim": 4, "heads": 2, "attention_stage": 1},
        "pretrained": {"encoder": "own:tiny", "weights": tiny_weights(), "resolution": 16, "shift": 0},
    },
    row=lambda example: (example.image, example.label),
    columns=("image", "label"),
    by_hand=accuracy,
    small=((shapes, "HELD_OUT", HELD_OUT), (dataset, "_SAMPLED", 40), (encoders, "BUILDERS", WITH_TINY)),
    group=lambda data, split, index: data.example(split, index).label,
    file="labels.json",
    content="image",
    pad=None,
    images=True,
    classes=True,
    asked=({"nbest": 2},),
    looked=({}, {"by": "gradient", "label": "same"}),
)
