"""Charts: lines over a quantity, dots or bars of names, the curve of a regression."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look._figure import COLOURS, FAINT, Page, checked, draw_picture, full_scale, numbers, plain_ticks, rounded
from saccade.look._labels import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Told apart by lightness and by marker too, so that print and every eye see them.
STYLES = (("#27459a", "o"), ("#d1495b", "s"), ("#2e9e83", "^"), ("#8d5fa8", "D"), ("#b07d1e", "v"))
WIDE, HIGH = 6.26, 2.86  # inches of axes
_NARROW, _ROW = 4.82, 0.36  # inches of axes beside names, and of a name's line
_LOW, _GAP = 1.3, 0.15  # inches: the part below a regression's curve, and between both
_MOST_ROWS = 100
_MARKED = 60  # points of a line with a marker each
_CUT = 0.8  # of a height: how far a bar goes below it at the most, on a logarithmic axis


@dataclass(frozen=True)
class Curve:
    """A line of a chart.

    Args:
        name: in the legend.
        x, y: its points.
        errors: half the length of each point's bar; 0, or none at all, for no bar.
        hollow: points that are drawn hollow, as those of too few observations.
        trend: height of a straight line at the first and the last x, dotted; None for none.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float] = ()
    hollow: Sequence[bool] = ()
    trend: tuple[float, float] | None = None


@dataclass(frozen=True)
class Dots:
    """One measurement of every row of a chart.

    Args:
        name: in the legend.
        values: a number a row; None for a row without.
        errors: half the length of each dot's bar; 0, or none at all, for no bar.
    """

    name: str
    values: Sequence[float | None]
    errors: Sequence[float] = ()


