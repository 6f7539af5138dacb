"""The page of the report `regression` and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Curve
from saccade.reports.document import Heading, Part, Picture, Text
from saccade.reports.pages import beginning, curve, picture, publish, table, where
from saccade.reports.regression.estimates import NOISE
from saccade.reports.regression.findings import NEAR, Findings
from saccade.reports.verdict import rule

__all__ = ["write_page"]

CLAIM = (
    "The squared error of a Nadaraya-Watson estimate of a curve over one number falls as n^(-4/5) with n known points "
    "and the best bandwidth, no estimate being faster for all curves that are twice differentiable; the error of the "
    "mean of all answers stays."
)
SOURCE = "Nadaraya 1964; Watson 1964; Stone 1982, 'Optimal global rates of convergence'; Härdle, Marron 1985"
_POINTS = (
    "Points lie uniformly in 0 to 1 on a period of a cosine, with normal noise of deviation {noise}. The slope of the "
    "curve is 0 at both ends: else an estimate would be biased there by its bandwidth h, and not by h² as everywhere "
    "else, and the error would fall more slowly. What is measured is the distance from the curve, without noise."
)
_BANDWIDTH = (
    "The best bandwidth h is the one that errs least, which takes the curve to know. It is to fall as n^(-1/5): a "
    "squared bias of h⁴ and a variance of 1 / (n h) are then in balance, at n^(-4/5) each. Leave-one-out knows the "
    "points alone: each known answer is predicted by all others, and the h that errs least by that is taken "
    "(`nn.KernelRegression`). In the end it is as good as the best (Härdle, Marron 1985), but h comes near so slowly "
    "that what it costs is still seen, the more the fewer points there are; so its error falls a little faster."
)
_LEARNED = (
    "The learned kernel is `saccade train regress --model learned-kernel`, whose weights are the softmax of a product "
    "of two networks, trained by the same error of leave-one-out. What is claimed says nothing of it."
)
_ERRORS = (
    "Means are over seeds, each of which draws other points; ± half of their 95% interval (Student's t). Exponents are "
    "slopes of straight lines through logarithms; their interval is the wider of what the means' errors come to and "
    "what their distances from the line say, with two degrees of freedom less than numbers of points. That an exponent "
    f"is what is claimed is shown where its whole interval lies within {NEAR:g} of it."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show."""
    found = Findings(content)
    seeds = ", ".join(f"{way} {count}" for way, count in found.seeds.items())
    parts: list[Part] = [
        *beginning("Kernel regression by the number of known points", CLAIM, SOURCE, found.verdict, content),
        _plot(found, folder),
        table(found.table()),
        Heading("How it was measured"),
        *map(Text, (_POINTS.format(noise=NOISE), _BANDWIDTH, _LEARNED, _ERRORS, rule(2), f"Seeds: {seeds}.")),
        *where(content),
    ]
    publish(folder, parts)


def _plot(found: Findings, folder: Path) -> Picture:
    counts = sorted({row["n"] for row in found.content["rows"]})
    title = "How far estimates are off, by the number of known points"
    drawn = look.curves(
        [_curve(found, way) for way in found.ways],
        folder / "errors",
        ticks=[(count, str(count)) for count in counts],
        labels=("known points n; bars: 95% intervals; dotted: the fitted power", "squared error"),
        title=title,
        note="The claim: n^(-4/5) for Nadaraya-Watson; the mean stays",
        log="xy",
    )
    return picture(drawn, title)


def _curve(found: Findings, way: str) -> Curve:
    counts, line = found.counts(way), found.power(way)
    means = [found.mean(way, count) for count in counts]
    ends = None if line is None else (line.at(counts[0]), line.at(counts[-1]))
    label = way if line is None else f"{way}: n^({line.text()})"
    return curve(label, counts, means, trend=ends)
