"""A text whose words are coloured by numbers, as attention or what they added: PNG, SVG and HTML."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look.drawing import full_scale, numbers, write_picture
from saccade.look.labels import plain, right_to_left
from saccade.look.pictures import COLOURS, DOTS, FAINT, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["highlights"]

_WIDE, _LINE, _GAP, _EDGE = 7.6, 0.46, 0.1, 0.05  # inches: a line of words, its height, between words, around a word
_FONT, _SMALL = 12.0, 6.5  # points: words, and the numbers below them
_NAME, _LEGEND = 0.3, 0.5  # inches: a line above a row, and what says what colours mean
_BAR = 2.2  # inches: the colours in it
_LONGEST = 40  # characters of a word that are shown
_NEAR = 0.01  # how far from 1 the sum of shares may be, in half precision
_LEAST = 0.005  # the smallest number that is written
_LONG = 40  # words: of a longer text only what is above an even share has its number written
_MARK = "#b5771d"  # an even share
#: Lightness falls evenly from nothing to all that speaks against.
_AGAINST = ("#ffffff", "#fbe9df", "#f4c7ad", "#e69a72", "#cb6c3d", "#9c4619", "#662a09", "#361302")


@dataclass(frozen=True)
class _Word:
    """A word in its place, in inches from the left and the top."""

    text: str
    value: float
    left: float
    top: float
    width: float


@dataclass(frozen=True)
class _Scale:
    """What colours mean: the number that is darkest, the lowest there can be, and an even share if there is one."""

    top: float
    low: float
    even: float | None

    def text(self, value: float) -> str:
        """A number with as many decimals as an even share needs."""
        fewer = 1.0 if self.even is None else self.even
        return f"{value:.{max(2, 1 + math.floor(-math.log10(fewer)))}f}"

    @property
    def told(self) -> str:
        """What all alike would be, in words; "" of numbers that are no shares."""
        return "" if self.even is None else f"{self.even:.2g} if all words were alike"


def highlights(
    values: Tensor,
    tokens: Sequence[str],
    path: str | Path,
    *,
    title: str = "",
    names: Sequence[str] = (),
    json: bool = False,
) -> list[Path]:
    """Draw a text once for each row of numbers, its words as dark as their numbers are large.

    Numbers above 0 are blue; those below, which speak against something, are orange. The darkest is 1, or the largest
    where none is above a half. Rows that are shares of a whole (at least 0, each with the sum 1), as attention is, are
    seen beside an even share: what is darkest is at least four times that, so that weights that are all alike are pale,
    and the legend marks it. A text whose script runs from right to left does so here too.

    Args:
        values: `(rows, len(tokens))`, finite: such as how much each learned query took of each word.
        tokens: the words.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        title: a line above the text.
        names: a line above each row; none if not given.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG, the SVG and the HTML, and of the JSON if it is wanted.

    Raises:
        ShapeError: if the numbers' shape is not that of the words, or names are not one a row.
        ArgumentError: if there are no words, or numbers that are not finite.
        OSError: if the files cannot be written.

    Source:
        Yang et al. 2016, "Hierarchical Attention Networks for Document Classification", figures 5 and 6.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = highlights(torch.tensor([[0.1, 0.9]]), ["not", "good"], f"{folder}/film", title="negative")
        >>> [path.name for path in paths]
        ['film.png', 'film.svg', 'film.html']
    """
    matrix, heading = _checked(values, tokens, names), plain(title)
    rows, shown, above = matrix.tolist(), [_shown(token) for token in tokens], [plain(name) for name in names]
    scale = _scale_of(matrix)
    even = None if scale.even is None else round(scale.even, 6)
    told = numbers(heading, names, tokens, matrix, darkest=scale.top, even_share=even)
    return write_picture(
        path,
        lambda: _figure(rows, shown, above, heading, scale),
        title=heading or "Words by their numbers",
        story=_story(rows, shown, above, scale),
        behind=told if json else None,
        pages={".html": lambda: _html(rows, shown, above, heading, scale).encode()},
    )


def _scale_of(matrix: Tensor) -> _Scale:
    """What the colours of some rows mean."""
    peak = float(matrix.abs().max())
    if bool((matrix >= 0).all()) and bool(((matrix.sum(1) - 1).abs() < _NEAR).all()):
        even = 1 / matrix.shape[1]
        return _Scale(full_scale(peak, even), 0.0, even)
    top = full_scale(peak, 0.0)
    return _Scale(top, -top if bool((matrix < 0).any()) else 0.0, None)


def _checked(values: Tensor, tokens: Sequence[str], names: Sequence[str]) -> Tensor:
    matrix = torch.as_tensor(values).detach().to("cpu", torch.float64)
    if matrix.ndim != 2 or matrix.shape[1] != len(tokens):
        raise ShapeError(f"values: expected shape (rows, {len(tokens)}), a number a word, got {tuple(matrix.shape)}")
    if not matrix.numel():
        raise ArgumentError(f"values, tokens: expected a row and a word or more, got {tuple(matrix.shape)}")
    if not bool(torch.isfinite(matrix).all()):
        raise ArgumentError("values: expected finite numbers, got others")
    if names and len(names) != len(matrix):
        raise ShapeError(f"names: expected {len(matrix)}, one a row, got {len(names)}")
    return matrix


def _shown(token: str) -> str:
    """A word as it is drawn: what cannot be seen has a stand-in, and a very long one is cut."""
    text = plain(token)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _figure(rows: list[list[float]], tokens: list[str], names: Sequence[str], title: str, scale: _Scale) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    texts = [*tokens, *names, title, scale.told, "0.5…-"]
    style: dict[str, Any] = {"family": families("".join(texts)), "parse_math": False}
    figure = Figure(figsize=(_WIDE, 1), dpi=DOTS)
    renderer = FigureCanvasAgg(figure).get_renderer()

    def measure(text: str) -> float:
        drawn = figure.text(0, 0, text, fontsize=_FONT, **style)
        width = float(drawn.get_window_extent(renderer).width) / DOTS
        drawn.remove()
        return width

    widths = {token: measure(token) for token in dict.fromkeys(tokens)}
    words, tops, high = _laid_out(rows, tokens, widths, named=bool(names))
    figure.set_size_inches(_WIDE, high + _LEGEND)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, _WIDE), ylim=(high + _LEGEND, 0))
    axes.axis("off")
    for top, name in zip(tops, names, strict=False):
        axes.text(_EDGE, top, name, fontsize=9, color=FAINT, ha="left", va="center", **style)
    least = _LEAST if scale.even is None or len(tokens) <= _LONG else max(_LEAST, scale.even)
    for word in words:
        colour, ink = _colours(word.value / scale.top)
        box = (word.left - _EDGE, word.top - 0.15), word.width + 2 * _EDGE, 0.26
        axes.add_patch(FancyBboxPatch(*box, boxstyle="round,pad=0,rounding_size=0.04", color=colour, linewidth=0))
        middle = word.left + word.width / 2
        axes.text(middle, word.top, word.text, fontsize=_FONT, color=ink, ha="center", va="center", **style)
        if abs(word.value) >= least:
            small: dict[str, Any] = {"fontsize": _SMALL, "color": FAINT, "ha": "center", "va": "center", **style}
            axes.text(middle, word.top + 0.2, scale.text(word.value), **small)
    _legend(axes, high + 0.12, scale, style)
    if title:
        axes.text(0.05, -0.12, title, fontsize=11, color=INK, ha="left", va="bottom", **style)
    return figure


def _legend(axes: "Axes", top: float, scale: _Scale, style: dict[str, Any]) -> None:
    """What the colours mean: all of them side by side, their ends, and an even share, below the text."""
    from matplotlib.patches import Rectangle

    count, high = 64, 0.11
    each = _BAR / count
    for number in range(count):
        value = scale.low + (number + 0.5) / count * (scale.top - scale.low)
        colour, _ = _colours(value / scale.top)
        axes.add_patch(Rectangle((_EDGE + number * each, top), each, high, facecolor=colour, linewidth=0))
    axes.add_patch(Rectangle((_EDGE, top), _BAR, high, fill=False, edgecolor=FAINT, linewidth=0.5))
    small: dict[str, Any] = {"fontsize": 7, "color": INK, "va": "center", **style}
    for value, side in ((scale.low, "left"), (scale.top, "right")):
        place = _EDGE if side == "left" else _EDGE + _BAR
        axes.text(place, top + high + 0.1, "0" if not value else scale.text(value), ha=side, **small)
    if scale.even is not None and scale.even < scale.top:
        place = _EDGE + _BAR * scale.even / scale.top
        axes.plot([place, place], [top - 0.03, top + high + 0.03], color=_MARK, linewidth=1.4)
        axes.text(_EDGE + _BAR + 0.12, top + high / 2, f"│ {scale.told}", ha="left", **{**small, "color": _MARK})


def _laid_out(
    rows: list[list[float]], tokens: list[str], widths: dict[str, float], *, named: bool
) -> tuple[list[_Word], list[float], float]:
    """Words in lines, the text once for each row; where a row's name goes, and how high all is."""
    mirrored, words, tops, top = right_to_left(" ".join(tokens)), list[_Word](), list[float](), 0.2
    for row in rows:
        tops.append(top)
        left, top = _EDGE, top + _NAME * named
        for token, value in zip(tokens, row, strict=True):
            width = widths[token]
            if left > _EDGE and left + width + _EDGE > _WIDE:
                left, top = _EDGE, top + _LINE
            words.append(_Word(token, value, _WIDE - left - width if mirrored else left, top, width))
            left += width + _GAP + _EDGE
        top += _LINE * 1.4
    return words, tops, top - 0.4 * _LINE


