"""The laws' entry of `glimpse`."""

from dataclasses import replace

from saccade.tasks.glimpse import data
from saccade.tasks.image import dataset
from saccade.tasks.image.dataset import ImageRows
from saccade.tasks.image.digits import open_digits
from saccade.tasks.labels.metrics import accuracy
from tasks.laws.entry import HELD_OUT, Entry


def few_digits() -> ImageRows:
    """Return the built-in digits with few of them held out."""
    rows = open_digits().rows
    few = {split: rows.splits[split][:HELD_OUT] for split in ("validation", "test")}
    return ImageRows(replace(rows, splits={**rows.splits, **few}))


SEEING = {"glimpses": 3, "patch": 4, "hidden_dim": 8, "glimpse_dim": 4}
EYE = {**SEEING, "samples": 2}
ENTRY = Entry(
    options={"batch_size": 6, "label_smoothing": 0.1, "rollouts": 3, "shift": 1},
    models={
        "ram": {**EYE, "scales": 2},
        "ram-grid": {**EYE, "rows": 3, "columns": 2},
        "tiles": {**EYE, "thumbnail": 2, "key_dim": 4},
        "soft-tiles": {**SEEING, "thumbnail": 2, "key_dim": 4},
        "dram": {**EYE, "coarse": 6, "context_channels": 2},
        "random": SEEING,
        "whole": {"channels": 2, "pooled": 4, "hidden_dim": 8},
    },
    row=lambda example: (example.image, example.label),
    columns=("image", "label"),
    by_hand=accuracy,
    small=((data, "open_digits", few_digits), (dataset, "_SAMPLED", 40)),
    group=lambda data, split, index: data.example(split, index).label,
    file="labels.json",
    content="image",
    pad=None,
    images=True,
    classes=True,
    asked=({"nbest": 2}, {"rollouts": 3}, {"likeliest": True}),
    averaging={"ram": {"baseline": "moving-average"}},
)
