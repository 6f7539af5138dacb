"""Words as points of a plane."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from saccade.errors import ArgumentError
from saccade.look._charts import STYLES, WIDE, name_axes
from saccade.look._figure import GRID, Page, draw_picture

_LETTER = (0.015, 0.032)  # width of a letter and height of a line, of the width and the height of all points


class Point(NamedTuple):
    """A word at a place of a plane."""

    name: str
    x: float
    y: float


def draw_words(
    points: Sequence[Point],
    path: str | Path,
    *,
    labels: tuple[str, str],
    title: str,
    marked: Collection[str] = (),
) -> list[Path]:
    """Draw words as points of a plane, no word on another, some of them marked."""
    if not points:
        raise ArgumentError("points: expected one or more, got none")

    def draw(page: Page) -> None:
        axes = page.axes(0, 0, WIDE, 4.0)
        axes.axhline(0.0, color=GRID, linewidth=0.8)
        axes.axvline(0.0, color=GRID, linewidth=0.8)
        for point, (x, y) in zip(points, _label_positions(points), strict=True):
            colour = STYLES[point.name in marked][0]
            axes.plot([point.x, x], [point.y, y], color=GRID, linewidth=0.6, zorder=1)
            axes.plot([point.x], [point.y], "o", color=colour, markersize=3)
            axes.text(x, y, point.name, fontsize=7.5, color=colour, va="center")
        axes.margins(0.1)
        name_axes(axes, *labels, grid="y")

    story = (f"{point.name}: {point.x:.3g}, {point.y:.3g}" for point in points)
    return draw_picture(path, draw, title, "Words", story)


def _label_positions(points: Sequence[Point]) -> list[tuple[float, float]]:
    """Positions of words: beside their points, or near above or below them."""
    wide, high = (max(ends) - min(ends) or 1.0 for ends in ([p.x for p in points], [p.y for p in points]))
    letter, line = _LETTER[0] * wide, _LETTER[1] * high
    taken, positions = list[tuple[float, float, float]](), dict[Point, tuple[float, float]]()
    for point in sorted(points, key=lambda point: (point.y, point.x)):
        left = point.x + 0.012 * wide
        right = left + letter * len(point.name)
        for step in range(2 * len(points)):
            y = point.y + (-1) ** step * (step // 2) * line
            if all(right < start or end < left or abs(y - other) >= 0.99 * line for start, end, other in taken):
                break
        taken.append((left, right, y))
        positions[point] = left, y
    return [positions[point] for point in points]
