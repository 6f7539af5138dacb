"""Words as points of a plane, as PNG and SVG, in the style of the other pictures."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade.errors import ArgumentError
from saccade.look.curves import STYLES, framed
from saccade.look.drawing import write_picture
from saccade.look.pictures import FAINT, GRID, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Point", "draw"]

_SIZE = (7.2, 5.4)  # inches
_LINE, _LETTER = 0.032, 0.015  # of the width and the height of all points: what a line and a letter take


@dataclass(frozen=True)
class Point:
    """A word and its place.

    Args:
        name: the word.
        x, y: its place.
    """

    name: str
    x: float
    y: float


def draw(
    points: Sequence[Point],
    path: str | Path,
    *,
    labels: tuple[str, str],
    title: str,
    note: str = "",
    marked: Collection[str] = (),
) -> list[Path]:
    """Draw words where they are.

    Args:
        points: one or more.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        labels: what the x and the y axis show.
        title: a line above the picture.
        note: a line below the title.
        marked: words in another colour.

    Returns:
        The paths of the PNG and the SVG.

    Raises:
        ArgumentError: if there is nothing to draw.
        OSError: if the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = draw([Point("good", 0.5, 1.0)], f"{folder}/p", labels=("x", "y"), title="t")
        >>> [path.name for path in paths]
        ['p.png', 'p.svg']
    """
    if not points:
        raise ArgumentError("points: expected one or more, got none")
    story = "; ".join(f"{one.name}: {one.x:.3g}, {one.y:.3g}" for one in points)
    return write_picture(path, lambda: _figure(points, labels, title, note, marked), title=title, story=story)


def _labelled(points: Sequence[Point]) -> list[tuple[float, float]]:
    """Where each word is written: beside its point, or above or below that, as near as no other word is in the way."""
    wide, high = (max(own) - min(own) or 1.0 for own in ([one.x for one in points], [one.y for one in points]))
    taken, found = list[tuple[float, float, float]](), dict[Point, tuple[float, float]]()
    for one in sorted(points, key=lambda point: (point.y, point.x)):
        x, width = one.x + 0.012 * wide, _LETTER * wide * len(one.name)
        heights = (one.y + sign * step * _LINE * high for step in range(len(points)) for sign in (1, -1))
        y = next(y for y in heights if all(_free(x, x + width, y, other, _LINE * high) for other in taken))
        taken.append((x, x + width, y))
        found[one] = x, y
    return [found[one] for one in points]


def _free(left: float, right: float, y: float, other: tuple[float, float, float], line: float) -> bool:
    return right < other[0] or other[1] < left or abs(y - other[2]) >= 0.99 * line


def _figure(
    points: Sequence[Point], labels: tuple[str, str], title: str, note: str, marked: Collection[str]
) -> "Figure":
    from matplotlib.figure import Figure

    words = "".join([title, note, *labels, *(one.name for one in points)])
    style: dict[str, Any] = {"family": families(words), "parse_math": False}
    figure = Figure(figsize=_SIZE, dpi=150)
    axes = figure.add_axes((0.1, 0.1, 0.86, 0.74))
    axes.axhline(0.0, color=GRID, linewidth=0.8)
    axes.axvline(0.0, color=GRID, linewidth=0.8)
    for one, (x, y) in zip(points, _labelled(points), strict=True):
        colour = STYLES[1][0] if one.name in marked else STYLES[0][0]
        axes.plot([one.x, x], [one.y, y], color=GRID, linewidth=0.6, zorder=1)
        axes.plot([one.x], [one.y], "o", color=colour, markersize=3)
        axes.text(x, y, one.name, fontsize=7.5, color=colour, va="center", **style)
    axes.margins(0.1)
    framed(axes, labels, {**style, "color": INK}, grid="y")
    figure.text(0.02, 0.945, title, fontsize=12, **style, color=INK)
    figure.text(0.02, 0.9, note, fontsize=8.5, **style, color=FAINT)
    return figure
