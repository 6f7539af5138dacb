"""The page of the report `glimpses` and its plot, all from report.json."""

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Dots
from saccade.reports.document import Heading, Part, Table, Text
from saccade.reports.glimpses.findings import EYE, Findings
from saccade.reports.glimpses.noise import MOVING
from saccade.reports.glimpses.paper import CHECKED, PAPER
from saccade.reports.pages import beginning, picture, publish, runs, sentence, table
from saccade.reports.verdict import rule

__all__ = ["write_page"]

CLAIM = (
    "An eye that learns where to look recognizes what it sees little of. It is better than one that looks anywhere, "
    "and than a network that sees everything where that is cluttered; more glimpses help, and so does a coarse view."
)
SOURCE = (
    "after Mnih, Heess, Graves, Kavukcuoglu 2014, tables 1 and 2 of the NIPS proceedings, "
    "https://papers.nips.cc/paper/5542-recurrent-models-of-visual-attention; what a coarse view is worth they do not "
    "try, and random glimpses they have among clutter alone"
)
_SAME = (
    "All eyes learn alike: one rollout of each of 128 images a step, a learned baseline, Adam at 0.002 along a "
    "cosine, a deviation from 0.15 to 0.05 of half the image. Each differs from the first in what its name says. "
    "The network that sees everything draws nothing and learns at 0.001. Where minutes are the budget the "
    "cosine is planned to end with them, and may be cut before. The weights are those of the last step; nothing is "
    "chosen by the test split."
)
_ONE = (
    "The error is that of a single path, counted over several that are drawn on each test image; the errors of "
    "their mean and of the likeliest path stand beside it and are never reported as one. Of random glimpses the "
    "likeliest path is the middle again and again, which means nothing. Entropy is the mean over choices of what a "
    "place is chosen from: of a density over the image for the Gaussian, of cells for a grid."
)
_UNKNOWN = (
    "unless these rows, which do not tell where it stood, are older than that rule: then it stood at the share of "
    "right answers, and its noise is overstated where paths are rewarded otherwise"
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show."""
    found = Findings(content)
    paper = [[image, model, f"{error:.2f}"] for image, own in PAPER.items() for model, error in own.items()]
    parts: list[Part] = [
        *beginning("Glimpses", CLAIM, SOURCE, found.verdict, content),
        *(Text(f"{sentence(text)}.") for text in filter(None, [found.ratio()])),
        _plot(found, folder),
        Heading("Errors in percent"),
        table(found.table()),
        Text("± is the standard deviation over seeds."),
        Text(_ONE),
        Heading("What is claimed"),
        table(found.claimed()),
        Text(f"{found.note} {rule(len(found.claims))}"),
        Heading("Every seed: the error of one path in percent"),
        table(found.by_seed()),
        Heading("In the paper"),
        Table(["images", "model", "error, %"], paper),
        Text(CHECKED),
        Heading("Noise of the policy's gradient"),
        table(found.noise()),
        *(Text(f"{sentence(ratio)}, beside the learned baseline with one.") for ratio in found.ratios()),
        Heading("How it was measured"),
        *map(Text, (_SAME, _noise(found), f"Data: `{content['data']}`, test split, {found.images} images.")),
        *runs(content),
    ]
    publish(folder, parts)


def _plot(found: Findings, folder: Path) -> Any:
    names = list(found.rows)
    values = [100 * statistics.fmean(found.errors(name)) for name in names]
    several = len(found.errors(EYE)) > 1
    spread = [100 * statistics.stdev(found.errors(name)) if several else 0.0 for name in names]
    title, label = "Error of one path", "error on test, %; bars: the standard deviation over seeds"
    series = [Dots("error", values, spread)]
    return picture(look.dots(names, series, folder / "glimpses", label=label, title=title), title)


def _noise(found: Findings) -> str:
    row = found.noises[0]
    sizes = f"{row['groups']} times {row['draws']} gradients, each of {row['rollouts']} rollouts over images of its own"
    moving = [row["estimators"][MOVING] for row in found.noises if MOVING in row["estimators"]]
    unknown = "" if all("average" in one for one in moving) else f", {_UNKNOWN}"
    return (
        f"Noise is looked at where an eye ended, without a deviation that is still wide: {sizes}, so that all cost the "
        "same. The variance is summed over the policy's weights, ± half of a 95% interval of its mean over groups "
        "(Student's t); what images differ by is in it. A moving average stands where it would settle, at the mean of "
        f"the rewards{unknown}."
    )
