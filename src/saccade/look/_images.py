"""Images under maps of numbers, drawn in panels, and animations of them."""

import textwrap
import unicodedata
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ArgumentError, ShapeError
from saccade.look._figure import MOST_PANELS, Page, not_drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from PIL.Image import Image

Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a part, as shares of the image."""

_PANEL, _GAP, _CAPTION = 1.9, 0.15, 0.28  # inches: a panel's longer side, between two, a line above it
_COLUMNS = 5
_SLIM = 0.2  # the shorter side of a panel at the least, of the longer
_FINEST = 600  # pixels of the longer side that are drawn
_CRISP = 100  # pixels of the longer side up to which every one is a square
_BRIGHT = 0.4  # grey of a black pixel under a map
_MARK = "#0a7cff"
#: From nothing to opaque red: the more of it, the larger a number.
_HEAT = ((1.0, 0.88, 0.3, 0.0), (1.0, 0.72, 0.15, 0.55), (0.98, 0.4, 0.05, 0.8), (0.85, 0.05, 0.1, 0.92))
_PAUSE, _REST = 700, 2000  # milliseconds that a picture of an animation is shown, and the last
_SIDE, _LEAST = 3.0, 2.0  # inches of an animation: the image's longer side, the width at the least
_TOP, _LINE, _LINES, _EDGE = 0.3, 0.19, 3, 0.08  # inches above it, of a line below; how many lines; inches around
_LETTERS = 14  # an inch


def pixels_of(image: Tensor, finest: int = _FINEST) -> Tensor:
    """Return an image as `(height, width, 3)` in [0, 1], reduced to the drawn size.

    Args:
        image: `(channels, height, width)`, 1 channel or 3, in [0, 1], or uint8.
        finest: pixels of the longer side.

    Raises:
        ShapeError: another shape.
        ArgumentError: no pixels, or pixels that are not finite.
    """
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        raise ShapeError(f"image: expected shape (1 or 3, height, width), got {tuple(image.shape)}")
    pixels = (image.detach().cpu().double() / (1 if image.is_floating_point() else 255)).expand(3, -1, -1)
    if not pixels.numel() or not bool(pixels.isfinite().all()):
        raise ArgumentError(f"image: expected finite pixels, got {'others' if pixels.numel() else 'none'}")
    share = finest / max(pixels.shape[1:])
    if share < 1:
        size = [max(1, round(side * share)) for side in pixels.shape[1:]]
        pixels = F.interpolate(pixels[None], size, mode="area")[0]
    return pixels.clamp(0, 1).permute(1, 2, 0)


def boxed(boxes: Sequence[Box | None] | None, count: int) -> list[Box | None]:
    """Return a box or None for each of several maps.

    Raises:
        ShapeError: more boxes, or fewer.
        ArgumentError: a box that is not a part of an image.
    """
    framed: list[Box | None] = [None] * count if boxes is None else list(boxes)
    if len(framed) != count:
        raise ShapeError(f"boxes: expected a box or None for each of {count} maps, got {len(framed)}")
    for box in framed:
        if box is not None and not (0 <= box[0] <= box[2] <= 1 and 0 <= box[1] <= box[3] <= 1):
            raise ArgumentError(f"boxes: expected left, top, right and bottom as shares of the image, got {box}")
    return framed


def upsampled(values: Tensor, size: tuple[int, int]) -> Tensor:
    """Return maps `(panels, rows, columns)` smoothly enlarged, as in Xu et al. 2015.

    >>> upsampled(torch.tensor([[[0.0, 1.0]]]), (1, 4))
    tensor([[[0.0000, 0.2500, 0.7500, 1.0000]]])
    """
    return F.interpolate(values[None], size, mode="bilinear", align_corners=False)[0] if len(values) else values


def draw_panels(
    page: Page, pixels: Tensor, maps: Tensor, names: Sequence[str], boxes: Sequence[Box | None], top: float, scale: str
) -> tuple[float, str]:
    """Draw an image, and beside it the image under the first maps, with a colour bar.

    Args:
        page: they stand at its top.
        pixels: `(height, width, 3)` in [0, 1].
        maps: `(panels, rows, columns)`, at least 0.
        names: a line above each.
        boxes: for each the part that is framed; None for none.
        top: upper end of the colour scale.
        scale: name of the numbers.

    Returns:
        The height of the panels in inches, and a line about those that are not drawn.
    """
    high, wide = _sides(pixels, _PANEL)
    count = min(len(maps), MOST_PANELS)
    columns = min(_COLUMNS, 1 + count)
    for panel in range(1 + count):
        line, column = divmod(panel, columns)
        corner = column * (wide + _GAP), _CAPTION + line * (high + _CAPTION + _GAP)
        axes = page.axes(*corner, wide, high, ticks=False)
        if panel:
            draw_map(axes, pixels, maps[panel - 1], top, boxes[panel - 1])
            axes.set_title(names[panel - 1], fontsize=8, pad=3)
        else:
            show_pixels(axes, pixels)
    if count:
        page.colour_bar(scale, heat(), (0.0, top), columns * (wide + _GAP), _CAPTION, high)
    return -(-(1 + count) // columns) * (high + _CAPTION + _GAP), not_drawn(names, "maps")


def _sides(pixels: Tensor, longest: float) -> tuple[float, float]:
    height, width = pixels.shape[:2]
    return longest * max(_SLIM, min(1.0, height / width)), longest * max(_SLIM, min(1.0, width / height))


def heat() -> "Colormap":
    """Return the colours of maps over images."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("heat", _HEAT)


