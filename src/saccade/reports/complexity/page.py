"""The page of the report `complexity` and its plots, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Curve
from saccade.reports.complexity.findings import NEAR, Findings
from saccade.reports.complexity.layers import KERNEL, LAYERS, PASSES
from saccade.reports.document import Heading, Part, Picture, Table, Text
from saccade.reports.pages import beginning, curve, picture, publish, sentence, table, where
from saccade.reports.verdict import rule

__all__ = ["write_page"]

CLAIM = (
    "A self-attention layer takes n² d operations where a recurrent one takes n d² and a convolution k n d², for n "
    "positions of d features and a kernel of k: it is faster than the recurrent one while n is smaller than d."
)
SOURCE = "Vaswani et al. 2017, section 4 and table 1, https://arxiv.org/abs/1706.03762"
_TURNS = (
    "At each length all layers are called in turns in one process, every other round in the opposite order, so that "
    "whatever else the machine does falls on all of them. The time is the median over rounds, ± half of its 95% "
    "interval (Student's t, a degree of freedom for each round but one), from the middle half of the times."
)
_MEMORY = (
    "Memory is the growth of the process's peak during one call, in a fresh process a number; on a GPU that of "
    "torch's allocator. The weights and the input were there before."
)
_EXPONENTS = (
    "Exponents are slopes of straight lines through logarithms, at the long end alone: lengths of a fourth of the "
    "longest or more, three at the least. Their interval (± half of it, 95%) is the wider of what the times' "
    "errors come to and what their distances say from what the formula has for these lengths, turned to fit, with two "
    "degrees of freedom less than lengths. That an exponent is as its formula says is shown where the whole interval "
    f"lies within {NEAR:g} of it."
)
_FORMULAS = (
    "The formulas count all multiplications of a layer: 6 n d² for the two matrices of a GRU's three gates, 3 n d² "
    "for the convolution, and for self-attention 4 n d² of projections beside the 2 n² d of the table. So the "
    "exponent expected of self-attention lies between 1 and 2, and by multiplications alone it would take as long as "
    "the GRU at n = d. That a recurrent layer has to do its n steps one after the other has a column of its own in the "
    "table; here it shows in the time of a step."
)
_BACKEND = (
    "Self-attention is `saccade.nn.MultiheadAttention` on the backend that `auto` chooses, which need not hold all n² "
    "weights: where its memory grows with n alone, that is why."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plots that both show."""
    found = Findings(content)
    sizes = content["arguments"]
    layers = [["layer", "by the table", "multiplications a sequence"]]
    layers += [[name, LAYERS[name].order, LAYERS[name].formula] for name in found.layers]
    parts: list[Part] = [
        *beginning("Time and memory of a layer by length", CLAIM, SOURCE, found.verdict, content),
        *(Text(f"{sentence(found.crossing(way))}.") for way in PASSES),
        *(part for way in PASSES for part in _pass(found, folder, way)),
        Heading("How it was measured"),
        Text(f"Width d = {sizes['width']}, kernel k = {KERNEL}, heads: {sizes['heads']}, batch: {sizes['batch']}."),
        table(layers),
        *map(Text, (_TURNS, _MEMORY, _EXPONENTS, rule(len(found.claims()), seeded=False), _FORMULAS, _BACKEND)),
        *where(content),
    ]
    publish(folder, parts)


def _pass(found: Findings, folder: Path, way: str) -> list[Part]:
    header, *rows = found.table(way)
    return [Heading(sentence(way)), _plot(found, folder, way), Table(header, rows)]


def _plot(found: Findings, folder: Path, way: str) -> Picture:
    curves = [_curve(found, way, name) for name in found.layers]
    title = f"Time of one call, {way}, by length"
    drawn = look.curves(
        curves,
        folder / way.replace("+", "-"),
        ticks=[(length, str(length)) for length in found.lengths],
        labels=("positions n; bars: 95% intervals; dotted: the fitted power", "milliseconds"),
        title=title,
        note=f"Width d = {found.width}. The claim: self-attention n² d, recurrent n d², convolution k n d²",
        log="xy",
    )
    return picture(drawn, title)


def _curve(found: Findings, way: str, name: str) -> Curve:
    line = found.time(way, name)
    times = [found.median(way, length, name) for length in found.lengths]
    ends = 1e3 * line.at(found.lengths[0]), 1e3 * line.at(found.lengths[-1])
    return curve(f"{name}: n^({line.text()})", found.lengths, times, trend=ends)
