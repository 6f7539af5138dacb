"""The page of the report `fast-weights` and its pictures, all from report.json."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from saccade import look
from saccade.reports.document import Heading, Part, Picture, Text
from saccade.reports.fast_weights.findings import EXACT, FAILED, SOLVED, Findings
from saccade.reports.fast_weights.recall import KEYS, VALUES
from saccade.reports.pages import COSTS, beginning, costs, curve, picture, publish, table, where
from saccade.reports.verdict import claimed, decided

__all__ = ["write_page"]

CLAIM = (
    "Attention's weights are made of the input and move with it, a convolution's are learned and stay; and at equal "
    "parameters a task that asks which of many stored things fits a question is solved by the former alone."
)
SOURCE = (
    "Schmidhuber 1992, 'Learning to Control Fast-Weight Memories'; Ba et al. 2016, "
    "https://arxiv.org/abs/1610.06258, for the task; Arora et al. 2023, https://arxiv.org/abs/2312.04927, for "
    "convolutions on it"
)
_TASK = (
    "A sequence has 2 to 32 pairs of a key and a value, a token each, and then one of its keys: its value is to be "
    f"said. Keys are {KEYS}, all different in a sequence; values are {VALUES}. A guess of the values that are there "
    f"is right in 1/n + (1 - 1/n)/{VALUES} of n pairs. All networks are two mixing layers with a network behind "
    "each, and differ in the mixing layer and in how wide the networks are, which evens their parameters out to "
    "within a tenth. They are trained alike, on the same sequences in the same batches, and tested on 1,000 of "
    "each number of pairs."
)
_LAYERS = (
    "`attention` and `fast weights` compare the query with keys, by a softmax and as a plain product. `attention "
    "by location` makes its weights of the query alone: they move with the input, but nothing is compared. The "
    "convolutions have a kernel as long as the longest sequence: of 20 channels, each from all, or of 64, each by "
    "itself. They decide the claim with `attention`; the two others stand beside it."
)
_MATRICES = (
    "A layer without biases is a matrix M(x) over all positions and features, y = M(x) x: attention's weights "
    "times what values are projected by, and for a convolution what impulses on its input come to. That this is "
    f"the layer is checked, in float64: the distance counts as rounding up to {EXACT:g}. The variation is the share "
    "of the squared numbers of M(x), over 12 inputs of 16 pairs, that their mean does not account for: 0 where all "
    "are one, 11/12 where they have nothing in common. It is a mean over both mixing layers of the trained networks."
)
_MARGINS = (
    f"Solved is more than {SOLVED:.0%} of the questions with the most pairs, not solved is less than {FAILED:.0%}; "
    "both are ours. What a convolution with more parameters, more layers or more steps comes to is not asked here: "
    "a network that multiplies, or is large enough, is a function of its input as well."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the pictures that both show."""
    found = Findings(content)
    parts: list[Part] = [
        *beginning("Weights that move with the input", CLAIM, SOURCE, found.verdict, content),
        _matrices(found, folder),
        Text(
            "How strongly each position (row) reads each other (column), in the mixing layer that varies most, of "
            "three inputs; the last row is the question. Each row of the picture has its own scale."
        ),
        Heading("What is claimed"),
        table(claimed(found.claims)),
        *map(Text, (decided(len(found.claims)), _MARGINS)),
        Heading("Layers as matrices"),
        table(found.matrices()),
        Text(_MATRICES),
        Heading("Associative recall, % right"),
        _recalled(found, folder),
        table(found.table()),
        *map(Text, (_TASK, _LAYERS)),
        Heading("How it was measured"),
        table([["layer", *COSTS], *([name, *costs(content, name)] for name in found.layers)]),
        *where(content),
    ]
    publish(folder, parts)


def _matrices(found: Findings, folder: Path) -> Picture:
    title = "Layers as matrices"
    images = [[torch.tensor(one) for one in found.shown(name)] for name in found.layers]
    columns = [f"input {place}" for place in range(1, 1 + len(images[0]))]
    path, note = folder / "fast-weights-matrices", "Trained to recall; the darker, the more is read"
    drawn = look.grid(images, path, rows=found.layers, columns=columns, title=title, note=note, side=1.3, weights=True)
    return picture(drawn, title)


def _recalled(found: Findings, folder: Path) -> Picture:
    title = "Questions answered right, by the number of pairs"
    places = [math.log2(count) for count in found.pairs]
    drawn = look.curves(
        [curve(name, places, [found.right(name, count) for count in found.pairs], 100) for name in found.layers],
        folder / "fast-weights",
        ticks=[(place, str(count)) for place, count in zip(places, found.pairs, strict=True)],
        labels=("pairs; bars: 95% over seeds", "% right"),
        title=title,
        note=f"A guess of all values is right in {100 / VALUES:g} of 100",
        bounds=(0, 103),
        beside=True,
    )
    return picture(drawn, title)
