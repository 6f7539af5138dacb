"""The page of the report `cnn-attention` and its plot, all from report.json."""

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Dots
from saccade.reports.cnn_attention.findings import PAPER, Findings
from saccade.reports.document import Heading, Part, Text
from saccade.reports.pages import beginning, picture, publish, runs, table
from saccade.reports.verdict import rule

__all__ = ["write_page"]

CLAIM = (
    "A convolution sees what is near. Self-attention over its features lets every position see all others, and a "
    "network with it classifies images better than one without, at as many parameters."
)
SOURCE = (
    f"after Bello et al. 2019, https://arxiv.org/abs/1904.09925, who report {PAPER} points of top-1 accuracy on "
    "ImageNet above a ResNet-50"
)
_SAME = (
    "Both networks are trained by one recipe: data, batches, augmentation, rates, steps and seeds. Parameters are "
    "equal within 2%. The weights are those of the last step; nothing is chosen by the test split."
)
_LAYER = (
    "The layer is not the paper's: it stands by itself and has fixed positions, where Bello et al. concatenate heads "
    "with what convolutions do and have relative ones."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show."""
    found = Findings(content)
    values = [100 * statistics.fmean(found.accuracies(model)) for model in found.models]
    several = len(found.accuracies(found.models[0])) > 1
    spread = [100 * statistics.stdev(found.accuracies(model)) if several else 0.0 for model in found.models]
    title = "Accuracy with self-attention and without"
    label = "accuracy on test, %; bars: the standard deviation over seeds"
    series = [Dots("accuracy", values, spread)]
    drawn = look.dots(found.models, series, folder / "cnn-attention", label=label, title=title)
    parts: list[Part] = [
        *beginning("Self-attention in a convolutional network", CLAIM, SOURCE, found.verdict, content),
        picture(drawn, title),
        Heading("Accuracy"),
        table(found.table()),
        Text("± is the standard deviation over seeds."),
        Text(f"Difference: {found.difference.long()}. {found.note} {rule(1)}"),
        table(found.by_seed()),
        Heading("How it was measured"),
        *map(Text, (_SAME, _LAYER)),
        Text(f"Data: `{content['data']}`, test split, {found.images} images."),
        *runs(content),
    ]
    publish(folder, parts)
