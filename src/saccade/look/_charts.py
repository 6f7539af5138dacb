"""Charts: lines over a quantity, dots and bars of things with names, and words as points of a plane."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from saccade.errors import ArgumentError
from saccade.look._figure import (
    FAINT,
    GRID,
    Page,
    checked,
    full_scale,
    name_axes,
    numbers,
    plain_ticks,
    shortened,
    write_picture,
)
from saccade.look._labels import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Told apart by lightness and by marker too, so that print and every eye see them.
STYLES = (("#27459a", "o"), ("#d1495b", "s"), ("#2e9e83", "^"), ("#8d5fa8", "D"), ("#b07d1e", "v"))
_WIDE, _HIGH = 6.3, 3.0  # inches
_ROW = 0.34  # inches of a dot's or a bar's line
_MOST_BARS = 100
_CUT = 0.8  # of a height: how far a bar goes below it at the most, on a logarithmic axis
_LETTER = (0.015, 0.032)  # width of a letter and height of a line, of the width and the height of all points


@dataclass(frozen=True)
class Curve:
    """A line of a chart.

    Args:
        name: in the legend.
        x: places of its points.
        y: their heights.
        errors: half the length of each point's bar; 0 for none.
        hollow: points that are drawn hollow, as those of too few observations.
        trend: height of a straight line at the first and the last x, dotted; None for none.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float]
    hollow: Sequence[bool]
    trend: tuple[float, float] | None = None


@dataclass(frozen=True)
class Dots:
    """One measurement of every row of a chart.

    Args:
        name: in the legend.
        values: a number a row; None for a row without.
        errors: half the length of each dot's bar; 0 for none.
    """

    name: str
    values: Sequence[float | None]
    errors: Sequence[float]


@dataclass(frozen=True)
class Point:
    """A word at a place of a plane."""

    name: str
    x: float
    y: float


def _chart(draw: "Callable[[Page], Axes]", texts: Sequence[str], title: str, note: str) -> "Callable[[], Figure]":
    """What makes the figure of a chart."""

    def figure() -> "Figure":
        page = Page([*texts, title, note])
        draw(page)
        return page.finished(title, note)

    return figure


def curves(
    lines: Sequence[Curve],
    path: str | Path,
    *,
    ticks: Sequence[tuple[float, str]],
    labels: tuple[str, str],
    title: str,
    note: str = "",
    bounds: tuple[float | None, float | None] = (None, None),
    log: bool = False,
    beside: bool = False,
) -> list[Path]:
    r"""Draw lines with error bars over labelled places.

    Args:
        lines: one or more, each of a point or more.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        ticks: places along the x axis and the labels below them, of one line or several.
        labels: names of the x and the y axis.
        title: a line above the picture.
        note: a line below the title.
        bounds: the lowest and the highest height that is shown; None: as the points have it.
        log: logarithmic axes, on which a power is a straight line; all numbers are then above 0.
        beside: write names at the right of the lines, if there is no room among them.

    Returns:
        The paths of the PNG and the SVG.

    Raises:
        ArgumentError: no lines, or a line without points.
        OSError: the files cannot be written.

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

    def draw(page: Page) -> "Axes":
        axes = page.axes(0, 0, _WIDE * (0.72 if beside else 1), _HIGH)
        if log:
            axes.set(xscale="log", yscale="log")
        axes.set_autoscaley_on(None in bounds)  # a flat line has no heights to go by, of which matplotlib warns
        for place, line in enumerate(lines):
            _line(axes, line, *STYLES[place % len(STYLES)])
        axes.set_ylim(*bounds)
        if log:
            axes.minorticks_off()
            plain_ticks(axes.yaxis)
        axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
        name_axes(axes, *labels, grid="y")
        where: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if beside else {"loc": "best"}
        axes.legend(**where)
        return axes

    texts = [*labels, *(text for _, text in ticks), *(line.name for line in lines)]
    story = _curves_story(lines, ticks, (note, *labels))
    return write_picture(path, _chart(draw, texts, title, note), title=title, story=story)


def _line(axes: "Axes", line: Curve, colour: str, marker: str) -> None:
    """Points with their bars, joined; the trend behind them."""
    axes.plot(line.x, line.y, color=colour, marker=marker, markersize=5.5, linewidth=1.6, label=line.name)
    below = list(line.errors)
    if axes.get_yscale() == "log":  # on which 0 is infinitely far below
        below = [min(error, _CUT * y) for error, y in zip(line.errors, line.y, strict=True)]
    axes.errorbar(line.x, line.y, yerr=[below, line.errors], fmt="none", ecolor=colour, elinewidth=0.9, capsize=2.5)
    faces = ["white" if hollow else colour for hollow in line.hollow]
    axes.scatter(line.x, line.y, s=28, marker=marker, facecolors=faces, edgecolors=colour, zorder=3)
    if line.trend is not None:
        axes.plot([line.x[0], line.x[-1]], line.trend, color=colour, linewidth=1, linestyle=":", zorder=1)


def _curves_story(lines: Sequence[Curve], ticks: Sequence[tuple[float, str]], texts: Sequence[str]) -> str:
    """Each line's heights over the nearest ticks, and the text that explains hollow points."""
    told = []
    for line in lines:
        nearest = (min(ticks, key=lambda tick: abs(tick[0] - x))[1].splitlines()[0] for x in line.x)
        points = zip(line.y, line.hollow, nearest, strict=True)
        heights = ", ".join(f"{y:.4g}{' (hollow)' * hollow} at {place}" for y, hollow, place in points)
        told.append(f"{line.name}: {heights}")
    hollow = [text for text in texts if "hollow" in text] if any(any(line.hollow) for line in lines) else []
    return "; ".join(told + hollow)


