"""A text whose words are coloured by numbers, as attention or what they added: PNG, SVG and HTML."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look.files import write_beside
from saccade.look.labels import plain, right_to_left
from saccade.look.pictures import COLOURS, DOTS, FAINT, INK, described, saved
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["highlights"]

_WIDE, _LINE, _GAP, _EDGE = 7.6, 0.46, 0.1, 0.05  # inches: a line of words, its height, between words, around a word
_FONT, _SMALL = 12.0, 6.5  # points: words, and the numbers below them
_LONGEST = 40  # characters of a word that are shown
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


def highlights(values: Tensor, tokens: Sequence[str], path: str | Path, *, title: str = "") -> list[Path]:
    """Draw a text once for each row of numbers, its words as dark as their numbers are large.

    Numbers above 0 are blue; those below, which speak against something, are orange. The darkest is 1, or the largest
    where none is above a half. A text whose script runs from right to left does so here too.

    Args:
        values: `(rows, len(tokens))`, finite: such as how much each learned query took of each word.
        tokens: the words.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        title: a line above the text.

    Returns:
        The paths of the PNG, the SVG and the HTML.

    Raises:
        ShapeError: if the numbers' shape is not that of the words.
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
    rows, heading = _checked(values, tokens), plain(title)
    shown = [_shown(token) for token in tokens]
    peak = max(map(abs, (value for row in rows for value in row)), default=0.0)
    top = 1.0 if 0.5 < peak <= 1 or not peak else peak
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")  # `families` has said so
        figure = _figure(rows, shown, heading, top)
        png, svg = saved(figure, "png"), saved(figure, "svg")
    told = described(svg, heading or "Words by their numbers", _story(rows, shown))
    page = _html(rows, shown, heading, top).encode()
    return write_beside(Path(path), {".png": png, ".svg": told, ".html": page})


def _checked(values: Tensor, tokens: Sequence[str]) -> list[list[float]]:
    matrix = torch.as_tensor(values).detach().to("cpu", torch.float64)
    if matrix.ndim != 2 or matrix.shape[1] != len(tokens):
        raise ShapeError(f"values: expected shape (rows, {len(tokens)}), a number a word, got {tuple(matrix.shape)}")
    if not matrix.numel():
        raise ArgumentError(f"values, tokens: expected a row and a word or more, got {tuple(matrix.shape)}")
    if not bool(torch.isfinite(matrix).all()):
        raise ArgumentError("values: expected finite numbers, got others")
    rows: list[list[float]] = matrix.tolist()
    return rows


def _shown(token: str) -> str:
    """A word as it is drawn: what cannot be seen has a stand-in, and a very long one is cut."""
    text = plain(token)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _figure(rows: list[list[float]], tokens: list[str], title: str, top: float) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    style: dict[str, Any] = {"family": families("".join([*tokens, title, "0.5…-"])), "parse_math": False}
    figure = Figure(figsize=(_WIDE, 1), dpi=DOTS)
    renderer = FigureCanvasAgg(figure).get_renderer()

    def measure(text: str) -> float:
        drawn = figure.text(0, 0, text, fontsize=_FONT, **style)
        width = float(drawn.get_window_extent(renderer).width) / DOTS
        drawn.remove()
        return width

    widths = {token: measure(token) for token in dict.fromkeys(tokens)}
    words, high = _laid_out(rows, tokens, widths)
    figure.set_size_inches(_WIDE, high)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, _WIDE), ylim=(high, 0))
    axes.axis("off")
    for word in words:
        colour, ink = _colours(word.value / top)
        box = (word.left - _EDGE, word.top - 0.15), word.width + 2 * _EDGE, 0.26
        axes.add_patch(FancyBboxPatch(*box, boxstyle="round,pad=0,rounding_size=0.04", color=colour, linewidth=0))
        middle = word.left + word.width / 2
        axes.text(middle, word.top, word.text, fontsize=_FONT, color=ink, ha="center", va="center", **style)
        if abs(word.value) >= 0.005:
            below = word.top + 0.2
            axes.text(
                middle, below, _number(word.value), fontsize=_SMALL, color=FAINT, ha="center", va="center", **style
            )
    if title:
        axes.text(0.05, -0.12, title, fontsize=11, color=INK, ha="left", va="bottom", **style)
    return figure


def _laid_out(rows: list[list[float]], tokens: list[str], widths: dict[str, float]) -> tuple[list[_Word], float]:
    """Words in lines, the text once for each row, and how high all is."""
    mirrored, words, top = right_to_left(" ".join(tokens)), list[_Word](), 0.2
    for row in rows:
        left = _EDGE
        for token, value in zip(tokens, row, strict=True):
            width = widths[token]
            if left > _EDGE and left + width + _EDGE > _WIDE:
                left, top = _EDGE, top + _LINE
            words.append(_Word(token, value, _WIDE - left - width if mirrored else left, top, width))
            left += width + _GAP + _EDGE
        top += _LINE * 1.4
    return words, top - 0.4 * _LINE


def _colours(share: float) -> tuple[str, str]:
    """The colour behind a word, and that of its letters."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    ramp = LinearSegmentedColormap.from_list("saccade", COLOURS if share >= 0 else _AGAINST)
    return to_hex(ramp(abs(share))), "#ffffff" if abs(share) > 0.5 else INK


def _number(value: float) -> str:
    return f"{value:.2f}"


def _html(rows: list[list[float]], tokens: list[str], title: str, top: float) -> str:
    """The same as a page that fetches nothing; a word's number is shown where one points at it."""
    texts = []
    for row in rows:
        spans = []
        for token, value in zip(tokens, row, strict=True):
            colour, ink = _colours(value / top)
            look = f"background:{colour};color:{ink};padding:.1em .2em;border-radius:.2em"
            spans.append(f'<span style="{look}" title="{value:.4f}">{escape(token)}</span>')
        texts.append(f'<p dir="auto">{" ".join(spans)}</p>')
    style = "font:18px/1.9 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;background:#fff"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    body = f'<h1 style="font-size:1rem;color:{INK}">{escape(title)}</h1>\n' + "\n".join(texts)
    return f'<!doctype html>\n<html><head>{head}</head>\n<body style="{style}">\n{body}\n</body></html>\n'


def _story(rows: list[list[float]], tokens: list[str]) -> str:
    """What the picture shows, in words: every word with its number."""
    texts = (", ".join(f"{token} {_number(value)}" for token, value in zip(tokens, row, strict=True)) for row in rows)
    return "; ".join(texts)
