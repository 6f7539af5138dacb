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
    for one in points:
        colour = STYLES[1][0] if one.name in marked else STYLES[0][0]
        axes.plot([one.x], [one.y], "o", color=colour, markersize=3.5)
        axes.annotate(
            one.name, (one.x, one.y), (3, 2), textcoords="offset points", fontsize=8, **{**style, "color": colour}
        )
    axes.margins(0.08)
    framed(axes, labels, {**style, "color": INK}, grid="y")
    figure.text(0.02, 0.945, title, fontsize=12, **style, color=INK)
    figure.text(0.02, 0.9, note, fontsize=8.5, **style, color=FAINT)
    return figure
