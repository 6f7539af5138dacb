"""The figure builder: inches from the top left, one style, fonts, files."""

import json
import logging
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from html import escape
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from saccade._threads import free_in_children, own_filters
from saccade.errors import ArgumentError, ShapeError
from saccade.look._files import write_beside
from saccade.look._labels import plain, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

Pair = tuple[float, float]
Files = Mapping[str, Callable[[], bytes]]
"""Makers of files, by suffix."""
INK, FAINT, GRID = "#22223a", "#8d8da5", "#eef0f6"
#: Lightness falls evenly from no weight to all of it.
COLOURS = ("#ffffff", "#e6eaf7", "#b9c6ea", "#7f9bd9", "#4a6dbf", "#27459a", "#141f63", "#0a0b33")
#: From the most against something, over nothing, to the most for it.
BOTH = ("#361302", "#662a09", "#9c4619", "#cb6c3d", "#e69a72", "#f4c7ad", "#fbe9df", *COLOURS)
DOTS = 150  # an inch
MOST_PANELS = 8
_MANY_CELLS = 20_000  # beyond, the SVG holds the cells as one image
_STYLE = {
    "svg.hashsalt": "saccade",  # the same figure is the same bytes
    "svg.fonttype": "path",
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 8,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.5,
    "axes.axisbelow": True,
    "image.aspect": "auto",
    "image.interpolation": "nearest",
    "grid.color": GRID,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "legend.fontsize": 8.5,
    **{f"{axis}tick.{name}": value for axis in "xy" for name, value in (
        ("color", FAINT), ("labelcolor", INK), ("labelsize", 7), ("major.size", 2), ("major.width", 0.5),
    )},
}  # fmt: skip
_DRAWING = free_in_children(Lock())  # matplotlib and its settings are for one thread at a time
_EVEN = 4  # even shares that the darkest colour stands for at least, so that equal weights are pale
_LETTERS = 13  # of a title, an inch
BUNDLED = Path(__file__).parent / "fonts"  # Latin, Greek, Cyrillic
EXTRA = Path(__file__).parents[3] / "fonts" / "saccade_fonts"  # other scripts, in a checkout
LAST_RESORT = "DejaVu Sans"  # comes with matplotlib: wide coverage, and symbols that ours lacks
_log = logging.getLogger("saccade")
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2


class Picture(NamedTuple):
    """A collected picture.

    Args:
        kind: name of its kind.
        title: above it, or its kind.
        behind: the numbers behind it, with tensors as they are, not rounded.
        more: further content of the explorer.
        note: below the title.
    """

    kind: str
    title: str
    behind: Mapping[str, Any]
    more: Mapping[str, Any]
    note: str


_COLLECTED = ContextVar[list[Picture] | None]("_COLLECTED", default=None)


@contextmanager
def collected() -> Iterator[list[Picture]]:
    """Collect the pictures that this thread makes in a block.

    Nothing is drawn or written.
    """
    pictures = list[Picture]()
    token = _COLLECTED.set(pictures)
    try:
        yield pictures
    finally:
        _COLLECTED.reset(token)