def dots(
    rows: Sequence[str],
    series: Sequence[Dots],
    path: str | Path,
    *,
    label: str,
    title: str,
    note: str = "",
    log: bool = False,
) -> list[Path]:
    """Draw a dot with its error bar for each row and series, the first row on top.

    Args:
        rows: their names, one or more.
        series: one or more, each with a number a row; a legend names several.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        label: name of the axis.
        title: a line above the picture.
        note: a line below the title.
        log: a logarithmic axis; all numbers are then above 0.

    Returns:
        The paths of the PNG and the SVG.

    Raises:
        ArgumentError: no rows or no numbers.
        OSError: the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = dots(["a", "b"], [Dots("score", [0.9, 0.8], [0.01, 0.0])], f"{folder}/p", label="x", title="t")
        >>> [path.name for path in paths]
        ['p.png', 'p.svg']
    """
    if not rows or not any(value is not None for each in series for value in each.values):
        raise ArgumentError("series: expected one or more, with a number or more, got none")

    def draw(page: Page) -> "Axes":
        axes = _rows(page, rows)
        for place, each in enumerate(series):
            colour, marker = STYLES[place % len(STYLES)]
            shift = 0.14 * (place - (len(series) - 1) / 2)
            drawn = [
                (value, row + shift, error)
                for row, (value, error) in enumerate(zip(each.values, each.errors, strict=True))
                if value is not None
            ]
            values, heights, errors = zip(*drawn, strict=True) if drawn else ((), (), ())
            bar: dict[str, Any] = {"fmt": marker, "color": colour, "markersize": 5.5, "capsize": 2.5}
            axes.errorbar(values, heights, xerr=errors, label=each.name, **bar)
        if log:
            axes.set_xscale("log")
            plain_ticks(axes.xaxis)
        name_axes(axes, label, "", grid="x")
        if len(series) > 1:
            axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(series))
        return axes

    told = []
    for place, name in enumerate(rows):
        pairs = ((each.name, each.values[place]) for each in series)
        told.append(f"{name}: " + ", ".join(f"{what} {value:.4g}" for what, value in pairs if value is not None))
    texts = [label, *rows, *(each.name for each in series)]
    return write_picture(path, _chart(draw, texts, title, note), title=title, story="; ".join(told))


def _rows(page: Page, names: Sequence[str]) -> "Axes":
    """Axes with a line for each name, the first on top."""
    axes = page.axes(0, 0, _WIDE * 0.75, _ROW * len(names))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    return axes