def show_pixels(axes: "Axes", pixels: Tensor) -> None:
    """Draw an image `(height, width, 3)` in [0, 1]."""
    height, width = pixels.shape[:2]
    method = "nearest" if max(height, width) <= _CRISP else "antialiased"
    axes.imshow(pixels.numpy(), extent=(0, width, height, 0), interpolation=method, aspect="auto")
    axes.set(xlim=(0, width), ylim=(height, 0))


def draw_map(axes: "Axes", pixels: Tensor, values: Tensor, top: float, box: Box | None) -> None:
    """Draw an image in grey, a map `(rows, columns)` over it, and the edges of a part."""
    from matplotlib.patches import Rectangle

    height, width = pixels.shape[:2]
    grey = pixels @ torch.tensor([0.299, 0.587, 0.114], dtype=pixels.dtype)
    show_pixels(axes, (_BRIGHT + (1 - _BRIGHT) * grey)[..., None].expand(-1, -1, 3))
    axes.imshow(
        values.numpy(), cmap=heat(), vmin=0, vmax=top, extent=(0, width, height, 0), interpolation="nearest",
        aspect="auto",
    )  # fmt: skip
    if box is not None:
        left, upper, right, lower = box
        corner, size = (left * width, upper * height), ((right - left) * width, (lower - upper) * height)
        axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=_MARK, linewidth=1.5))


def animated(pictures: Sequence["Image"]) -> bytes:
    """Return pictures of one size as a GIF that begins anew after the last.

    >>> from PIL import Image
    >>> animated([Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")])[:6]
    b'GIF89a'
    """
    file, pauses = BytesIO(), [_PAUSE] * (len(pictures) - 1) + [_REST]
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=pauses, loop=0)
    return file.getvalue()


def word_by_word(pixels: Tensor, maps: Tensor, words: Sequence[str], boxes: Sequence[Box | None], top: float) -> bytes:
    """Return a GIF: an image under the maps of the words, one after another.

    Args:
        pixels, boxes, top: as of `draw_panels`.
        maps: one for each word, `(words, rows, columns)`, at least 0.
        words: in their order.

    Source:
        Xu et al. 2015, "Show, Attend and Tell", figure 2.
    """
    from matplotlib.transforms import Bbox
    from PIL import Image

    high, wide = _sides(pixels, _SIDE)
    broad, pictures = max(_LEAST, wide), []
    tall = _TOP + high + _LINE * _LINES + _EDGE
    for number, word in enumerate(words, 1):
        page, file = Page([*words, "/"]), BytesIO()
        axes = page.axes((broad - wide) / 2, _TOP, wide, high, ticks=False)
        draw_map(axes, pixels, maps[number - 1], top, boxes[number - 1])
        page.write(0, 0, word, 12, va="top")
        # with its number, no picture is the one before it, which a GIF would show as one
        page.write(broad, 0, f"{number}/{len(words)}", 8, ha="right", va="top")
        page.write(0, _TOP + high + _EDGE, _last_lines(words[:number], broad), 9, va="top")
        frame = Bbox([[-_EDGE, 1 - tall], [broad + _EDGE, 1 + _EDGE]])
        page.figure.savefig(file, format="png", dpi=100, bbox_inches=frame)
        pictures.append(Image.open(file).convert("RGB"))
    return animated(pictures)


def _last_lines(words: Sequence[str], inches: float) -> str:
    """Words in lines of a width, of many lines the last."""
    text = " ".join(word.strip() for word in words)
    wide = any(unicodedata.east_asian_width(character) in "WF" for character in text)
    lines = textwrap.wrap(text, int(inches * _LETTERS / (2 if wide else 1)))
    return "\n".join(lines if len(lines) <= _LINES else [f"… {lines[-_LINES]}", *lines[1 - _LINES :]])
