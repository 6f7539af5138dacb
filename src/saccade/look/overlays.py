"""An image with maps laid over it, a panel each: what positions attend to, or where a class is found; PNG, SVG, GIF."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ArgumentError, ShapeError
from saccade.look.animation import word_by_word
from saccade.look.drawing import full_scale, numbers, write_picture
from saccade.look.labels import plain
from saccade.look.panels import CMAP, Box, Position, boxed, draw_panel, show_pixels, upsampled
from saccade.look.pictures import DOTS, FAINT, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MOST_PANELS", "overlays"]

MOST_PANELS = 100
"""Maps of one picture, at most."""

_PANEL, _GAP, _CAPTION, _SCALE = 1.9, 0.15, 0.28, 0.5  # inches: a panel, between two, a line above it, the colours' bar
_COLUMNS = 5
_FINEST = 600  # pixels of the longer side that are drawn
_CAPTION_LENGTH = 28  # characters
_TITLE_LINES = 2


def overlays(
    image: Tensor,
    maps: Tensor,
    path: str | Path,
    *,
    captions: Sequence[str],
    marks: Sequence[Position | None] | None = None,
    boxes: Sequence[Box | None] | None = None,
    smooth: bool = False,
    title: str | None = None,
    even: float = 0.0,
    animated: bool = False,
    json: bool = False,
) -> list[Path]:
    """Draw an image, and beside it the image in grey once for each map, which lies over it in colour.

    All maps share one scale of colours, from 0 to 1, or to the largest number where none is above a half or one is
    above 1, but at the least to four times an even share. What a map has for a cell
    is seen over the cell's part of the image.

    Args:
        image: `(channels, height, width)`, 1 channel or 3, in [0, 1], or uint8.
        maps: `(panels, rows, columns)`, finite, at least 0.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        captions: a line above each map.
        marks: for each map the row and column of a cell that is framed, such as the position that attends; None for
            none.
        boxes: for each map a part of the image that is framed in the place of a cell, as shares of it; None for none.
        smooth: whether a map is brought to the image's size smoothly; else a cell covers its part of the image.
        title: a line above the picture.
        even: what each number of a map would be if all were alike, such as 1 where they are in times of that; 0 for
            numbers that are no shares.
        animated: whether a GIF is written beside it that shows one map after another, the captions as the words of a
            sentence.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG and the SVG, of the GIF and of the JSON if they are wanted.

    Raises:
        ShapeError: if the shapes are others, or captions or marks are not one a map.
        ArgumentError: if there is no pixel, no map or more than 100, numbers that are negative or not finite, or a mark
            outside its map.
        OSError: if the files cannot be written.

    Source:
        Zhang et al. 2019, "Self-Attention Generative Adversarial Networks", figure 5: query positions and what they
        attend to; Selvaraju et al. 2017, figure 1.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = overlays(torch.rand(3, 8, 8), torch.rand(1, 4, 4), f"{folder}/cat", captions=["head 1"])
        >>> [path.name for path in paths]
        ['cat.png', 'cat.svg']
    """
    pixels, values, marks = _checked(image, maps, captions, marks)
    heading, names = plain(title or ""), [_cut(plain(caption), _CAPTION_LENGTH) for caption in captions]
    frames = boxed(boxes, len(values)) if boxes is not None else [_frame(mark, values.shape[1:]) for mark in marks]
    drawn = upsampled(values, (pixels.shape[0], pixels.shape[1])) if smooth else values
    darkest = full_scale(float(values.max()), even, math.inf)
    more = {} if boxes is None else {"boxes": frames}
    return write_picture(
        path,
        lambda: _figure(pixels, drawn, names, frames, heading, darkest),
        title=heading or "Maps over an image",
        story=_story(values, names, marks),
        behind=numbers(heading, captions, [], values, marks=marks, darkest=darkest, **more) if json else None,
        pages={".gif": lambda: word_by_word(pixels, drawn, names, frames, darkest)} if animated else None,
    )


def _checked(
    image: Tensor, maps: Tensor, captions: Sequence[str], marks: Sequence[Position | None] | None
) -> tuple[Tensor, Tensor, list[Position | None]]:
    """The image as `(height, width, 3)` in [0, 1], the maps, and a mark or none for each."""
    places: list[Position | None] = [None] * len(maps) if marks is None else list(marks)
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        raise ShapeError(f"image: expected shape (1 or 3, height, width), got {tuple(image.shape)}")
    if maps.ndim != 3 or not len(maps) == len(captions) == len(places):
        counts = f"{len(captions)} captions and {len(places)} marks"
        raise ShapeError(f"maps: expected shape ({len(captions)}, rows, columns), got {tuple(maps.shape)}, {counts}")
    if not image.numel() or not maps.numel() or len(maps) > MOST_PANELS:
        got = f"{tuple(image.shape)} and {tuple(maps.shape)}"
        raise ArgumentError(f"image, maps: expected pixels, and from 1 to {MOST_PANELS} maps, got {got}")
    pixels = (image.detach().cpu().double() / (1 if image.is_floating_point() else 255)).expand(3, -1, -1)
    values = maps.detach().to("cpu", torch.float64)
    if not bool((values.isfinite() & (values >= 0)).all()) or not bool(pixels.isfinite().all()):
        raise ArgumentError("maps: expected finite numbers of at least 0, and finite pixels, got others")
    rows, columns = values.shape[1:]
    for place in places:
        if place is not None and not (0 <= place[0] < rows and 0 <= place[1] < columns):
            raise ArgumentError(f"marks: expected a row and a column of a map {rows} × {columns}, got {place}")
    return _reduced(pixels.clamp(0, 1)).permute(1, 2, 0), values, places


def _frame(mark: Position | None, shape: Sequence[int]) -> Box | None:
    if mark is None:
        return None
    rows, columns = shape
    return mark[1] / columns, mark[0] / rows, (mark[1] + 1) / columns, (mark[0] + 1) / rows


def _reduced(pixels: Tensor) -> Tensor:
    """An image of no more pixels than are drawn."""
    height, width = pixels.shape[1:]
    share = _FINEST / max(height, width)
    if share >= 1:
        return pixels
    size = max(1, round(height * share)), max(1, round(width * share))
    return F.interpolate(pixels[None], size, mode="area")[0]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _lines(text: str, most: int) -> str:
    return "\n".join(textwrap.wrap(text, most, max_lines=_TITLE_LINES, placeholder="…"))


def _figure(
    pixels: Tensor,
    values: Tensor,
    names: Sequence[str],
    frames: Sequence[Box | None],
    title: str,
    top: float,
) -> "Figure":
    """The whole picture, laid out in inches: the image, then the maps in rows, and the scale of colours."""
    from matplotlib.figure import Figure

    high, wide = _sides(pixels.shape[0], pixels.shape[1])
    columns = min(_COLUMNS, 1 + len(values))
    lines = math.ceil((1 + len(values)) / columns)
    width, height = columns * (wide + _GAP) + _SCALE, lines * (high + _CAPTION + _GAP)
    figure = Figure(figsize=(width, height), dpi=DOTS)
    style: dict[str, Any] = {"family": families("".join([*names, title, "0.5…"])), "parse_math": False, "color": INK}
    drawn = None
    for number in range(1 + len(values)):
        line, column = divmod(number, columns)
        left, bottom = column * (wide + _GAP), height - line * (high + _CAPTION + _GAP) - _CAPTION - high
        axes = figure.add_axes((left / width, bottom / height, wide / width, high / height))
        if number:
            drawn = draw_panel(axes, pixels, values[number - 1], top, frames[number - 1])
            axes.set_title(names[number - 1], fontsize=8, pad=3, **style)
        else:
            show_pixels(axes, pixels)
    assert drawn is not None, "there is a map"
    _scale(figure, drawn, (columns * (wide + _GAP) / width, (height - _CAPTION - high) / height, high / height), style)
    if title:
        figure.text(0, 1 - 0.1 / height, _lines(title, int(14 * width)), ha="left", va="bottom", fontsize=11, **style)
    return figure


def _sides(height: int, width: int) -> tuple[float, float]:
    """A panel's height and width in inches; of a very long image no side is below a fifth of the other."""
    high, wide = (max(0.2, min(1.0, side / other)) for side, other in ((height, width), (width, height)))
    return _PANEL * high, _PANEL * wide


