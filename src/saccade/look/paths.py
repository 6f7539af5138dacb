"""Where an eye went over an image, what it saw there, and what it made of that: PNG, SVG and an animated GIF."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ArgumentError, ShapeError
from saccade.look.animation import animated
from saccade.look.drawing import numbers, write_picture
from saccade.look.labels import plain
from saccade.look.pictures import DOTS, FAINT, INK
from saccade.look.typefaces import families
from saccade.nn import Retina

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST", "path_pictures"]

_IMAGE, _PATCH, _GAP, _TOP = 3.6, 0.9, 0.08, 0.35  # inches: the image's longer side, a patch's, between two, above
MOST = 100
"""Glimpses that are drawn."""
_SHOWN, _LINE = 3, 0.14  # classes whose probabilities are drawn, and inches from name to name
_SHORT = 3  # glimpses beside which the words below are longer than what they stand below
_TOLD = 4  # numbers of glimpses that are written at one place
_LARGEST = 960  # pixels of the longer side of an image as it is drawn
_COLOURS = ("#ffb000", "#35e0ff", "#ff4fa3", "#8dff6a")  # of scales, the finest first


def path_pictures(
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
    """Draw an image with the places that an eye looked at in their order and the boxes of every scale, what it saw at
    each, and how probable the likeliest classes were after each.

    Args:
        image: `(channels, height, width)`, 1 channel or 3, uint8.
        location: `(glimpses, 2)`: x and y, from −1 to 1.
        sides: pixels of the image that each scale covers from side to side, each twice the one before.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        probabilities: of the classes after each glimpse, `(glimpses, classes)`.
        labels: of the classes.
        title: a line above the picture.
        said: where a string of classes was said one after another, each by the place of the glimpse after which.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG, the SVG, the animation (GIF), and of the JSON if it is wanted.

    Raises:
        ShapeError: if the shapes do not fit each other.
        ArgumentError: if there is no glimpse or more than 100.
        OSError: if the files cannot be written.

    Source:
        Mnih et al. 2014, figure 2 and 3.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> image, even = torch.zeros(1, 8, 8, dtype=torch.uint8), torch.full((2, 2), 0.5)
        >>> with TemporaryDirectory() as folder:
        ...     found = path_pictures(image, torch.zeros(2, 2), [4], f"{folder}/a", probabilities=even, labels="xy")
        >>> [path.name for path in found]
        ['a.png', 'a.svg', 'a.gif']
    """
    _check(image, location, sides, probabilities, labels)
    places, shares = location.detach().cpu().double(), probabilities.detach().cpu().double()
    pixels = image.cpu().double() / 255
    patches = Retina(sides[0], len(sides))(pixels[None], places[None])[0]
    heading, told = plain(title or ""), said or {}
    shown = _reduced(pixels)
    scale = max(shown.shape[1:]) / max(pixels.shape[1:])
    boxes = _boxes(places, [side * scale for side in sides], *shown.shape[1:])
    names = [f"glimpse {number}" for number in range(1, len(places) + 1)]
    return write_picture(
        path,
        lambda: _figure(shown, boxes, patches, shares, labels, told, heading),
        title=heading or "The path of an eye",
        story=plain(_story(places, shares, labels, told)),
        behind=numbers(heading, names, labels, shares, darkest=1.0, location=places.tolist(), sides=list(sides))
        if json
        else None,
        pages={".gif": lambda: _animation(shown, boxes)},
    )


def _check(image: Tensor, location: Tensor, sides: Sequence[int], probabilities: Tensor, labels: Sequence[str]) -> None:
    if image.ndim != 3 or image.shape[0] not in (1, 3) or image.dtype != torch.uint8:
        got = f"{tuple(image.shape)}, {image.dtype}"
        raise ShapeError(f"image: expected shape (1 or 3, height, width), uint8, got {got}")
    if location.ndim != 2 or location.shape[1] != 2 or not sides:
        expected = "(glimpses, 2), and a side of each scale"
        raise ShapeError(f"location: expected shape {expected}, got {tuple(location.shape)} and {len(sides)} sides")
    if probabilities.shape != (len(location), len(labels)):
        shape = (len(location), len(labels))
        raise ShapeError(f"probabilities: expected shape {shape}, got {tuple(probabilities.shape)}")
    if not 1 <= len(location) <= MOST:
        raise ArgumentError(f"location: expected from 1 to {MOST} glimpses, got {len(location)}")


def _reduced(pixels: Tensor) -> Tensor:
    """An image of at most so many pixels a side as can be told apart, each the mean of those that it covers."""
    factor = _LARGEST / max(pixels.shape[1:])
    if factor >= 1:
        return pixels
    return F.interpolate(pixels[None], [max(1, round(side * factor)) for side in pixels.shape[1:]], mode="area")[0]


def _boxes(places: Tensor, sides: Sequence[float], height: int, width: int) -> list[list[tuple[float, float, float]]]:
    """For each glimpse, left and top of every scale's patch, in pixels, and its side."""
    middles = ((places + 1) / 2 * torch.tensor([width, height], dtype=places.dtype)).tolist()
    return [[(x - side / 2, y - side / 2, side) for side in sides] for x, y in middles]