def _colours(share: float) -> tuple[str, str]:
    """The colour behind a word, and that of its letters."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    ramp = LinearSegmentedColormap.from_list("saccade", COLOURS if share >= 0 else _AGAINST)
    return to_hex(ramp(abs(share))), "#ffffff" if abs(share) > 0.5 else INK


def _html(rows: list[list[float]], tokens: list[str], names: Sequence[str], title: str, scale: _Scale) -> str:
    """The same as a page that fetches nothing; a word's number is shown where one points at it."""
    texts = []
    for place, row in enumerate(rows):
        spans = (_span(escape(token), value, scale) for token, value in zip(tokens, row, strict=True))
        name = f'<h2 style="font-size:.85rem;color:{FAINT}">{escape(names[place])}</h2>\n' if names else ""
        texts.append(f'{name}<p dir="auto">{" ".join(spans)}</p>')
    steps = [scale.low + share * (scale.top - scale.low) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    swatches = " ".join(_span(scale.text(step), step, scale) for step in steps)
    legend = f'<p style="font-size:.8rem">{swatches} {escape(scale.told)}</p>'
    style = "font:18px/1.9 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;background:#fff"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    body = "\n".join([f'<h1 style="font-size:1rem;color:{INK}">{escape(title)}</h1>', *texts, legend])
    return f'<!doctype html>\n<html><head>{head}</head>\n<body style="{style}">\n{body}\n</body></html>\n'


def _span(text: str, value: float, scale: _Scale) -> str:
    colour, ink = _colours(value / scale.top)
    look = f"background:{colour};color:{ink};padding:.1em .2em;border-radius:.2em"
    return f'<span style="{look}" title="{value:.4f}">{text}</span>'


def _story(rows: list[list[float]], tokens: list[str], names: Sequence[str], scale: _Scale) -> str:
    """What the picture shows, in words: every word with its number."""
    texts = []
    for place, row in enumerate(rows):
        said = ", ".join(f"{token} {scale.text(value)}" for token, value in zip(tokens, row, strict=True))
        texts.append(f"{names[place]}: {said}" if names else said)
    return "; ".join([*texts, scale.told] if scale.told else texts)
