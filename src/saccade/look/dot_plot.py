"""Measurements of things with names as dots with bars, as PNG and SVG, in the style of the other pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade.errors import ArgumentError
from saccade.look.curves import STYLES, framed, plain_ticks
from saccade.look.drawing import write_picture
from saccade.look.pictures import FAINT, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Dots", "draw"]

_WIDE, _LINE, _AROUND = 7.2, 0.36, 1.5  # inches: the picture, a row of it, and what stands above and below
_APART = 0.14  # of a row, between dots of several series


@dataclass(frozen=True)
class Dots:
    """One measurement of every row.

    Args:
        name: what the legend calls it.
        values: a number a row; None where there is none.
        errors: half the length of each dot's bar; 0 for none.
    """

    name: str
    values: Sequence[float | None]
    errors: Sequence[float]


def draw(
    rows: Sequence[str],
    series: Sequence[Dots],
    path: str | Path,
    *,
    label: str,
    title: str,
    note: str = "",
    log: bool = False,
) -> list[Path]:
    """Draw a dot a row and series, the first row on top.

    Args:
        rows: their names, one or more.
        series: one or more, each with a number a row; a legend tells several apart.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        label: what the axis shows.
        title: a line above the picture.
        note: a line below the title.
        log: whether the axis is logarithmic; all numbers are then above 0.

    Returns:
        The paths of the PNG and the SVG.

    Raises:
        ArgumentError: if there is nothing to draw.
        OSError: if the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = draw(["a", "b"], [Dots("score", [0.9, 0.8], [0.01, 0.0])], f"{folder}/p", label="x", title="t")
        >>> [path.name for path in paths]
        ['p.png', 'p.svg']
    """
    if not rows or not any(value is not None for dots in series for value in dots.values):
        raise ArgumentError("series: expected one or more, with a number or more, got none")
    return write_picture(
        path, lambda: _figure(rows, series, label, title, note, log), title=title, story=_story(rows, series)
    )


def _figure(rows: Sequence[str], series: Sequence[Dots], label: str, title: str, note: str, log: bool) -> "Figure":
    from matplotlib.figure import Figure

    words = "".join([title, note, label, *rows, *(dots.name for dots in series)])
    style: dict[str, Any] = {"family": families(words), "parse_math": False, "color": INK}
    high = _AROUND + _LINE * len(rows)
    figure = Figure(figsize=(_WIDE, high), dpi=150)
    axes = figure.add_axes((0.3, 0.6 / high, 0.67, _LINE * len(rows) / high))
    for place, dots in enumerate(series):
        colour, marker = STYLES[place % len(STYLES)]
        shift = _APART * (place - (len(series) - 1) / 2)
        found = [
            (v, r + shift, e) for r, (v, e) in enumerate(zip(dots.values, dots.errors, strict=True)) if v is not None
        ]
        values, heights, errors = zip(*found, strict=True) if found else ((), (), ())
        axes.errorbar(
            values, heights, xerr=errors, fmt=marker, color=colour, markersize=5.5, capsize=2.5, label=dots.name
        )
    if log:
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    framed(axes, (label, ""), style, grid="x")
    figure.text(0.02, 1 - 0.3 / high, title, fontsize=12, **style)
    figure.text(0.02, 1 - 0.55 / high, note, fontsize=8.5, **{**style, "color": FAINT})
    if len(series) > 1:
        place_of_legend: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": len(series)}
        axes.legend(frameon=False, **place_of_legend, prop={"family": style["family"], "size": 9}, labelcolor=INK)
    return figure


def _story(rows: Sequence[str], series: Sequence[Dots]) -> str:
    """What the picture shows, in words: every row's numbers."""
    told = []
    for place, name in enumerate(rows):
        numbers = ((dots.name, dots.values[place]) for dots in series)
        told.append(f"{name}: " + ", ".join(f"{what} {value:.4g}" for what, value in numbers if value is not None))
    return "; ".join(told)