def curves(
    lines: Sequence[Curve],
    path: str | Path,
    *,
    ticks: Sequence[tuple[float, str]] = (),
    labels: tuple[str, str],
    title: str,
    note: str = "",
    bounds: tuple[float | None, float | None] = (None, None),
    log: Literal["", "x", "xy"] = "",
    beside: bool = False,
    mark: tuple[float, str] | None = None,
    json: bool = False,
) -> list[Path]:
    """Draw lines with error bars.

    Args:
        lines: one or more, each of a point or more. A line of more than 60 points has no markers.
        ticks: positions on the x axis and the labels below them, of one line or several. Default: its numbers.
        labels: names of the x and the y axis.
        note: a line below the title.
        bounds: the lowest and the highest height that is shown; None: as the points have it.
        log: logarithmic axes, x or both, for numbers above 0; on both, a power is a straight line.
        beside: write names at the right of the lines, if there is no room among them.
        mark: a place along the x axis that is marked, and its name.
        path, title, json: as of every picture (see `saccade.look`).

    Raises:
        ArgumentError: no lines, a line without points, or numbers that are not finite.
        ShapeError: a line whose y, errors or hollow are not one a point.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> line = Curve("a", [5, 15], [0.9, 0.8], [0.01, 0.02], [False, True])
        >>> with TemporaryDirectory() as folder:
        ...     paths = curves([line], f"{folder}/p", ticks=[(5, "1-10")], labels=("length", "score"), title="t")
        >>> [path.name for path in paths]
        ['p.png', 'p.svg']
    """
    if not lines or not all(line.x for line in lines):
        raise ArgumentError("lines: expected one or more, each of a point or more, got none")
    for line in lines:
        shape = checked("x", line.x, ("points",)).shape
        checked("y", line.y, shape)
        if line.errors:
            checked("errors", line.errors, shape, least=0)
        if line.hollow:
            checked("hollow", line.hollow, shape)

    def draw(page: Page) -> None:
        axes = page.axes(0, 0, 4.46 if beside else WIDE, HIGH)
        axes.set(**{f"{axis}scale": "log" for axis in log})
        axes.set_autoscaley_on(None in bounds)  # a flat line has no heights to go by, of which matplotlib warns
        for line, style in zip(lines, STYLES * len(lines), strict=False):
            _draw_line(axes, line, *style)
        axes.set_ylim(*bounds)
        for axis in log:
            plain_ticks(getattr(axes, f"{axis}axis"))
        if ticks:
            axes.minorticks_off()
            axes.set_xticks([x for x, _ in ticks], [text for _, text in ticks])
        if mark is not None:
            axes.axvline(mark[0], color=STYLES[1][0], linewidth=1.2, linestyle=":", label=mark[1])
        name_axes(axes, *labels, grid="y")
        axes.legend(**{"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if beside else {"loc": "best"})

    notes = (text for text in (note, *labels) if "hollow" in text and any(any(line.hollow) for line in lines))
    story = [*(_line_story(line, ticks) for line in lines), *notes, *([mark[1]] if mark else [])]
    names, values = [line.name for line in lines], [rounded(list(line.y), significant=True) for line in lines]
    more = {"x": [list(line.x) for line in lines], "errors": [list(line.errors) for line in lines], "mark": mark}
    behind = {**numbers(names, [], []), "values": values, **more} if json else None
    return draw_picture(
        path, draw, title, "Curves", story, behind, note=note, more={"labels": labels, "log": log, "lines": lines}
    )


def name_axes(axes: "Axes", x: str, y: str, grid: str = "") -> None:
    axes.set_xlabel(x, fontsize=9.5)
    axes.set_ylabel(y, fontsize=9.5)
    axes.tick_params(labelsize=8)
    if grid:
        axes.grid(axis=grid)  # type: ignore[arg-type]  # "x" or "y"
    axes.spines[["top", "right"]].set_visible(False)


def _line_story(line: Curve, ticks: Sequence[tuple[float, str]]) -> str:
    """Heights of a line over the nearest ticks."""
    heights = []
    for x, y, hollow in zip_longest(line.x, line.y, line.hollow):
        at = min(ticks, key=lambda tick: abs(tick[0] - x))[1].splitlines()[0] if ticks else f"{x:.4g}"
        heights.append(f"{y:.4g}{' (hollow)' if hollow else ''} at {at}")
    return f"{line.name}: {', '.join(heights)}"


def _draw_line(axes: "Axes", line: Curve, colour: str, marker: str) -> None:
    """Points with their bars, joined; the trend behind them."""
    marked = len(line.x) <= _MARKED
    shape: dict[str, Any] = {"marker": marker, "markersize": 5.5} if marked else {}
    axes.plot(line.x, line.y, color=colour, linewidth=1.6, label=line.name, **shape)
    above = below = list(line.errors) or [0.0] * len(line.x)
    if axes.get_yscale() == "log":  # on which 0 is infinitely far below
        below = [min(error, _CUT * y) for error, y in zip(above, line.y, strict=True)]
    if marked or line.errors:
        axes.errorbar(line.x, line.y, yerr=[below, above], fmt="none", ecolor=colour, elinewidth=0.9, capsize=2.5)
    if marked:
        faces = ["white" if hollow else colour for hollow in line.hollow or [False] * len(line.x)]
        axes.scatter(line.x, line.y, s=28, marker=marker, facecolors=faces, edgecolors=colour, zorder=3)
    if line.trend is not None:
        axes.plot([line.x[0], line.x[-1]], line.trend, color=colour, linewidth=1, linestyle=":", zorder=1)


def dots(
    rows: Sequence[str],
    series: Sequence[Dots],
    path: str | Path,
    *,
    label: str,
    title: str,
    note: str = "",
    log: bool = False,
    bars: bool = False,
    json: bool = False,
) -> list[Path]:
    """Draw a dot with an error bar for each row and series, or bars from 0.

    Args:
        rows: their names, from 1 to 100.
        series: one or more, each with a number a row; a legend names several.
        label: name of the axis.
        note: a line below the title.
        log: a logarithmic axis, for numbers above 0.
        bars: draw the one series as bars, blue above 0 and red below.
        path, title, json: as of every picture (see `saccade.look`).

    Raises:
        ArgumentError: no rows or too many, no numbers, or numbers that are not finite.
        ShapeError: a series whose values or errors are not one a row.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = dots(["a", "b"], [Dots("score", [0.9, 0.8], [0.01, 0.0])], f"{folder}/p", label="x", title="t")
        >>> [path.name for path in paths]
        ['p.png', 'p.svg']
    """
    if not 0 < len(rows) <= _MOST_ROWS:
        raise ArgumentError(f"rows: expected 1 to {_MOST_ROWS}, got {len(rows)}. Draw the largest")
    _check_dots(series, len(rows))
    names = [plain(name) for name in rows]

    def draw(page: Page) -> None:
        axes = page.axes(0, 0, _NARROW, _ROW * len(rows))
        for number, group in enumerate(series):
            (colour, marker), shift = STYLES[number % len(STYLES)], 0.14 * (number - (len(series) - 1) / 2)
            values = [math.nan if value is None else value for value in group.values]
            if bars:
                colours = [STYLES[value < 0][0] for value in values]
                axes.barh(range(len(rows)), values, 0.62, color=colours, linewidth=0)
                axes.axvline(0, color=FAINT, linewidth=0.6)
                continue
            heights, errors = [row + shift for row in range(len(rows))], list(group.errors) or [0.0] * len(rows)
            look: dict[str, Any] = {"fmt": marker, "color": colour, "markersize": 5.5, "capsize": 2.5}
            axes.errorbar(values, heights, xerr=errors, label=group.name, **look)
        if log:
            axes.set_xscale("log")
            plain_ticks(axes.xaxis)
        axes.set_yticks(range(len(rows)), names)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        name_axes(axes, label, "", grid="x")
        if len(series) > 1:
            axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(series))

    story = []
    for row, name in enumerate(names):
        pairs = ((group.name, group.values[row]) for group in series)
        story.append(f"{name}: " + ", ".join(f"{what} {value:.4g}" for what, value in pairs if value is not None))
    more = {"values": [list(group.values) for group in series], "errors": [list(group.errors) for group in series]}
    behind = {**numbers([group.name for group in series], rows, []), **more} if json else None
    kind = "Bars" if bars else "Dots"
    return draw_picture(path, draw, title, kind, story, behind, note=plain(note), more={"label": label})


def _check_dots(series: Sequence[Dots], count: int) -> None:
    for group in series:
        if len(group.values) != count:
            raise ShapeError(f"values: expected {count}, one a row, got {len(group.values)}")
        if group.errors:
            checked("errors", group.errors, (count,), least=0)
    every = [value for group in series for value in group.values if value is not None]
    if not every or not all(map(math.isfinite, every)):
        raise ArgumentError(f"series: expected one or more, with finite numbers, got {'others' if every else 'none'}")


@dataclass(frozen=True)
class Prediction:
    """A predicted mean at x, and the ends of its interval."""

    x: float
    mean: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Fit:
    """The predictions of a model over a range.

    Args:
        x: places, rising, `(places,)`.
        mean, lower, upper: predictions and the ends of their intervals, `(places,)`.
        points: known ones, x and y, `(points, 2)`.
    """

    x: Tensor
    mean: Tensor
    lower: Tensor
    upper: Tensor
    points: Tensor


def fit(
    curve: Fit,
    prediction: Prediction,
    path: str | Path,
    *,
    labels: tuple[str, str],
    title: str,
    weights: Tensor | None = None,
    slope: Tensor | None = None,
    json: bool = False,
) -> list[Path]:
    """Draw a curve with its interval, and below it weights of a prediction or a slope.

    Args:
        curve: of the model.
        prediction: the one that is marked.
        labels: names of x and y.
        weights: of each known point in the prediction, `(points,)`, at least 0, drawn as bars.
        slope: of the curve at its places, `(places,)`, drawn if there are no weights.
        path, title, json: as of every picture (see `saccade.look`).

    Raises:
        ShapeError: other shapes.
        ArgumentError: no places, or numbers that are not finite.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> x = torch.linspace(0, 1, 5)
        >>> line, chosen = Fit(x, x, x - 1, x + 1, torch.tensor([[0.5, 0.4]])), Prediction(0.5, 0.5, -0.5, 1.5)
        >>> with TemporaryDirectory() as folder:
        ...     paths = fit(line, chosen, f"{folder}/a", labels=("x", "y"), title="a line", weights=torch.ones(1))
        >>> [path.name for path in paths]
        ['a.png', 'a.svg']
    """
    x, count = checked("x", curve.x, ("places",)), len(curve.points)
    lines = torch.stack([checked(name, getattr(curve, name), x.shape) for name in ("mean", "lower", "upper")])
    points = checked("points", curve.points, (count, 2)) if count else curve.points
    weights = None if weights is None else checked("weights", weights, (count,), least=0)
    slope = None if slope is None else checked("slope", slope, x.shape)
    names, below = (plain(labels[0]), plain(labels[1])), slope if weights is None else weights
    (line, _), (chosen, _) = STYLES[:2]

    def draw(page: Page) -> None:
        axes = page.axes(0, 0, WIDE, HIGH)
        if count:
            dots: dict[str, Any] = {"s": 14 if count < 300 else 8, "color": COLOURS[3], "alpha": 0.6, "linewidths": 0}
            axes.scatter(points[:, 0], points[:, 1], label="known points", **dots)
        axes.fill_between(x, lines[1], lines[2], color=line, alpha=0.12, linewidth=0, label="interval")
        axes.plot(x, lines[0], color=line, linewidth=1.8, label="answer")
        ends = [[prediction.mean - prediction.lower], [prediction.upper - prediction.mean]]
        bar: dict[str, Any] = {"fmt": "s", "color": chosen, "markersize": 6, "capsize": 3, "elinewidth": 1.3}
        axes.errorbar([prediction.x], [prediction.mean], yerr=ends, label="predicted", zorder=4, **bar)
        name_axes(axes, names[0] if below is None else "", names[1], grid="y")
        axes.legend(loc="best")
        if below is None:
            return
        axes.tick_params(labelbottom=False)
        lower = page.axes(0, HIGH + _GAP, WIDE, _LOW, sharex=axes)
        if weights is not None:
            lower.vlines(points[:, 0], 0, weights, color=line, linewidth=1.2)
            lower.set_ylim(0, float(weights.max()) * 1.12 or 1.0)
        else:
            lower.plot(x, below, color=line, linewidth=1.4)
            lower.axhline(0, color=FAINT, linewidth=0.6)
        lower.axvline(prediction.x, color=chosen, linewidth=1.1, linestyle=":")
        name_axes(lower, names[0], "slope" if weights is None else "weight", grid="y")

    answer = f"{prediction.x:.4g} is answered by {prediction.mean:.4g}"
    story, darkest = [f"{answer}, from {prediction.lower:.4g} to {prediction.upper:.4g}"], 1.0
    if weights is not None:
        darkest, best = full_scale(float(weights.max()), 1 / count), int(weights.argmax())
        story += [f"the largest weight, {float(weights[best]):.3g}, has the point at {float(points[best, 0]):.4g}"]
    behind, parts = None, {"values": lines, "x": x, "points": points, "weights": weights, "slope": slope}
    if json:
        more = {name: None if part is None else rounded(part, significant=True) for name, part in parts.items()}
        behind = {**numbers(["answer", "lower", "upper"], [], []), "darkest": darkest, **more}
    about = {"labels": names, "prediction": prediction, **parts}
    return draw_picture(path, draw, title, "A fitted curve", story, behind, more=about)
