"""The page of the report `objects` and its plots, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.reports.document import Heading, Part, Picture, Text
from saccade.reports.objects.findings import EXACT, LEARNED, NAMED, Findings
from saccade.reports.pages import COSTS, beginning, costs, curve, picture, publish, runs, sentence, table
from saccade.reports.verdict import rule

__all__ = ["write_page"]

CLAIM = (
    "A model that is told of an image by one fixed vector writes worse about it the more things it shows, and what "
    "attention gains over it grows with their number."
)
SOURCE = (
    "after Xu et al. 2015, section 1, https://arxiv.org/abs/1502.03044, for images, and Bahdanau, Cho, Bengio 2015, "
    "figure 2, https://arxiv.org/abs/1409.0473, for sentences"
)
_SAME = (
    "All models have one recipe: data, batches, sizes of what is shared, budget and seeds. Show-and-tell is told the "
    "mean of the cells at the first step, m-rnn at every step, show-attend-and-tell reads the cells before every "
    "word, softly, by its state and the last word. The weights are those of the last step; nothing is chosen by the "
    "test split."
)
_TWO = (
    "A sentence is an exact match if it names every thing once, nothing else, and only relations that hold. One about "
    "more things is right more rarely even if each is as hard as before, and the more so the worse a model is. That "
    "alone makes a gain grow with their number, so it is asked of the share of things that are named too: a colour "
    "with a shape behind it that one of them has, each counted once, in whatever a model writes, a sentence or not."
)
_LINE = (
    "Lines are fitted by least squares, each image once; a slope has the errors of a difference. Where both models "
    "fail a gain has no room, so that one that rises and falls again has no slope: the tables say which it is. A model "
    f"that names {LEARNED:.0%} of the things or fewer where there are fewest has learned too little to get worse, so "
    "that nothing is concluded beside it, and the report decides nothing as a whole, unless another claim is "
    "contradicted."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plots that both show."""
    found = Findings(content)
    data = f"Data: `{content['data']}`, test split, {len(found.things)} images of {found.groups[0]} to "
    parts: list[Part] = [
        *beginning("Captions by the number of things", CLAIM, SOURCE, found.verdict, content),
        _plot(found, folder, EXACT),
        Heading("What is claimed"),
        table(found.claimed()),
        *map(Text, (f"{found.note} {rule(len(found.counted()))}", _LINE)),
        Heading("Exact match in percent"),
        table(found.table(EXACT)),
        *map(Text, (found.note, _TWO)),
        Heading("Things named in percent"),
        table(found.table(NAMED)),
        _plot(found, folder, NAMED),
        Heading("All test images"),
        table(found.models()),
        Heading("How it was measured"),
        *map(Text, (_SAME, _unequal(found), f"{data}{found.groups[-1]} things.")),
        *runs(content),
    ]
    publish(folder, parts)


def _unequal(found: Findings) -> str:
    """What models have beside attention that others do not."""
    seconds, parameters = (COSTS.index(cost) for cost in ("seconds", "parameters"))
    each = {name: costs(found.content, name) for name in found.rows}
    has = ", ".join(f"{name} {cost[parameters]} and {cost[seconds]} s" for name, cost in each.items())
    return f"Parameters and seconds are not equal, {has}: what attention gains need not be the vector's room alone."


def _plot(found: Findings, folder: Path, key: str) -> Picture:
    title = f"{sentence(key)} by the number of things"
    drawn = look.curves(
        [curve(name, found.groups, [found.score(name, key, group) for group in found.groups]) for name in found.rows],
        folder / f"objects-{key.replace(' ', '-')}",
        ticks=[(group, f"{group}\nn={found.images(group)}") for group in found.groups],
        labels=("things, n images; bars: 95% intervals", key),
        title=title,
        bounds=(0.0, 1.03),
    )
    return picture(drawn, title)