def _figure(
    pixels: Tensor,
    boxes: list[list[tuple[float, float, float]]],
    patches: Tensor,
    shares: Tensor,
    labels: Sequence[str],
    said: Mapping[int, str],
    title: str,
) -> "Figure":
    """The image with its path at the left; at the right a column a glimpse: its patches, and the classes below."""
    from matplotlib.figure import Figure

    count, scales = patches.shape[:2]
    high, wide = (_IMAGE * side / max(pixels.shape[1:]) for side in pixels.shape[1:])
    strip = count * (_PATCH + _GAP)
    height = max(high, scales * (_PATCH + _GAP) + 1.5) + _TOP
    width = wide + 0.7 + strip
    figure = Figure(figsize=(width, height), dpi=DOTS)
    family = families(plain("".join([*labels, title, "0.5…"])))
    style: dict[str, Any] = {"family": family, "parse_math": False, "color": INK}
    axes = figure.add_axes((0, (height - _TOP - high) / height, wide / width, high / height))
    _show(axes, pixels)
    _draw_path(axes, boxes, style)
    for number in range(count):
        for scale in range(scales):
            left = wide + 0.7 + number * (_PATCH + _GAP)
            bottom = height - _TOP - (scale + 1) * (_PATCH + _GAP)
            small = figure.add_axes((left / width, bottom / height, _PATCH / width, _PATCH / height))
            _show(small, patches[number, scale])
            small.spines[:].set(color=_COLOURS[scale % len(_COLOURS)], linewidth=1.5)
            if scale == 0:
                heard = f": {plain(said[number])}" if number in said else ""
                small.set_title(f"{number + 1}{heard}", fontsize=9, pad=2, **style)
    below = height - _TOP - scales * (_PATCH + _GAP)
    place = ((wide + 0.7) / width, 0.25 / height, strip / width, (below - 0.45) / height)
    _draw_classes(figure.add_axes(place), shares, labels, said, style)
    if title:
        figure.text(0, 1, title[: int(14 * width)], ha="left", va="top", fontsize=11, **style)
    return figure


def _show(axes: "Axes", pixels: Tensor) -> None:
    height, width = pixels.shape[1:]
    shown = pixels.expand(3, -1, -1).permute(1, 2, 0).numpy()
    axes.imshow(shown, extent=(0, width, height, 0), interpolation="nearest", aspect="auto")
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[])
    axes.spines[:].set(color=FAINT, linewidth=0.5)


def _draw_path(axes: "Axes", boxes: list[list[tuple[float, float, float]]], style: dict[str, Any]) -> None:
    """The boxes of all scales at every place, a line from place to place, and their numbers."""
    from matplotlib.patches import Rectangle

    (_, width), (height, _) = axes.get_xlim(), axes.get_ylim()
    middles = [  # that of a tile at the edge may lie outside of the image
        (min(max(left + side / 2, 0), width), min(max(top + side / 2, 0), height)) for (left, top, side), *_ in boxes
    ]
    for number, glimpse in enumerate(boxes):
        alpha = 0.35 + 0.65 * (number + 1) / len(boxes)
        for scale, (left, top, side) in enumerate(glimpse):
            colour, thick = _COLOURS[scale % len(_COLOURS)], 1.6 if scale == 0 else 0.8
            box = Rectangle((left, top), side, side, fill=False, edgecolor=colour, linewidth=thick, alpha=alpha)
            axes.add_patch(box)
    axes.plot(*zip(*middles, strict=True), color="#ffffff", linewidth=2.6, alpha=0.8)
    axes.plot(*zip(*middles, strict=True), color="#d7263d", linewidth=1.3)
    for (x, y), at in _visits(middles).items():
        shape = "circle,pad=0.2" if at.isdecimal() else "round,pad=0.3"
        look = {"facecolor": "#d7263d", "edgecolor": "#ffffff", "boxstyle": shape, "linewidth": 0.8}
        axes.text(x, y, at, ha="center", va="center", fontsize=8, bbox=look, **{**style, "color": "#ffffff"})


