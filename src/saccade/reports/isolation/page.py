"""The page of the report `isolation` and its pictures, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.reports.document import Heading, Part, Picture, Text
from saccade.reports.isolation.findings import EXACT, Findings
from saccade.reports.isolation.forgetting import GATES, OPTIMIZERS
from saccade.reports.isolation.picture import draw_graphs
from saccade.reports.pages import COSTS, beginning, costs, curve, picture, publish, table, where
from saccade.reports.verdict import claimed, decided

__all__ = ["write_page"]

CLAIM = (
    "Attention masks the error that is propagated back: a value is told its weight times what the output is told, "
    "and one whose weight is 0 is told nothing, so that parts which are not attended to do not change when new "
    "data arrive."
)
SOURCE = (
    "The gradient of a weighted sum; Jacobs, Jordan, Nowlan, Hinton 1991, 'Adaptive Mixtures of Local Experts', "
    "section 1, for experts"
)
_GRADIENTS = (
    "In float64, over 40 random graphs a seed, each of three queries and eleven values: the gradients that flow "
    "back through `attend` are held against the weights, transposed, times the gradients of the outputs. The "
    f"distance is over the largest gradient, and counts as none up to {EXACT:g}. Masked weights are those of a "
    "softmax with half of the keys forbidden."
)
_TASKS = (
    "Two experts, networks of one hidden layer of 64, whose answers are weighed by attention. The first task is to "
    "name digits from 0 to 4, the second to name those from 5 to 9, both among all ten; the second is learned "
    "after the first, without any of its digits. In the first part of the table the gate is told the task: the "
    "score of the task's own expert is 1 to 8, that of the other 0, and uniform weights have both at 0. `weight` "
    "is what digits of the second task give to the first task's expert; `moved` is how far its parameters went in "
    "the second task, over their norm; `same bits` in how many seeds these and all answers to the first task's "
    "test are what they were."
)
_OPTIMIZERS = (
    "Every task has a new optimizer, without weight decay: what an old one remembers of earlier gradients would go "
    "on moving an expert that is told nothing. By SGD a step is in proportion to the gradient (cut to a "
    "norm of 1 over all parameters, by a rate that falls along half a cosine), so that an expert moves the less the "
    "smaller its weight. Adam divides a gradient by its size over the last steps, so that a factor which all gradients "
    "of an expert share is divided out: a small weight does not slow it, an exact 0 does."
)
_LEARNED = (
    "Learned gates see the image alone: a query of 16 numbers and two keys, or the gate of `nn.MixtureOfExperts` "
    "with one expert an image. They are told nothing of tasks, and decide nothing here: a weight of exactly 0 "
    "protects an expert as long as the gate gives it, and where new data are given to the expert of the old ones "
    "(`weight`) it is not."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the pictures that both show."""
    found = Findings(content)
    title = "What values are told of the error"
    forgetting: list[Part] = []
    for name in OPTIMIZERS:
        forgetting += [Text(f"Trained by {name}, in percent of the test:"), table(found.table(name))]
    parts: list[Part] = [
        *beginning("What is not attended to does not change", CLAIM, SOURCE, found.verdict, content),
        picture(draw_graphs(found.graphs, folder / "isolation-graph", title), title),
        Text(
            "Blue: the weights, by which values are read; red: the gradients, which flow back along the same edges. "
            "Dotted: a weight of exactly 0."
        ),
        Heading("What is claimed"),
        table(claimed(found.claims)),
        Text(decided(len(found.claims))),
        Heading("Gradients"),
        table(found.gradients()),
        Text(_GRADIENTS),
        Heading("Two tasks, one after the other"),
        _forgotten(found, folder),
        *forgetting,
        *map(Text, (_TASKS, _OPTIMIZERS, _LEARNED)),
        Heading("How it was measured"),
        table([["gate", *COSTS], *([name, *costs(content, name)] for name in found.gates)]),
        Text(
            f"Steps and seconds are those of both tasks, in the mean over {' and '.join(OPTIMIZERS)}. {_data(content)}"
        ),
        *where(content),
    ]
    publish(folder, parts)


def _data(content: Mapping[str, Any]) -> str:
    return f"Data: {content['arguments']['data']}."


def _forgotten(found: Findings, folder: Path) -> Picture:
    """What is forgotten, by the weight that the second task gives to the first one's expert."""
    gates = [name for name in GATES if name in found.gates]
    places = list(range(len(gates)))
    weights = [found.seeds(name, "sgd", "weight").value for name in gates]
    title = "What is forgotten by the weight of the expert that knows it"
    drawn = look.curves(
        [curve(name, places, [found.forgotten(gate, name) for gate in gates], 100) for name in OPTIMIZERS],
        folder / "isolation",
        ticks=[
            (place, f"{weight:.2g}" if weight else "exactly 0") for place, weight in zip(places, weights, strict=True)
        ],
        labels=("weight of the first task's expert in the second task; bars: 95% over seeds", "points forgotten"),
        title=title,
        note="The gate is told the task; two experts",
    )
    return picture(drawn, title)
