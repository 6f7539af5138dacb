"""The page of the report `pointing` and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Dots
from saccade.reports.document import Heading, Part, Picture, Text
from saccade.reports.pages import beginning, picture, publish, runs, sentence, table
from saccade.reports.pointing.findings import Findings
from saccade.reports.verdict import rule

__all__ = ["write_page"]

CLAIM = (
    "Where a model that has learned to answer attends is what its answer hangs on: the heaviest cell lies on a thing "
    "that the answer depends on more often than a thing of the image at random is one, and erasing the heaviest cells "
    "takes more of the answer's probability than erasing as many of any things."
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
    "A cell is erased by giving each of its pixels the colour of another one of the same image's ground, drawn at "
    "random from all that are no brighter than the ground gets, and the model answers again. The ground is noise "
    "without a pattern, so that an erased cell looks like one with nothing in it, but for few dark pixels of things. "
    "The same ground is shown to all models and in all orders. A cell has been told of the pixels around it as well, "
    "so that what is erased may be known still. Serrano and Smith set weights to zero and share out the others, which "
    "asks of one layer alone."
)
_RANDOM = (
    "Most cells show ground, on which nothing depends, so that erasing at random is easily beaten, also by a model "
    "that looks at things whatever it is asked. What is claimed is therefore said beside any things: cells in the "
    "order of how much of them the things of the image cover, whether the question is about them or not, the heaviest "
    "of which is on a thing that matters as often as a thing at random is one. By the things that matter there is all "
    "to take, by other things what an answer loses as any thing goes. Gradients are those of the first answer's logit "
    "by the pixels, absolute, in the mean over a cell. Of one that reads a single cell the weights are the "
    "probabilities that it is drawn by. Of several weighings of the cells their mean is taken."
)
_PAIRED = (
    "Here both sides of a difference are of the same trained models, so that its error of seeds is that of the mean of "
    "one difference a seed."
)
_JUDGED = "Erasing is judged by the mean over all numbers of cells, so that several numbers are no several chances."
_MEANING = (
    "That an answer changes once a cell is gone says that it hung on that cell. It does not say that the weights tell "
    "why it was given, nor that other weights would not have told another story of the same answer, which is what is "
    "argued about in the papers."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show."""
    found = Findings(content)
    parts: list[Part] = [
        *beginning("Is attention an explanation?", CLAIM, SOURCE, found.verdict, content),
        _plot(found, folder),
        Heading("What is claimed"),
        table(found.claimed()),
        *map(Text, (f"{found.note} {rule(len(found.judgeable))} {_PAIRED} {_JUDGED}", _MEANING)),
        Heading("Accuracy"),
        table(found.models()),
        Text(found.note),
        Heading("Where the heaviest cell lies"),
        table(found.pointed()),
        Heading("What is left once cells are erased"),
        Text(f"{sentence(found.whole())}."),
        table(found.erased()),
        Heading("How it was measured"),
        *map(Text, (_SAME, _asked(found), _ERASED, _RANDOM)),
        *runs(content),
    ]
    publish(folder, parts)


def _plot(found: Findings, folder: Path) -> Picture:
    names, *differences = found.taken()
    series = [
        Dots(name, [100 * one.value for one in own], [100 * one.known.half() for one in own])
        for name, own in zip(("accuracy", "probability of the first answer"), differences, strict=True)
    ]
    title, label = "What erasing takes beyond random cells", "points lost beyond random; bars: 95% intervals"
    return picture(look.dots(names, series, folder / "pointing", label=label, title=title), title)


def _asked(found: Findings) -> str:
    one = found.first
    counts = ", ".join(map(str, one["counts"]))
    rows, columns = one["cells"]
    return (
        f"Data: `{found.content['data']}`, test split, {one['questions']} questions, whose accuracy is given; a guess "
        "is right by one over the answers that a kind of question has, the best "
        "one from the image and the kind more often, since a scene has what its question is about: what a model has to "
        f"beat to be judged. Cells are erased of {one['examples']} of those whose answer depends on some things and "
        f"not on others, {counts} of {rows} × {columns}, and at random in {one['draws']} orders, which are the same "
        "for all models."
    )
