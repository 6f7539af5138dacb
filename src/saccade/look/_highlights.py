"""A text with its words coloured by numbers: PNG, SVG and HTML."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from saccade.errors import ShapeError
from saccade.look._figure import (
    BOTH,
    COLOURS,
    FAINT,
    INK,
    Page,
    checked,
    draw_picture,
    full_scale,
    numbers,
    ramp,
    shortened,
)
from saccade.look._labels import plain, right_to_left

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE, _LINE, _GAP, _EDGE = 7.6, 0.46, 0.1, 0.05  # inches: a line of words, its height, between words, around a word
_NAME, _BAR = 0.3, 2.2  # inches: a line above a row, and the colour bar
_SIZE = 12.0  # points
_NEAR = 0.01  # how far from 1 the sum of shares may be, in half precision
_LEAST = 0.005  # the smallest number that is written
_LONG = 40  # words: a longer text has numbers only below words with more than an even share
_MARK = "#b5771d"  # an even share


@dataclass(frozen=True)
class _Scale:
    """Meaning of colours: the numbers at both ends, and an even share if there is one."""

    low: float
    top: float
    even: float | None

    @classmethod
    def of(cls, matrix: Tensor) -> "_Scale":
        """The scale of some rows."""
        peak = float(matrix.abs().max())
        if bool((matrix >= 0).all()) and bool(((matrix.sum(1) - 1).abs() < _NEAR).all()):
            even = 1 / matrix.shape[1]
            return cls(0.0, full_scale(peak, even), even)
        top = full_scale(peak, 0.0)
        return cls(-top if bool((matrix < 0).any()) else 0.0, top, None)

    def text(self, value: float) -> str:
        """A number with as many decimals as an even share needs."""
        fewer = 1.0 if self.even is None else self.even
        return f"{value:.{max(2, 1 + math.floor(-math.log10(fewer)))}f}"

    @property
    def note(self) -> str:
        """The even share in words, "" for numbers other than shares."""
        return "" if self.even is None else f"{self.even:.2g} if all words were alike"

    @property
    def colours(self) -> Any:
        """The colours from end to end."""
        return ramp(BOTH if self.low < 0 else COLOURS)

    def colour(self, value: float) -> Any:
        """The colour of a number."""
        return self.colours((value - self.low) / (self.top - self.low))


def highlights(
    values: Tensor,
    tokens: Sequence[str],
    path: str | Path,
    *,
    title: str = "",
    names: Sequence[str] = (),
    scale: str = "weight",
    json: bool = False,
) -> list[Path]:
    """Draw a text once for each row of numbers, larger numbers in darker words.

    Numbers above 0 are blue; numbers below 0, which speak against something, are orange. The scale ends at 1, or at the
    largest number if that is at most a half or above 1. Rows of shares (at least 0, with the sum 1) are for
    example weights of attention. Their scale ends at four even shares or more, so that equal weights are pale, and the
    colour bar marks an even share. A text in a script from right to left runs so here too.

    Args:
        values: `(rows, len(tokens))`, finite, for example the weights of each learned query.
        tokens: the words.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        title: a line above the text.
        names: a line above each row, or none.
        scale: name of the colour bar.
        json: write the numbers beside it.

    Raises:
        ShapeError: numbers that are not one a word, or names that are not one a row.
        ArgumentError: no words, or numbers that are not finite.

    Source:
        Yang et al. 2016, "Hierarchical Attention Networks for Document Classification", figures 5 and 6.

    Example:
        >>> import torch
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = highlights(torch.tensor([[0.1, 0.9]]), ["not", "good"], f"{folder}/film", title="negative")
        >>> [path.name for path in paths]
        ['film.png', 'film.svg', 'film.html']
    """
    matrix, heading = checked("values", values, ("rows", len(tokens))), plain(title)
    if names and len(names) != len(matrix):
        raise ShapeError(f"names: expected {len(matrix)}, one a row, got {len(names)}")
    rows, words, above = matrix.tolist(), [shortened(plain(token)) for token in tokens], [plain(name) for name in names]
    ends = _Scale.of(matrix)
    even = None if ends.even is None else round(ends.even, 6)
    return draw_picture(
        path,
        lambda page: _draw(page, rows, words, above, scale, ends),
        [*words, *above, scale, ends.note],
        title=heading,
        kind="Words by their numbers",
        story=_story(rows, words, above, ends),
        behind=numbers(heading, names, tokens, matrix, darkest=ends.top, even_share=even) if json else None,
        pages={".html": lambda: _html(rows, words, above, heading, ends).encode()},
    )


def _draw(
    page: Page, rows: list[list[float]], tokens: list[str], names: Sequence[str], name: str, scale: _Scale
) -> None:
    width_of = {token: page.width_of(token, _SIZE) for token in dict.fromkeys(tokens)}
    widths = [width_of[token] for token in tokens]
    starts = lines_of(widths, _WIDE)
    high = (1 + starts[-1][1]) * _LINE
    mirrored = right_to_left(" ".join(tokens))
    least = _LEAST if scale.even is None or len(tokens) <= _LONG else max(_LEAST, scale.even)
    top = 0.0
    for number, row in enumerate(rows):
        if names:
            page.write(_EDGE, top + 0.2, names[number], 9, FAINT, va="center")
            top += _NAME
        axes = page.axes(0, top, _WIDE, high, ticks=False)
        axes.set(xlim=(0, _WIDE), ylim=(high, 0))
        axes.axis("off")
        for token, value, width, (left, line) in zip(tokens, row, widths, starts, strict=True):
            left, middle = _WIDE - left - width if mirrored else left, line * _LINE + 0.2
            draw_word(axes, token, (left, middle, width), scale.colour(value), abs(value) / scale.top, _SIZE)
            if abs(value) >= least:
                small: dict[str, Any] = {"fontsize": 6.5, "color": FAINT, "ha": "center", "va": "center"}
                axes.text(left + width / 2, middle + 0.2, scale.text(value), **small)
        top += high + 0.4 * _LINE
    bar = page.colour_bar(name, scale.colours, (scale.low, scale.top), _EDGE, top, _BAR, across=True)
    if scale.even is not None and scale.even < scale.top:
        bar.axvline(scale.even, color=_MARK, linewidth=1.4)
        page.write(_EDGE + _BAR + 0.12, top + 0.05, f"│ {scale.note}", 7, _MARK, va="center")


def lines_of(widths: Sequence[float], room: float) -> list[tuple[float, int]]:
    """Return the left edge and the line of each word, for words of some widths.

    >>> lines_of([1.0, 1.0, 1.0], 2.5)
    [(0.05, 0), (1.2, 0), (0.05, 1)]
    """
    left, line, starts = _EDGE, 0, list[tuple[float, int]]()
    for width in widths:
        if left > _EDGE and left + width + _EDGE > room:
            left, line = _EDGE, line + 1
        starts.append((left, line))
        left = round(left + width + _GAP + _EDGE, 6)
    return starts


def draw_word(
    axes: "Axes", text: str, bounds: tuple[float, float, float], colour: Any, share: float, size: float
) -> None:
    """Draw a word in a box.

    Args:
        axes: in inches.
        text: the word.
        bounds: left, middle from top to bottom, and width.
        colour: of the box.
        share: how dark that is, from 0 to 1.
        size: of the letters, in points.
    """
    from matplotlib.patches import FancyBboxPatch

    left, middle, width = bounds
    box = (left - _EDGE, middle - 0.15), width + 2 * _EDGE, 0.26
    axes.add_patch(FancyBboxPatch(*box, boxstyle="round,pad=0,rounding_size=0.04", color=colour, linewidth=0))
    ink = "#ffffff" if share > 0.5 else INK
    axes.text(left + width / 2, middle, text, fontsize=size, color=ink, ha="center", va="center")


def _html(rows: list[list[float]], tokens: list[str], names: Sequence[str], title: str, scale: _Scale) -> str:
    """The picture as a page that fetches nothing. A tooltip holds each word's number."""
    texts = []
    for number, row in enumerate(rows):
        spans = (_span(escape(token), value, scale) for token, value in zip(tokens, row, strict=True))
        name = f'<h2 style="font-size:.85rem;color:{FAINT}">{escape(names[number])}</h2>\n' if names else ""
        texts.append(f'{name}<p dir="auto">{" ".join(spans)}</p>')
    steps = [scale.low + share * (scale.top - scale.low) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    swatches = " ".join(_span(scale.text(step), step, scale) for step in steps)
    legend = f'<p style="font-size:.8rem">{swatches} {escape(scale.note)}</p>'
    style = "font:18px/1.9 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;background:#fff"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    body = "\n".join([f'<h1 style="font-size:1rem;color:{INK}">{escape(title)}</h1>', *texts, legend])
    return f'<!doctype html>\n<html><head>{head}</head>\n<body style="{style}">\n{body}\n</body></html>\n'


def _span(text: str, value: float, scale: _Scale) -> str:
    from matplotlib.colors import to_hex

    ink = "#ffffff" if abs(value) / scale.top > 0.5 else INK
    style = f"background:{to_hex(scale.colour(value))};color:{ink};padding:.1em .2em;border-radius:.2em"
    return f'<span style="{style}" title="{value:.4f}">{text}</span>'


def _story(rows: list[list[float]], tokens: list[str], names: Sequence[str], scale: _Scale) -> str:
    texts = []
    for number, row in enumerate(rows):
        words = ", ".join(f"{token} {scale.text(value)}" for token, value in zip(tokens, row, strict=True))
        texts.append(f"{names[number]}: {words}" if names else words)
    return "; ".join([*texts, scale.note] if scale.note else texts)
