"""The path of an eye over an image, its patches, and the likely classes."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look._charts import name_axes
from saccade.look._figure import FAINT, INK, MOST_PANELS, Page, checked, draw_picture, not_drawn, numbers
from saccade.look._labels import plain
from saccade.look._overlays import animated, pixels_of, show_pixels
from saccade.nn import Retina

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_GLIMPSES = 100
_IMAGE, _PATCH, _GAP = 3.6, 0.9, 0.08  # inches: the image's longer side, a patch's, between two
_CHART = 1.0  # inches: the height of the chart of classes at the least
_CLASSES, _LINE = 3, 0.14  # classes whose probabilities are drawn, and inches from name to name
_NUMBERS = 4  # of glimpses that are written at one place
_LARGEST = 960  # pixels of the longer side of an image as it is drawn
_COLOURS = ("#ffb000", "#35e0ff", "#ff4fa3", "#8dff6a")  # of scales, the finest first
_PATH = "#d7263d"
Glimpse = list[tuple[float, float, float]]
"""For every scale left, top and side of its patch, in pixels."""


def glimpses(
    image: Tensor,
    location: Tensor,
    sides: Sequence[int],
    path: str | Path,
    *,
    probabilities: Tensor,
    labels: Sequence[str],
    title: str | None = None,
    said: Mapping[int, str] | None = None,
    json: bool = False,
) -> list[Path]:
    """Draw the path of an eye, its patches, and the probabilities of likely classes.

    The patches of at most eight glimpses are drawn; the path, the chart and the animation have all.

    Args:
        image: `(channels, height, width)`, 1 channel or 3, uint8.
        location: `(glimpses, 2)`: x and y, from −1 to 1.
        sides: pixels of the image that each scale covers from side to side, each twice the one before.
        probabilities: of the classes after each glimpse, `(glimpses, classes)`.
        labels: of the classes.
        said: the symbols of a string, by the number of the glimpse after which the eye named each.
        path, title, json: as of every picture (see `saccade.look`).

    Raises:
        ShapeError: shapes that do not fit each other.
        ArgumentError: no glimpse, or more than 100.

    Source:
        Mnih et al. 2014, "Recurrent Models of Visual Attention", figures 2 and 3.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from saccade import look
        >>> image, even = torch.zeros(1, 8, 8, dtype=torch.uint8), torch.full((2, 2), 0.5)
        >>> with TemporaryDirectory() as folder:
        ...     paths = look.glimpses(image, torch.zeros(2, 2), [4], f"{folder}/a", probabilities=even, labels="xy")
        >>> [path.name for path in paths]
        ['a.png', 'a.svg', 'a.gif']
    """
    if image.dtype != torch.uint8 or not sides:
        raise ShapeError(f"image, sides: expected uint8 and a side or more, got {image.dtype} and {len(sides)} sides")
    whole, centres = pixels_of(image, _LARGEST), checked("location", location, ("glimpses", 2))
    if len(centres) > MOST_GLIMPSES:
        raise ArgumentError(f"location: expected at most {MOST_GLIMPSES} glimpses, got {len(centres)}")
    shares = checked("probabilities", probabilities, (len(centres), len(labels)))
    patches = Retina(sides[0], len(sides))(image.cpu().double()[None] / 255, centres[None])[0]
    symbols, (height, width) = said or {}, whole.shape[:2]
    scale = max(height, width) / max(image.shape[1:])
    middles = ((centres + 1) / 2 * torch.tensor([width, height])).tolist()
    widths = [side * scale for side in sides]
    boxes: list[Glimpse] = [[(x - side / 2, y - side / 2, side) for side in widths] for x, y in middles]

    def draw(page: Page) -> str:
        high, wide = (_IMAGE * side / max(whole.shape[:2]) for side in whole.shape[:2])
        left, count, scales = wide + 0.55, min(len(patches), MOST_PANELS), patches.shape[1]
        axes = page.axes(0, 0, wide, high, ticks=False)
        show_pixels(axes, whole)
        _draw_path(axes, boxes)
        for number, scale in product(range(count), range(scales)):
            corner = left + number * (_PATCH + _GAP), scale * (_PATCH + _GAP)
            patch = page.axes(*corner, _PATCH, _PATCH, ticks=False)
            show_pixels(patch, patches[number, scale].expand(3, -1, -1).permute(1, 2, 0))
            patch.spines[:].set(color=_COLOURS[scale % len(_COLOURS)], linewidth=1.5)
            if not scale:
                heard = f": {plain(symbols[number])}" if number in symbols else ""
                patch.set_title(f"{number + 1}{heard}", fontsize=9, pad=2)
        below, across = scales * (_PATCH + _GAP) + 0.2, max(count * (_PATCH + _GAP), 2.5)
        _draw_classes(page.axes(left, below, across, max(_CHART, high - below)), shares, labels, symbols)
        return not_drawn([f"{number}" for number in range(1, len(patches) + 1)], "glimpses' patches")

    story, best = list[str](), zip(centres.tolist(), *(part.tolist() for part in shares.max(-1)), strict=True)
    for number, ((x, y), share, label) in enumerate(best):
        heard = f", says {symbols[number]}" if number in symbols else ""
        story.append(f"glimpse {number + 1} at x {x:.2f}, y {y:.2f}: {labels[label]} ({share:.2f}){heard}")
    names = [f"glimpse {number}" for number in range(1, len(centres) + 1)]
    behind = numbers(names, labels, shares, darkest=1.0, location=centres.tolist(), sides=list(sides)) if json else None
    pages = {".gif": lambda: _animation(whole, boxes)}
    more = {"image": whole, "patches": patches, "said": symbols, "boxes": boxes}
    return draw_picture(path, draw, title, "The path of an eye", story, behind, pages=pages, more=more)


def _draw_path(axes: "Axes", boxes: Sequence[Glimpse]) -> None:
    """Draw boxes of all scales at each location, lines between them, and numbers."""
    from matplotlib.patches import Rectangle

    (_, width), (height, _) = axes.get_xlim(), axes.get_ylim()
    middles, visits = list[tuple[float, float]](), dict[tuple[float, float], list[str]]()
    for number, glimpse in enumerate(boxes, 1):
        for scale, (left, top, side) in enumerate(glimpse):
            edge: dict[str, Any] = {"edgecolor": _COLOURS[scale % len(_COLOURS)], "linewidth": 0.8 if scale else 1.6}
            alpha = 0.35 + 0.65 * number / len(boxes)
            axes.add_patch(Rectangle((left, top), side, side, fill=False, alpha=alpha, **edge))
        left, top, side = glimpse[0]  # the middle of a patch at the edge may lie outside of the image
        middles.append((min(max(left + side / 2, 0), width), min(max(top + side / 2, 0), height)))
        visits.setdefault(middles[-1], []).append(str(number))
    axes.plot(*zip(*middles, strict=True), color="#ffffff", linewidth=2.6, alpha=0.8)
    axes.plot(*zip(*middles, strict=True), color=_PATH, linewidth=1.3)
    for (x, y), every in visits.items():
        text = ", ".join(every if len(every) <= _NUMBERS else [*every[: _NUMBERS - 2], "…", every[-1]])
        shape = "circle,pad=0.2" if text.isdecimal() else "round,pad=0.3"
        box = {"facecolor": _PATH, "edgecolor": "#ffffff", "boxstyle": shape, "linewidth": 0.8}
        axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=box, color="#ffffff")


def _draw_classes(axes: "Axes", shares: Tensor, labels: Sequence[str], said: Mapping[int, str]) -> None:
    """Draw probabilities of the last likely classes, or of each symbol until its end."""
    last, apart = len(shares), _LINE * 1.1 * axes.figure.dpi / axes.bbox.height  # from name to name
    ends = sorted(said) or [last - 1]
    for first, end in zip([0, *(end + 1 for end in ends)], ends, strict=False):
        order = [labels.index(said[end])] if said else shares[end].argsort(descending=True)[:_CLASSES].tolist()
        height = 2.0  # of the name above
        for rank, label in enumerate(order):
            height = min(float(shares[end, label]), height - apart)
            steps, line = range(first + 1, end + 2), shares[first : end + 1, label]
            width, colour = (1.8, INK) if not rank else (1.0, FAINT)
            axes.plot(steps, line, color=colour, linewidth=width, marker="o", markersize=3)
            axes.text(end + 1 + 0.02 * last + 0.05, height, plain(labels[label]), va="center", fontsize=8)
    every = -(-last // 10)
    axes.set(xlim=(0.5, last + 0.5), ylim=(-0.05, 1.05), xticks=range(1, last + 1, every))
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    name_axes(axes, f"glimpse → (probability of {'the next symbol' if said else 'the likeliest classes'})", "")
    axes.xaxis.label.set_fontsize(8)


def _animation(pixels: Tensor, boxes: Sequence[Glimpse]) -> bytes:
    """Animate the eye: an image a glimpse, dark outside of its finest patch."""
    from PIL import Image, ImageDraw

    height, width = pixels.shape[:2]
    factor = max(1, round(240 / max(height, width)))
    bright = Image.fromarray((pixels * 255).round().to(torch.uint8).numpy())
    whole = bright.resize((width * factor, height * factor), Image.Resampling.NEAREST)
    dark, frames = Image.blend(whole, Image.new("RGB", whole.size), 0.55), []
    middles = [((x + side / 2) * factor, (y + side / 2) * factor) for (x, y, side), *_ in boxes]
    for number, glimpse in enumerate(boxes):
        frame = dark.copy()
        left, top, side = (round(value * factor) for value in glimpse[0])
        frame.paste(whole.crop((left, top, left + side, top + side)), (left, top))
        pen = ImageDraw.Draw(frame)
        if number:
            pen.line(middles[: number + 1], fill=_PATH, width=2)
        for scale, (x, y, size) in enumerate(glimpse):
            far = max(0.0, size * factor - 1)
            corners = (x * factor, y * factor, x * factor + far, y * factor + far)
            pen.rectangle(corners, outline=_COLOURS[scale % len(_COLOURS)], width=1 if scale else 2)
        frames.append(frame)
    return animated(frames)
