"""Lines of a measurement over a quantity, as PNG and SVG, in the style of the other pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from saccade.errors import ArgumentError
from saccade.look.drawing import write_picture
from saccade.look.pictures import FAINT, GRID, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = ["STYLES", "Curve", "draw", "framed", "plain_ticks"]

#: Told apart by lightness and by marker too, so that print and every eye see them.
STYLES = (("#27459a", "o"), ("#d1495b", "s"), ("#2e9e83", "^"), ("#8d5fa8", "D"), ("#b07d1e", "v"))
_SIZE = (7.2, 4.2)  # inches
_CUT = 0.8  # of a height: how far a bar goes below it at the most, on a logarithmic axis


@dataclass(frozen=True)
class Curve:
    """One line.

    Args:
        name: what the legend calls it.
        x: where its points are.
        y: how high they are.
        errors: half the length of each point's bar; 0 for none.
        hollow: which points are drawn hollow: of too few observations.
        trend: height of a straight line at the first and the last x, dotted; None for none.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float]
    hollow: Sequence[bool]
    trend: tuple[float, float] | None = None


def draw(
    curves: Sequence[Curve],
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
        curves: at least one, each of a point or more.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        ticks: places along the x axis and what stands below them; a label may have several lines.
        labels: what the x and the y axis show.
        title: a line above the picture.
        note: a line below the title.
        bounds: the lowest and the highest height that is shown; None: as the points have it.
        log: whether both axes are logarithmic, on which a power is a straight line; all numbers are then above 0.
        beside: whether names stand at the right of the lines, and not among them: where these leave no room.

    Returns:
        The paths of the PNG and the SVG.

    Raises:
        ArgumentError: if there is nothing to draw.
        OSError: if the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> line = Curve("a", [5, 15], [0.9, 0.8], [0.01, 0.02], [False, True])
        >>> with TemporaryDirectory() as folder:
        ...     paths = draw([line], f"{folder}/p", ticks=[(5, "1-10")], labels=("length", "score"), title="t")
        >>> [path.name for path in paths]
        ['p.png', 'p.svg']
    """
    if not curves or not all(curve.x for curve in curves):
        raise ArgumentError("curves: expected one or more, each of a point or more, got none")
    return write_picture(
        path,
        lambda: _figure(curves, ticks, labels, title, note, bounds, log, beside),
        title=title,
        story=_story(curves, ticks, (note, *labels)),
    )


def _figure(
    curves: Sequence[Curve],
    ticks: Sequence[tuple[float, str]],
    labels: tuple[str, str],
    title: str,
    note: str,
    bounds: tuple[float | None, float | None],
    log: bool,
    beside: bool,
) -> "Figure":
    from matplotlib.figure import Figure

    words = "".join([title, note, *labels, *(text for _, text in ticks), *(curve.name for curve in curves)])
    style: dict[str, Any] = {"family": families(words), "parse_math": False, "color": INK}
    figure = Figure(figsize=_SIZE, dpi=150)
    axes = figure.add_axes((0.1, 0.17, 0.62 if beside else 0.87, 0.68))
    if log:
        axes.set(xscale="log", yscale="log")
    axes.set_autoscaley_on(None in bounds)  # a flat line has no heights to go by, of which matplotlib warns
    for place, curve in enumerate(curves):
        _line(axes, curve, *STYLES[place % len(STYLES)])
    axes.set_ylim(*bounds)
    if log:
        axes.minorticks_off()
        plain_ticks(axes.yaxis)
    axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
    framed(axes, labels, style, grid="y")
    figure.text(0.1, 0.945, title, fontsize=12, **style)
    figure.text(0.1, 0.885, note, fontsize=8.5, **{**style, "color": FAINT})
    where: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if beside else {"loc": "best"}
    axes.legend(frameon=False, prop={"family": style["family"], "size": 9}, labelcolor=INK, **where)
    return figure


def _line(axes: "Axes", curve: Curve, colour: str, marker: str) -> None:
    """Points with their bars, joined; the trend behind them."""
    axes.plot(curve.x, curve.y, color=colour, marker=marker, markersize=5.5, linewidth=1.6, label=curve.name)
    below = list(curve.errors)
    if axes.get_yscale() == "log":  # on which 0 is infinitely far below
        below = [min(error, _CUT * y) for error, y in zip(curve.errors, curve.y, strict=True)]
    axes.errorbar(curve.x, curve.y, yerr=[below, curve.errors], fmt="none", ecolor=colour, elinewidth=0.9, capsize=2.5)
    faces = ["white" if hollow else colour for hollow in curve.hollow]
    axes.scatter(curve.x, curve.y, s=28, marker=marker, facecolors=faces, edgecolors=colour, zorder=3)
    if curve.trend is not None:
        axes.plot([curve.x[0], curve.x[-1]], curve.trend, color=colour, linewidth=1, linestyle=":", zorder=1)


def framed(axes: "Axes", labels: tuple[str, str], style: dict[str, Any], *, grid: Literal["x", "y"]) -> None:
    """Label the axes of a picture, with lines across one of them and a frame at the left and below.

    Args:
        axes: their ticks are set.
        labels: what the x and the y axis show.
        style: of texts.
        grid: the axis whose ticks have lines.
    """
    axes.set_xlabel(labels[0], fontsize=9.5, **style)
    axes.set_ylabel(labels[1], fontsize=9.5, **style)
    axes.tick_params(axis="both", length=2, width=0.5, labelsize=8, color=FAINT, labelcolor=INK)
    for text in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        text.set(**style)
    axes.grid(axis=grid, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set(color=FAINT, linewidth=0.5)


def plain_ticks(axis: "Axis") -> None:
    """Numbers on a logarithmic axis as they are said: 1, 2, 5, 10."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    axis.set_minor_formatter(NullFormatter())


def _story(curves: Sequence[Curve], ticks: Sequence[tuple[float, str]], texts: Sequence[str]) -> str:
    """What the picture shows, in words: each line's heights over the ticks that are nearest, and the text that says
    what hollow points are.
    """
    told_of = []
    for curve in curves:
        points = zip(curve.x, curve.y, curve.hollow, strict=True)
        heights = ", ".join(f"{y:.4g}{' (hollow)' * hollow} at {_nearest(x, ticks)}" for x, y, hollow in points)
        told_of.append(f"{curve.name}: {heights}")
    hollow = [text for text in texts if "hollow" in text] if any(any(curve.hollow) for curve in curves) else []
    return "; ".join(told_of + hollow)


def _nearest(x: float, ticks: Sequence[tuple[float, str]]) -> str:
    """The first line of the label that stands nearest to a place."""
    _, text = min(ticks, key=lambda tick: abs(tick[0] - x))
    return text.partition("\n")[0]