def _scale(figure: "Figure", drawn: Any, place: tuple[float, float, float], style: dict[str, Any]) -> None:
    """The colours' meaning, at the right of the first row."""
    from matplotlib.cm import ScalarMappable

    left, bottom, high = place
    axes = figure.add_axes((left, bottom, 0.1 / figure.get_figwidth(), high))
    bar = figure.colorbar(ScalarMappable(drawn.norm, CMAP), cax=axes)
    bar.outline.set(edgecolor=FAINT, linewidth=0.5)
    axes.tick_params(length=2, width=0.5, labelsize=7, color=FAINT, labelcolor=style["color"])
    top = drawn.norm.vmax
    ticks = [tick for tick in axes.get_yticks() if 0 <= tick <= top]  # one beyond it would stretch the bar
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], family=style["family"])


def _story(values: Tensor, names: Sequence[str], marks: Sequence[Position | None]) -> str:
    """What the picture shows, in words: the largest number of each map, and where it is."""
    said = []
    for name, matrix, mark in zip(names, values, marks, strict=True):
        row, column = divmod(int(matrix.argmax()), matrix.shape[1])
        at = "" if mark is None else f" from row {mark[0] + 1}, column {mark[1] + 1}"
        said.append(f"{name}{at}: most at row {row + 1}, column {column + 1} ({float(matrix.max()):.2f})")
    return "; ".join(said)