class Page:
    """A figure without a size, in inches from its top left corner."""

    def __init__(self) -> None:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        matplotlib.rcParams["font.family"] = families("")
        self.figure = Figure(figsize=(1, 1), dpi=DOTS)
        self._renderer = FigureCanvasAgg(self.figure).get_renderer()

    def axes(self, left: float, top: float, width: float, height: float, ticks: bool = True, **options: Any) -> "Axes":
        axes = self.figure.add_axes((left, 1 - top - height, width, height), **options)
        if not ticks:
            axes.set(xticks=[], yticks=[])
        return axes

    def write(self, x: float, y: float, text: str, size: float = 9, colour: str = INK, **options: Any) -> None:
        """Write a text, by default to the right of a point and above it."""
        self.figure.text(x, 1 - y, text, fontsize=size, color=colour, **options)

    def measured(self, words: Sequence[str], size: float) -> list[tuple[str, float]]:
        """Words with their widths in inches."""
        self.choose_fonts(" ".join(words))
        widths = dict[str, float]()
        for word in dict.fromkeys(words):
            drawn = self.figure.text(0, 0, word, fontsize=size)
            widths[word] = float(drawn.get_window_extent(self._renderer).width) / DOTS
            drawn.remove()
        return [(word, widths[word]) for word in words]

    def colour_bar(
        self, name: str, colours: "Colormap", ends: Pair, corner: Pair, length: float, *, across: bool = False
    ) -> "Axes":
        """Draw a colour scale with the name of its numbers, upwards or to the right."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        axes = self.axes(*corner, *((length, 0.1) if across else (0.1, length)))
        side = "horizontal" if across else "vertical"
        mappable = ScalarMappable(Normalize(*ends), colours)
        bar = self.figure.colorbar(mappable, cax=axes, orientation=side, format="%g", label=name)
        bar.outline.set(edgecolor=FAINT, linewidth=0.5)
        (axes.xaxis if across else axes.yaxis).label.set_fontsize(7.5)
        return axes

    def choose_fonts(self, more: str = "") -> None:
        """Set the families that together draw all texts of the figure, and more."""
        import matplotlib
        from matplotlib.text import Text

        labels = (label for axes in self.figure.axes for label in axes.get_xticklabels() + axes.get_yticklabels())
        texts = [*labels, *self.figure.findobj(Text)]
        names = families("".join(text.get_text() for text in texts) + more)
        for text in texts:
            text.set_fontfamily(names)
        matplotlib.rcParams["font.family"] = names

    def finished(self, title: str = "", note: str = "", below: str = "") -> "Figure":
        """Write the title, a note and the lines below, and return the figure."""
        self.choose_fonts(title + note + below)
        box = self.figure.get_tightbbox(self._renderer)
        lines = textwrap.wrap(title, max(78, int(_LETTERS * box.width)), max_lines=2, placeholder="…")
        if title:
            self.write(box.x0, 0.9 - box.y1 - (0.22 if note else 0), "\n".join(lines), 11.5)
        if note:
            self.write(box.x0, 0.9 - box.y1, note, 8.5, FAINT)
        if below:
            self.write(box.x0, 1.12 - box.y0, below, 8, FAINT, va="top")
        return self.figure


def draw_cells(axes: "Axes", values: Tensor, *edges: Sequence[int], lines: bool, **colours: Any) -> None:
    """Draw a matrix as cells, by default of size 1, else between edges."""
    if lines:
        colours |= {"edgecolors": GRID, "linewidth": 0.4}
    axes.pcolormesh(*edges, values.numpy(), rasterized=values.numel() > _MANY_CELLS, **colours)


def plain_ticks(axis: Any) -> None:
    """Write the numbers of a logarithmic axis as 1, 2, 5, 10."""
    axis.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


@cache
def ramp(colours: tuple[Any, ...] = COLOURS) -> "Colormap":
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("saccade", colours)


def families(text: str) -> list[str]:
    """Font families that together draw a text, the first for shared characters.

    The fonts are ours, matplotlib's, then those of the machine. A character of no font is a box, with one warning.
    """
    missing, chosen = {ord(character) for character in text if not character.isspace()}, list[str]()
    for path, family in _fonts().items():
        if not missing:
            break
        if family == LAST_RESORT or missing & _characters(path):
            chosen.append(family)
        missing -= _characters(path)
    _warn(frozenset(missing))
    return list(dict.fromkeys(["Saccade Sans", *chosen, LAST_RESORT]))


def _fonts() -> dict[str, str]:
    """Path to family: our fonts, matplotlib's, and the machine's upright ones."""
    from matplotlib.font_manager import fontManager

    upright = (font for font in fontManager.ttflist if font.style == "normal" and "Last Resort" not in font.name)
    machine = {font.fname: font.name for font in upright if font.weight in (400, "normal", "regular")}
    return {**_ours(), **machine}


@cache
def _ours() -> dict[str, str]:
    """Path to family: our fonts, registered with matplotlib, and its own."""
    from matplotlib.font_manager import findfont, fontManager, get_font

    installed = find_spec("saccade_fonts")
    extra = Path(installed.origin).parent if installed is not None and installed.origin else EXTRA
    paths = [str(path) for folder in (BUNDLED, extra) for path in sorted(folder.glob("SaccadeSans*.[ot]tf"))]
    for path in paths:
        fontManager.addfont(path)
    return {**{path: get_font(path).family_name for path in paths}, str(findfont(LAST_RESORT)): LAST_RESORT}


@cache
def _characters(path: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):  # the file is gone or cannot be read
        return frozenset()


@cache
def _warn(missing: frozenset[int]) -> None:
    """Warn once of a set of characters, however many pictures need them."""
    if missing:
        named = ", ".join(f"U+{code:04X}" for code in sorted(missing)[:8]) + (", ..." if len(missing) > 8 else "")
        way_out = "install a Noto font of the script, or Saccade's by `pip install ./fonts` in a checkout"
        _log.warning("no font has %s, drawn as boxes: %s", named, way_out)


def not_drawn(names: Sequence[str], kind: str) -> str:
    """A line about the panels without room in a picture, "" if there are none."""
    if not (rest := names[MOST_PANELS:]):
        return ""
    more = f": {listed}" if (listed := shortened(", ".join(filter(None, rest)), 60)) else ""
    return f"{MOST_PANELS} of {len(names)} {kind} are drawn, not the last {len(rest)}{more}"


def checked(name: str, values: Any, shape: Sequence[int | str], least: float = -math.inf) -> Tensor:
    """Finite numbers to draw, float64 on the CPU. A name in a shape is any size."""
    numbers = torch.as_tensor(values).detach().to("cpu", torch.float64)
    expected = [got if isinstance(size, str) else size for size, got in zip(shape, numbers.shape, strict=False)]
    if len(shape) != numbers.ndim or expected != list(numbers.shape):
        raise ShapeError(f"{name}: expected shape ({', '.join(map(str, shape))}), got {tuple(numbers.shape)}")
    if not numbers.numel():
        raise ArgumentError(f"{name}: expected one number or more, got shape {tuple(numbers.shape)}")
    if not bool((numbers.isfinite() & (numbers >= least)).all()):
        bound = "" if least == -math.inf else f" of at least {least:g}"
        raise ArgumentError(f"{name}: expected finite numbers{bound}, got others")
    return numbers


def full_scale(peak: float, even: float, bound: float = 1.0) -> float:
    """Upper end of a colour scale: 1, or a peak of at most a half or above 1.

    It is at least four even shares, but not above the bound, so that equal weights are pale.
    """
    scale = 1.0 if 0.5 < peak <= 1 or not peak else peak
    return max(scale, min(bound, _EVEN * even))


def scale_ends(matrix: Tensor, even: float, *, signed: bool) -> Pair:
    """Ends of a colour scale: from 0, or if numbers are signed, around 0."""
    top = full_scale(float(matrix.abs().max()), 0.0 if signed else even)
    return (-top if signed else 0.0), top


def rounded(values: Any, *, significant: bool = False) -> Any:
    """Numbers with six decimals, or six significant digits of small ones."""
    if isinstance(values, Tensor):
        values = values.detach().double().cpu().tolist()
    if isinstance(values, list):
        return [rounded(value, significant=significant) for value in values]
    number = float(values)
    return float(f"{number:.6g}") if significant and abs(number) < 1 else round(number, 6)


def numbers(rows: Sequence[str], columns: Sequence[str], values: Any, **more: Any) -> dict[str, Any]:
    """The JSON of a picture: names of rows and columns, and numbers `(rows, ...)`.

    Tensors are rounded as they are written.
    """
    values = values if isinstance(values, Tensor) else rounded(values)
    return {"rows": list(rows), "columns": list(columns), "values": values, **more}


def draw_picture(
    path: str | Path,
    draw: Callable[[Page], str | None],
    title: str | None,
    kind: str,
    story: Iterable[str],
    behind: Mapping[str, Any] | None = None,
    *,
    note: str = "",
    pages: Files | None = None,
    more: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Draw on a page, and write the picture, its story and the numbers behind it.

    `draw` may return a line for below the picture. `kind` is the title of an SVG without a title. `pages` make other
    files by suffix. `more` is for the explorer.
    """
    heading, others = plain(title or ""), dict(pages or {})
    if (pictures := _COLLECTED.get()) is not None:
        pictures.append(Picture(kind, heading or kind, behind or {}, more or {}, note))
        return []

    def make() -> "Figure":
        page = Page()
        below = draw(page) or ""
        return page.finished(heading, note, below)

    if behind is not None:
        text = json.dumps({"title": heading, **behind}, ensure_ascii=False, allow_nan=False, default=rounded) + "\n"
        content = text.encode(errors="backslashreplace")  # half a pair of surrogates, as JSON escapes it
        others[".json"] = lambda: content
    words = plain("; ".join(filter(None, story)))
    return write_picture(path, make, title=heading or kind, story=words, others=others)