def bars(
    names: Sequence[str],
    values: Tensor,
    path: str | Path,
    *,
    label: str,
    title: str,
    note: str = "",
    json: bool = False,
) -> list[Path]:
    """Draw a bar for each of some things, the first on top.

    Args:
        names: of the things, at most 100.
        values: `(names,)`, finite; numbers below 0 are drawn to the left.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        label: name of the axis.
        title: a line above the picture.
        note: a line below the title.
        json: write the numbers beside it.

    Returns:
        The paths of the PNG and the SVG, and of the JSON.

    Raises:
        ShapeError: more values than names, or fewer.
        ArgumentError: none, too many, or numbers that are not finite.
        OSError: the files cannot be written.

    Example:
        >>> import torch
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = bars(["a", "b"], torch.tensor([0.9, 0.1]), f"{folder}/a", label="weight", title="a set")
        >>> [path.name for path in paths]
        ['a.png', 'a.svg']
    """
    if len(names) > _MOST_BARS:
        raise ArgumentError(f"names: expected at most {_MOST_BARS}, got {len(names)}. Draw the largest")
    row, heading, below = checked("values", values, (len(names),)), plain(title), plain(note)
    shown = [shortened(plain(name), 34) for name in names]

    def draw(page: Page) -> "Axes":
        axes = _rows(page, shown)
        colours = [STYLES[int(value < 0)][0] for value in row.tolist()]
        axes.barh(range(len(shown)), row.numpy(), height=0.62, color=colours, linewidth=0)
        if bool((row < 0).any()):
            axes.axvline(0, color=FAINT, linewidth=0.6)
        name_axes(axes, plain(label), "", grid="x")
        return axes

    told = "; ".join(f"{name} {value:.4g}" for name, value in zip(shown, row.tolist(), strict=True))
    darkest = full_scale(float(row.abs().max()), 0.0)
    return write_picture(
        path,
        _chart(draw, [label, *shown], heading, below),
        title=heading or "Bars",
        story=f"{label}: {told}",
        behind=numbers(heading, [label], names, row[None], darkest=darkest) if json else None,
    )


def scatter(
    points: Sequence[Point],
    path: str | Path,
    *,
    labels: tuple[str, str],
    title: str,
    note: str = "",
    marked: Collection[str] = (),
) -> list[Path]:
    """Draw words as points of a plane, no word on another.

    Args:
        points: one or more.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        labels: names of the x and the y axis.
        title: a line above the picture.
        note: a line below the title.
        marked: words in another colour.

    Returns:
        The paths of the PNG and the SVG.

    Raises:
        ArgumentError: no points.
        OSError: the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = scatter([Point("good", 0.5, 1.0)], f"{folder}/p", labels=("x", "y"), title="t")
        >>> [path.name for path in paths]
        ['p.png', 'p.svg']
    """
    if not points:
        raise ArgumentError("points: expected one or more, got none")

    def draw(page: Page) -> "Axes":
        axes = page.axes(0, 0, _WIDE, 4.0)
        axes.axhline(0.0, color=GRID, linewidth=0.8)
        axes.axvline(0.0, color=GRID, linewidth=0.8)
        for point, (x, y) in zip(points, _label_places(points), strict=True):
            colour = STYLES[int(point.name in marked)][0]
            axes.plot([point.x, x], [point.y, y], color=GRID, linewidth=0.6, zorder=1)
            axes.plot([point.x], [point.y], "o", color=colour, markersize=3)
            axes.text(x, y, point.name, fontsize=7.5, color=colour, va="center")
        axes.margins(0.1)
        name_axes(axes, *labels, grid="y")
        return axes

    story = "; ".join(f"{point.name}: {point.x:.3g}, {point.y:.3g}" for point in points)
    texts = [*labels, *(point.name for point in points)]
    return write_picture(path, _chart(draw, texts, title, note), title=title, story=story)


def _label_places(points: Sequence[Point]) -> list[tuple[float, float]]:
    """Where each word is written: beside its point, or as near above or below it as no other word is in the way."""
    wide, high = (max(ends) - min(ends) or 1.0 for ends in ([p.x for p in points], [p.y for p in points]))
    letter, line = _LETTER[0] * wide, _LETTER[1] * high
    taken, places = list[tuple[float, float, float]](), dict[Point, tuple[float, float]]()
    for point in sorted(points, key=lambda point: (point.y, point.x)):
        left = point.x + 0.012 * wide
        right = left + letter * len(point.name)
        heights = (point.y + sign * step * line for step in range(len(points)) for sign in (1, -1))
        free = (
            y
            for y in heights
            if all(right < start or end < left or abs(y - other) >= 0.99 * line for start, end, other in taken)
        )
        y = next(free)
        taken.append((left, right, y))
        places[point] = left, y
    return [places[point] for point in points]
