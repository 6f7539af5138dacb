"""The page of the report `pointing` and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.look.dot_plot import Dots, draw
from saccade.reports.difference import DECIDED, ERRORS
from saccade.reports.document import Heading, Part, Picture, Table, Text
from saccade.reports.pages import beginning, picture, publish, runs, sentence
from saccade.reports.pointing.findings import BARS, Findings

__all__ = ["write_page"]

CLAIM = (
    "Where a model attends is what its answer hangs on: the heaviest cell lies on a thing that the answer depends on "
    "more often than any cell does, and erasing the heaviest cells takes more of the answer's probability than "
    "erasing as many others."
)
SOURCE = (
    "the question of Jain, Wallace 2019, https://arxiv.org/abs/1902.10186, who answer it with no, and of Wiegreffe, "
    "Pinter 2019, https://arxiv.org/abs/1908.04626, who answer that it depends on what an explanation is; erasing "
    "after Serrano, Smith 2019, https://arxiv.org/abs/1906.03731; all three of texts"
)
_SAME = (
    "All models see and learn alike; they differ in how cells are read. The weights are those of the last step; "
    "nothing is chosen by the test split."
)
_ERASED = (
    "A cell is erased by giving its pixels the median colour of the image, channel by channel, and the model answers "
    "again. Things cover less than half of an image, so that its median is the ground's, which a model knows; its "
    "mean has the colours of the things in it, the erased ones too. A cell has been told of the pixels around it as "
    "well, so that what is erased may be known still. Serrano and Smith set weights to zero and share out the others, "
    "which asks of one layer alone."
)
_RANDOM = (
    "Most cells show ground, on which nothing depends, so that erasing at random is easily beaten: erasing by the "
    "things themselves says how much there is to take. Gradients are those of the first answer's logit by the pixels, "
    "absolute, in the mean over a cell. Of one that reads a single cell the weights are the probabilities that it is "
    "drawn by. Of several weighings of the cells their mean is taken."
)
_JUDGED = "Erasing is judged by the mean over all numbers of cells, so that several numbers are no several chances."
_MEANING = (
    "That an answer changes once a cell is gone says that it hung on that cell. It does not say that the weights tell "
    "why it was given, nor that other weights would not have told another story of the same answer, which is what is "
    "argued about in the papers."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show.

    Args:
        folder: of the report.
        content: of report.json, every row in it.

    Raises:
        OSError: if they cannot be written.
    """
    found = Findings(content)
    tables = [found.claimed(), found.models(), found.pointed(), found.erased()]
    claims, models, pointed, erased = (Table(table[0], table[1:]) for table in tables)
    parts: list[Part] = [
        *beginning("Is attention an explanation?", CLAIM, SOURCE, found.verdict, content),
        _plot(found, folder),
        Heading("What is claimed"),
        claims,
        *map(Text, (f"{ERRORS} {DECIDED} {_JUDGED}", _MEANING)),
        Heading("Accuracy"),
        models,
        Text(f"{sentence(BARS)}."),
        Heading("Where the heaviest cell lies"),
        pointed,
        Heading("What is left once cells are erased"),
        Text(f"{sentence(found.whole())}."),
        erased,
        Heading("How it was measured"),
        *map(Text, (_SAME, _asked(found), _ERASED, _RANDOM)),
        *runs(content),
    ]
    publish(folder, parts)


def _plot(found: Findings, folder: Path) -> Picture:
    names, *differences = found.taken()
    series = [
        Dots(name, [100 * one.mean for one in own], [200 * one.known for one in own])
        for name, own in zip(("accuracy", "probability of the first answer"), differences, strict=True)
    ]
    title, label = "What erasing takes beyond random cells", "points lost beyond random; bars: twice the standard error"
    return picture(draw(names, series, folder / "pointing", label=label, title=title), title)


def _asked(found: Findings) -> str:
    one = found.first
    counts = ", ".join(map(str, one["counts"]))
    rows, columns = one["cells"]
    return (
        f"Data: `{found.content['data']}`, test split, {one['questions']} questions, whose accuracy is given; a guess "
        "is right by one over the answers that a kind of question has. Cells are erased of "
        f"{one['examples']} of those whose answer depends on things, {counts} of {rows} × {columns}, and at random in "
        f"{one['draws']} orders, which are the same for all models."
    )
