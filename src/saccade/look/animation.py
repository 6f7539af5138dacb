"""Pictures one after another, as an animated GIF: among them an image under what was looked at, word by word."""

import textwrap
import unicodedata
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from saccade.look.panels import Box, draw_panel
from saccade.look.pictures import INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

__all__ = ["animated", "word_by_word"]

_PAUSE, _REST = 700, 2000  # milliseconds that a picture is shown, and the last
_DOTS = 100  # an inch
_EDGE = 0.08  # inches around what is drawn
_SIDE, _LEAST, _SHORTEST = 3.0, 2.0, 0.2  # inches: the image's longer side, the width at the least, a side at the least
_TOP, _LINE, _LINES = 0.3, 0.19, 3  # inches above the image, and of a line of words below; how many lines there are
_LETTERS = 14  # an inch


def animated(pictures: Sequence["Image"]) -> bytes:
    """Return pictures of one size as a GIF that begins anew after the last.

    >>> from PIL import Image
    >>> animated([Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")])[:6]
    b'GIF89a'
    """
    file, pauses = BytesIO(), [_PAUSE] * (len(pictures) - 1) + [_REST]
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=pauses, loop=0)
    return file.getvalue()


def word_by_word(
    pixels: Tensor, values: Tensor, words: Sequence[str], frames: Sequence[Box | None], top: float
) -> bytes:
    """Return an animated GIF: an image under the map of one word after another, each with its word and those so far.

    Args:
        pixels: `(height, width, 3)` in [0, 1].
        values: a map for each word, `(words, rows, columns)`, at least 0.
        words: as they were written.
        frames: for each word the part that is framed; None for none.
        top: the number that is drawn brightest.

    Source:
        Xu et al. 2015, "Show, Attend and Tell", figure 2.
    """
    height, width = pixels.shape[:2]
    high, wide = (_SIDE * max(_SHORTEST, min(1.0, side / other)) for side, other in ((height, width), (width, height)))
    broad, tall = max(_LEAST, wide) + 2 * _EDGE, _TOP + high + _LINE * _LINES + 2 * _EDGE
    place = ((broad - wide) / 2 / broad, 1 - (_TOP + high) / tall, wide / broad, high / tall)
    style: dict[str, Any] = {"family": families("".join([*words, "0123456789/…"])), "parse_math": False, "color": INK}
    above, pictures = 1 - _EDGE / tall, []
    for number, word in enumerate(words, 1):
        figure = _blank(broad, tall)
        draw_panel(figure.add_axes(place), pixels, values[number - 1], top, frames[number - 1])
        figure.text(_EDGE / broad, above, word, ha="left", va="top", fontsize=12, **style)
        # with its number, no picture is the one before it, which a GIF would show as one
        figure.text(1 - _EDGE / broad, above, f"{number}/{len(words)}", ha="right", va="top", fontsize=8, **style)
        so_far = _last_lines(words[:number], broad - 2 * _EDGE)
        figure.text(_EDGE / broad, place[1] - _EDGE / tall, so_far, ha="left", va="top", fontsize=9, **style)
        pictures.append(_picture(figure))
    return animated(pictures)


def _last_lines(words: Sequence[str], inches: float) -> str:
    """Words in lines of a width, of many lines the last."""
    text = " ".join(word.strip() for word in words)
    wide = any(unicodedata.east_asian_width(character) in "WF" for character in text)
    lines = textwrap.wrap(text, int(inches * _LETTERS / (2 if wide else 1)))
    return "\n".join(lines if len(lines) <= _LINES else [f"… {lines[-_LINES]}", *lines[1 - _LINES :]])


def _blank(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=_DOTS)


def _picture(figure: "Figure") -> "Image":
    """A figure as pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
