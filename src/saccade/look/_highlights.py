"""A text with its words coloured by numbers: PNG, SVG and HTML."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade.errors import ShapeError
from saccade.look._figure import BOTH, COLOURS, FAINT, INK, Page, checked, draw_picture, full_scale, numbers, ramp
from saccade.look._labels import plain, right_to_left, shortened

_WIDE, _LINE, _GAP, _EDGE = 7.6, 0.5, 0.1, 0.05  # inches: a line of words, its height, between words, around a word
SIZE = 12  # points
_NAME, _BAR = 0.3, 2.2  # inches: a line above a row, and the colour bar
_NEAR = 0.01  # how far from 1 the sum of shares may be, in half precision
LEAST = 0.005  # the smallest number that is written
_LONG = 40  # words: a longer text has numbers only below words with more than an even share
_MARK = "#b5771d"  # an even share


@dataclass(frozen=True)
class Scale:
    """Meaning of colours: the numbers at both ends, and an even share if there is one."""

    low: float
    top: float
    even: float | None = None

    @classmethod
    def of(cls, matrix: Tensor) -> "Scale":
        peak = float(matrix.abs().max())
        if bool((matrix >= 0).all()) and bool(((matrix.sum(1) - 1).abs() < _NEAR).all()):
            even = 1 / matrix.shape[1]
            return cls(0.0, full_scale(peak, even), even)
        top = full_scale(peak, 0.0)
        return cls(-top if bool((matrix < 0).any()) else 0.0, top)

    @property
    def note(self) -> str:
        return "" if self.even is None else f"{self.even:.2g} if all words were alike"

    @property
    def colours(self) -> Any:
        return ramp(BOTH if self.low < 0 else COLOURS)

    def text(self, value: float) -> str:
        """A number with as many decimals as an even share needs."""
        fewer = 1.0 if self.even is None else self.even
        return f"{value:.{max(2, 1 + math.floor(-math.log10(fewer)))}f}"

    def paint(self, value: float) -> tuple[Any, str]:
        """The colours of a word's box and of its letters."""
        ink = "#ffffff" if abs(value) / self.top > 0.5 else INK
        return self.colours((value - self.low) / (self.top - self.low)), ink


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
        title: a line above the text.
        names: a line above each row, or none.
        scale: name of the colour bar.
        path, json: as of every picture (see `saccade.look`).

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
    matrix = checked("values", values, ("rows", len(tokens)))
    if names and len(names) != len(matrix):
        raise ShapeError(f"names: expected {len(matrix)}, one a row, got {len(names)}")
    words, above = [shortened(plain(token)) for token in tokens], list(map(plain, names))
    rows, ends = matrix.tolist(), Scale.of(matrix)
    even = None if ends.even is None else round(ends.even, 6)
    texts = [", ".join(f"{word} {ends.text(value)}" for word, value in zip(words, row, strict=True)) for row in rows]
    story = [f"{name}: {text}" for name, text in zip(above, texts, strict=True)] if names else texts

    def draw(page: Page) -> None:
        measured, top = page.measured(words, SIZE), 0.0
        least = LEAST if ends.even is None or len(words) <= _LONG else max(LEAST, ends.even)
        for number, row in enumerate(rows):
            if names:
                page.write(_EDGE, top + 0.2, above[number], 9, FAINT, va="center")
                top += _NAME
            top = draw_words(page, top, measured, row, ends, least) + 0.4 * _LINE
        bar = page.colour_bar(scale, ends.colours, (ends.low, ends.top), (_EDGE, top), _BAR, across=True)
        if ends.even is not None and ends.even < ends.top:
            bar.axvline(ends.even, color=_MARK, linewidth=1.4)
            page.write(_EDGE + _BAR + 0.12, top + 0.05, f"│ {ends.note}", 7, _MARK, va="center")

    behind = numbers(names, tokens, matrix, darkest=ends.top, even_share=even) if json else None
    pages = {".html": lambda: _html(rows, words, above, plain(title), ends).encode()}
    kind, more = "Words by their numbers", {"scale": scale}
    return draw_picture(path, draw, title, kind, [*story, ends.note], behind, pages=pages, more=more)


def draw_words(
    page: Page, top: float, words: Sequence[tuple[str, float]], values: Sequence[float], scale: Scale, least: float
) -> float:
    """Draw words coloured by numbers, numbers from the least on below; return the end."""
    left, row, corners = _EDGE, 0, list[tuple[float, int]]()
    for _, width in words:
        if left > _EDGE and left + width + _EDGE > _WIDE:
            left, row = _EDGE, row + 1
        corners.append((left, row))
        left = round(left + width + _GAP + _EDGE, 6)
    high, mirrored = (row + 1) * _LINE, right_to_left(" ".join(word for word, _ in words))
    axes = page.axes(0, top, _WIDE, high, ticks=False)
    axes.set(xlim=(0, _WIDE), ylim=(high, 0))
    axes.axis("off")
    for (word, width), value, (left, row) in zip(words, values, corners, strict=True):
        left, middle, (colour, ink) = _WIDE - left - width if mirrored else left, row * _LINE + 0.2, scale.paint(value)
        box = {"boxstyle": "round,pad=0.25", "facecolor": colour, "linewidth": 0}
        axes.text(left + width / 2, middle, word, fontsize=SIZE, color=ink, bbox=box, ha="center", va="center")
        if abs(value) >= least:
            number = scale.text(value)
            axes.text(left + width / 2, middle + 0.24, number, fontsize=6.5, color=FAINT, ha="center", va="center")
    return top + high


def _html(rows: list[list[float]], words: list[str], names: Sequence[str], title: str, scale: Scale) -> str:
    """The picture as a page that fetches nothing. A tooltip holds each word's number."""
    texts = []
    for number, row in enumerate(rows):
        spans = (_span(escape(word), value, scale) for word, value in zip(words, row, strict=True))
        name = f'<h2 style="font-size:.85rem;color:{FAINT}">{escape(names[number])}</h2>\n' if names else ""
        texts.append(f'{name}<p dir="auto">{" ".join(spans)}</p>')
    steps = [scale.low + share * (scale.top - scale.low) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    swatches = " ".join(_span(scale.text(step), step, scale) for step in steps)
    legend = f'<p style="font-size:.8rem">{swatches} {escape(scale.note)}</p>'
    style = "font:18px/1.9 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;background:#fff"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    body = "\n".join([f'<h1 style="font-size:1rem;color:{INK}">{escape(title)}</h1>', *texts, legend])
    return f'<!doctype html>\n<html><head>{head}</head>\n<body style="{style}">\n{body}\n</body></html>\n'


def _span(text: str, value: float, scale: Scale) -> str:
    from matplotlib.colors import to_hex

    box, ink = scale.paint(value)
    style = f"background:{to_hex(box)};color:{ink};padding:.1em .2em;border-radius:.2em"
    return f'<span style="{style}" title="{value:.4f}">{text}</span>'
