"""The page of the report `scaling` and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Curve
from saccade.reports.document import Heading, Part, Picture, Table, Text
from saccade.reports.pages import beginning, curve, picture, publish, runs, sentence, table
from saccade.reports.scaling.answering import GLIMPSES, MODELS, PATCH
from saccade.reports.scaling.findings import NEAR, Findings
from saccade.reports.verdict import rule

__all__ = ["write_page"]

CLAIM = (
    "What an eye costs follows from how often it looks, and not from the size of the image; what attends to all "
    "parts of it, or convolves it, costs more the larger it is. The size is not in the architecture either: the "
    "same weights answer images of any."
)
SOURCE = (
    "Mnih, Heess, Graves, Kavukcuoglu 2014, abstract and section 1, https://arxiv.org/abs/1406.6247; that the same "
    "weights answer images of any size follows, and is not tried there"
)
_TURNS = (
    "The answer to one image of floats that lies in memory, on one thread of a processor, by weights as they are "
    "made: what they were trained to plays no part in the time. All models are called in turns in one process, "
    "every other round in the opposite order. The time is that of the thread's own clock, the median over rounds, ± "
    "half of its 95% interval (Student's t, a degree of freedom for each round but one). Reading the image from a "
    "file, which grows with it for every model, is not in it."
)
_OPERATIONS = (
    "Operations are those of matrix products and convolutions, as torch counts them, two for a multiplication and "
    "its addition. Not among them:"
)
_POWERS = (
    "Powers are slopes of straight lines through logarithms of time and pixels, at the long end alone: sides of a "
    "fourth of the longest or more. Their interval (± half of it, 95%) is the wider of what the times' errors come "
    "to and what their distances from the line say, with two degrees of freedom less than sizes. A cost grows if the "
    f"interval of its power is above {NEAR:g}, and does not if it is below."
)
_TILES = (
    f"Tiles have {PATCH} pixels a side, so a larger image has more of them. Read hard, {GLIMPSES} of them are "
    "encoded, and of all others a thumbnail is taken and a key computed, which is what grows; read softly, all are "
    "encoded. So of hard reads it is claimed that they cost less than soft ones, and not that they cost the same at "
    "every size."
)
_SIZES = (
    "The canvas is larger and the digit is not: the eyes see as many pixels around a place as before, which are a "
    "smaller share of the image, and a step of the policy, in shares of the image, goes farther. Weights are those "
    "of the first size."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show."""
    found = Findings(content)
    unseen = [[name, MODELS[name].unseen] for name in found.models]
    parts: list[Part] = [
        *beginning("What an answer costs by the size of the image", CLAIM, SOURCE, found.verdict, content),
        Text(f"{sentence(found.saved())}."),
        _plot(found, folder),
        Heading("Milliseconds of one answer"),
        table(found.table()),
        Heading("Millions of operations of one answer"),
        table(found.counted()),
        Text(_OPERATIONS),
        Table(["model", "what is not counted"], unseen),
        Heading("Larger canvases without new weights"),
        table(found.answered()),
        Text(f"{found.note} {_SIZES}"),
        Heading("How it was measured"),
        *map(Text, (_TURNS, _POWERS, rule(len(found.claims()), seeded=False), _TILES)),
        *runs(content),
    ]
    publish(folder, parts)


def _plot(found: Findings, folder: Path) -> Picture:
    title = "Time of one answer by the size of the image"
    drawn = look.curves(
        [_curve(found, name) for name in found.models],
        folder / "scaling",
        ticks=[(side, str(side)) for side in found.sides],
        labels=("pixels a side; bars: 95% intervals; dotted: the fitted power", "milliseconds"),
        title=title,
        note="One image, one thread. The claim: what an eye costs does not grow with the image",
        log="xy",
    )
    return picture(drawn, title)


def _curve(found: Findings, name: str) -> Curve:
    line, own = found.time(name), [found.median(side, name) for side in found.sides]
    ends = 1e3 * line.at(found.sides[0] ** 2), 1e3 * line.at(found.sides[-1] ** 2)
    return curve(f"{name}: pixels^({line.text()})", found.sides, own, trend=ends)
