"""The page of the report `implicit` and its pictures, all from report.json."""

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from saccade import look
from saccade.look import Curve
from saccade.reports.document import Heading, Part, Picture, Text
from saccade.reports.implicit.findings import ATTENDS, LEARNED, STEP, Findings
from saccade.reports.implicit.measuring import ATTENTION, JACOBIAN, STEPS
from saccade.reports.pages import beginning, picture, publish, runs, sentence, table
from saccade.reports.verdict import rule
from saccade.tasks.looking import MOVED

__all__ = ["write_page"]

CLAIM = (
    "A network without attention attends implicitly: its outputs move with some inputs more than with others. That is "
    "not enough: more of what moves the outputs of one with attention is what decides them, and its weights say so."
)
SOURCE = (
    "the sequential Jacobian is that of Graves 2012, Supervised Sequence Labelling with Recurrent Neural Networks, "
    "chapter 3; of ByteNet, Kalchbrenner et al. 2016 draw it, figure 6, https://arxiv.org/abs/1610.10099; attention is "
    "that of Bahdanau, Cho, Bengio 2015, https://arxiv.org/abs/1409.0473. None of them compares these"
)
_ASKED = (
    "Of each output y_t of a sentence, its true target being written, and each input x_s, a character's vector, the "
    "norm of the whole block ∂y_t/∂x_s is computed: all logits by all entries, exactly, and not by a sample of "
    "directions. A row's norms over their sum are its shares. Asked are the outputs that a word decides: a year's, a "
    "month's and a day's digits, whose word is what the source has in their place. The end of the source has a share, "
    "and is no word."
)
_FAR = (
    "A step is a character: an output at t and an input at s are |t − s| apart, which is how ByteNet lays one on the "
    "other. The last row of each table says what a model would reach for that looks at nothing but the word."
)
_CARE = (
    "A gradient is what a small change would do where the model is, and no explanation: a saturated output moves with "
    f"nothing. Of a model that has fewer than {100 * LEARNED:g}% of the targets right nothing is concluded. Models are "
    "trained by their own recipes, which differ in steps and sizes: what is compared is what each has learned by then."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the pictures that both show."""
    found = Findings(content)
    publish(
        folder,
        [
            *beginning("What moves an output, with attention and without", CLAIM, SOURCE, found.verdict, content),
            _plot(found, folder / "implicit"),
            Heading("What is claimed"),
            table(found.claimed()),
            Text(f"{found.note} {rule(len(found.gains))}"),
            Heading("The word that decides"),
            table(found.table()),
            Text("In percent. An even share is what the word has of all characters."),
            Heading("How often it is found, by its distance"),
            table(found.by_distance()),
            Text("In percent of the outputs whose word has its middle so many steps away."),
            Heading("How far is reached, by the source's length"),
            *(part for least in STEPS for part in (Text(f"Shares beyond {least} steps:"), table(found.reach(least)))),
            Text(_FAR),
            Heading("One sentence"),
            *_examples(found, folder),
            Heading("How it was measured"),
            table(found.models()),
            *map(Text, (_ASKED, _CARE, _data(found))),
            *runs(content),
        ],
    )


def _data(found: Findings) -> str:
    lengths = ", ".join(f"{count} of {group}" for group, count in found.first["lengths"].items())
    seeds = ", ".join(map(str, sorted({row["seed"] for row in found.content["rows"]})))
    return (
        f"Data: `{found.content['data']}`, the first {found.first['sentences']} sentences of the test split, of which "
        f"none is trained on; by characters in the source: {lengths}. Seeds: {seeds}."
    )


def _plot(found: Findings, path: Path) -> Picture:
    groups, title = found.groups(), f"Share beyond {STEP} steps, by the source's length"
    places = [float(group.split("-")[0]) + 4.5 for group in groups]
    curves = []
    for name in found.rows:
        for way in found.ways(name) if name == ATTENDS else [JACOBIAN]:
            shares = [found.beyond(name, way, group) for group in groups]
            bars = [statistics.stdev(each) if len(each) > 1 else 0.0 for each in shares]
            label = name if way == JACOBIAN else f"{name}, {way}"
            curves.append(
                Curve(label, places, [statistics.fmean(each) for each in shares], bars, [False] * len(places))
            )
    drawn = look.curves(
        curves,
        path,
        ticks=list(zip(places, groups, strict=True)),
        labels=("characters in the source; bars: standard deviation over seeds", "share"),
        title=title,
        note="Of the Jacobian unless it says attention",
        bounds=(0.0, None),
        beside=True,
    )
    return picture(drawn, title)


def _examples(found: Findings, folder: Path) -> list[Part]:
    """The first sentence by every model and way, of the first seed."""
    parts: list[Part] = []
    for name, rows in found.rows.items():
        example = rows[0]["example"]
        for way in found.ways(name):
            told = ("sequential Jacobian, shares of each row", MOVED) if way == JACOBIAN else (ATTENTION, "attends to")
            title, verb = f"{name}: {told[0]}", told[1]
            sides, path = (list(example["source"]), list(example["target"])), folder / f"{name}-{way}"
            scale = "share" if way == JACOBIAN else "weight"
            drawn = look.alignment(torch.tensor(example[way]), *sides, path, title=title, verb=verb, scale=scale)
            parts.append(picture(drawn, sentence(title)))
    return parts