def _visits(middles: Sequence[tuple[float, float]]) -> dict[tuple[float, float], str]:
    """The numbers of the glimpses at each place, several where an eye came back to the same one: of many the first and
    the last.
    """
    found: dict[tuple[float, float], list[str]] = {}
    for number, place in enumerate(middles, 1):
        found.setdefault(place, []).append(str(number))
    return {
        place: ", ".join(every if len(every) <= _TOLD else [*every[: _TOLD - 2], "…", every[-1]])
        for place, every in found.items()
    }


def _draw_classes(
    axes: "Axes", shares: Tensor, labels: Sequence[str], said: Mapping[int, str], style: dict[str, Any]
) -> None:
    """How probable the classes were that are likeliest in the end; or each that was said, until then."""
    ends = [len(shares) - 1] if not said else sorted(said)
    axes.set(xlim=(0, len(shares)), ylim=(-0.05, 1.05), xticks=[])
    for first, last in zip([0, *(end + 1 for end in ends)], ends, strict=False):
        order = shares[last].argsort(descending=True)[:_SHOWN].tolist()
        if said:
            order = [labels.index(said[last])]
        _draw_lines(axes, shares, labels, order, first, last, style)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"], family=style["family"], fontsize=7, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set(color=FAINT, linewidth=0.5)
    shown = "what was said next" if said else "the likeliest classes"
    where: Literal["left", "center"] = "left" if len(shares) <= _SHORT else "center"
    axes.set_xlabel(f"probability of {shown} after each glimpse", fontsize=8, loc=where, **style)


def _draw_lines(
    axes: "Axes",
    shares: Tensor,
    labels: Sequence[str],
    order: Sequence[int],
    first: int,
    last: int,
    style: dict[str, Any],
) -> None:
    """Lines of some classes from one glimpse to another, each with its name at the end."""
    steps = [number + 0.5 for number in range(first, last + 1)]
    above = 2.0  # where the name over this one stands
    inches = axes.get_window_extent().height / axes.figure.dpi
    apart = _LINE * (axes.get_ylim()[1] - axes.get_ylim()[0]) / inches
    for place, label in enumerate(order):
        above = min(float(shares[last, label]), above - apart)
        colour, strength = INK if place == 0 else FAINT, 1.8 if place == 0 else 1.0
        line = shares[first : last + 1, label].numpy()
        axes.plot(steps, line, color=colour, linewidth=strength, marker="o", markersize=3)
        axes.text(last + 1.05, above, plain(labels[label]), va="center", fontsize=8, **style)


def _animation(pixels: Tensor, boxes: list[list[tuple[float, float, float]]]) -> bytes:
    """The eye going from place to place: an image a glimpse, dark outside of its finest patch."""
    from PIL import Image, ImageDraw

    height, width = pixels.shape[1:]
    factor = max(1, round(240 / max(height, width)))
    bright = (pixels.expand(3, -1, -1).permute(1, 2, 0) * 255).round().to(torch.uint8).numpy()
    whole = Image.fromarray(bright).resize((width * factor, height * factor), Image.Resampling.NEAREST)
    dark, frames = Image.blend(whole, Image.new("RGB", whole.size), 0.55), []
    for number, glimpse in enumerate(boxes):
        frame = dark.copy()
        left, top, side = (round(value * factor) for value in glimpse[0])
        inside = (max(0, left), max(0, top), min(whole.width, left + side), min(whole.height, top + side))
        if inside[0] < inside[2] and inside[1] < inside[3]:
            frame.paste(whole.crop(inside), inside[:2])
        pen = ImageDraw.Draw(frame)
        middles = [((x + s / 2) * factor, (y + s / 2) * factor) for x, y, s in (one[0] for one in boxes[: number + 1])]
        if len(middles) > 1:
            pen.line(middles, fill="#d7263d", width=2)
        for scale, (x, y, size) in enumerate(glimpse):
            reach = max(0.0, size * factor - 1)
            corners = (x * factor, y * factor, x * factor + reach, y * factor + reach)
            pen.rectangle(corners, outline=_COLOURS[scale % len(_COLOURS)], width=2 if scale == 0 else 1)
        frames.append(frame)
    return animated(frames)


def _story(places: Tensor, shares: Tensor, labels: Sequence[str], said: Mapping[int, str]) -> str:
    """What the picture shows, in words."""
    heard = {number + 1: f", says {symbol}" for number, symbol in said.items()}
    best, which = shares.max(-1)
    rows = zip(places.tolist(), best.tolist(), which.tolist(), strict=True)
    return "; ".join(
        f"glimpse {number} at x {x:.2f}, y {y:.2f}: {labels[label]} ({share:.2f}){heard.get(number, '')}"
        for number, ((x, y), share, label) in enumerate(rows, 1)
    )