def write_picture(
    path: str | Path, make: Callable[[], "Figure"], *, title: str, story: str, others: Files | None = None
) -> list[Path]:
    """Write a figure as PNG and SVG in one style, whatever the matplotlibrc."""
    with _DRAWING, _own_style():
        figure = make()
        png, svg = _saved(figure, "png"), _saved(figure, "svg")
        made = {suffix: content() for suffix, content in (others or {}).items()}
    head, tag, rest = svg.decode().partition("<svg ")
    about, words = (escape(_NO_XML.sub("·", text)) for text in (title, story))  # for screen readers and search
    rest = rest.replace(">", f"><title>{about}</title><desc>{words}</desc>", 1)
    return write_beside(Path(path), {".png": png, ".svg": f'{head}{tag}role="img" {rest}'.encode(), **made})


@contextmanager
def _own_style() -> Iterator[None]:
    """Replace the user's matplotlib settings by ours while the block runs."""
    from matplotlib import style

    with style.context(["default", _STYLE]), own_filters():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")  # `families` has warned
        yield


def _saved(figure: "Figure", form: str) -> bytes:
    buffer = BytesIO()
    metadata = {"Date": None} if form == "svg" else {}  # the same figure is the same bytes
    figure.savefig(buffer, format=form, bbox_inches="tight", pad_inches=0.12, metadata=metadata)
    return buffer.getvalue()
