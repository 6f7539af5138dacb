"""From a figure to the files of a picture: in our own style, with the words and the numbers that it stands for."""

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from torch import Tensor

from saccade.look._files import write_beside
from saccade.threads import free_in_children, own_filters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["full_scale", "numbers", "rounded", "write_picture"]

_DRAWING = free_in_children(Lock())  # matplotlib and its settings are for one thread at a time
_EVEN = 4  # times an even share: what is at the least drawn darkest, so that an even share is pale
_DECIMALS = 6  # of numbers in files
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2


def write_picture(
    path: str | Path,
    make: Callable[[], "Figure"],
    *,
    title: str,
    story: str,
    behind: Mapping[str, Any] | None = None,
    pages: Mapping[str, Callable[[], bytes]] | None = None,
) -> list[Path]:
    """Write a figure as PNG and SVG, the numbers behind it as JSON, and what else shows them, all of one name.

    Args:
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        make: makes the figure; whatever the user's matplotlibrc says, it has matplotlib's own defaults.
        title: what the SVG is called, for those who listen or search.
        story: what it shows, in words.
        behind: the numbers behind it (see `numbers`); None for no file of them.
        pages: suffix to what makes the content of another file.

    Returns:
        The paths of the PNG, the SVG, the others, and the JSON if there is one.

    Raises:
        OSError: if the files cannot be written.
    """
    with _DRAWING, _own_style():
        figure = make()
        png, svg = _saved(figure, "png"), _saved(figure, "svg")
        others = {suffix: content() for suffix, content in (pages or {}).items()}
    contents = {".png": png, ".svg": _described(svg, title, story), **others}
    if behind is not None:
        told = json.dumps(behind, ensure_ascii=False, allow_nan=False) + "\n"
        contents[".json"] = told.encode(errors="backslashreplace")  # half a pair of surrogates, as JSON escapes it
    return write_beside(Path(path), contents)


def numbers(title: str, rows: Sequence[str], columns: Sequence[str], values: Tensor, **more: Any) -> dict[str, Any]:
    """Return the numbers behind a picture as all pictures have them.

    Args:
        title: of the picture.
        rows: what its rows are: tokens that were written, queries, panels.
        columns: what its columns are: tokens that were read; none where they are places in time or in an image.
        values: `(rows, ...)`.
        more: what else has to be known of them: seconds of a step, what is drawn darkest.

    Example:
        >>> import torch
        >>> numbers("a", ["x"], ["y", "z"], torch.tensor([[0.25, 0.75]]), darkest=1.0)["values"]
        [[0.25, 0.75]]
    """
    found = rounded(values.tolist())
    return {"title": title, "rows": list(rows), "columns": list(columns), "values": found, **more}


def full_scale(peak: float, even: float, most: float = 1.0) -> float:
    """Return the number that is drawn darkest: 1, or the largest where none is above a half or one is above 1; but no
    less than four times an even share, so that weights that are all alike are pale.

    Args:
        peak: the largest number.
        even: what each would be if all were alike.
        most: what a number can be.

    Example:
        >>> full_scale(0.7, 0.1), full_scale(0.45, 0.1), full_scale(0.1, 0.1), full_scale(3.0, 0.1)
        (1.0, 0.45, 0.4, 3.0)
    """
    scale = 1.0 if 0.5 < peak <= 1 or not peak else peak
    return max(scale, min(most, _EVEN * even))


@contextmanager
def _own_style() -> Iterator[None]:
    """matplotlib's defaults in the place of the user's, for whose fonts, sizes and TeX nothing here is laid out."""
    import matplotlib

    with matplotlib.rc_context(), own_filters():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.hashsalt"] = "saccade"  # the same figure is the same bytes
        matplotlib.rcParams["svg.fonttype"] = "path"
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")  # `families` has said so
        yield


def _saved(figure: "Figure", form: str) -> bytes:
    """The same figure is the same bytes: no date, no random identifiers."""
    buffer = BytesIO()
    metadata = {"Date": None} if form == "svg" else {}
    figure.savefig(buffer, format=form, bbox_inches="tight", pad_inches=0.12, metadata=metadata)
    return buffer.getvalue()


def _described(svg: bytes, title: str, story: str) -> bytes:
    """An SVG, whose text is outlines so that no reader needs our fonts, with words for those who listen or search."""
    head, body = svg.decode().split("<svg ", 1)
    tag, rest = body.split(">", 1)
    title, story = (escape(_NO_XML.sub("·", text)) for text in (title, story))
    told = f"<title>{title}</title><desc>{story}</desc>"
    return f'{head}<svg role="img" {tag}>{told}{rest}'.encode()


def rounded(values: Any, *, significant: bool = False) -> Any:
    """Return a number, or lists of them, as files have them.

    Args:
        values: a number, or lists of them.
        significant: whether small ones keep as many digits, as numbers do that are no shares.

    >>> rounded([[1 / 3], 1.0]), rounded([1e-7 / 3], significant=True)
    ([[0.333333], 1.0], [3.33333e-08])
    """
    if isinstance(values, list):
        return [rounded(value, significant=significant) for value in values]
    number = float(values)
    leading = math.floor(math.log10(abs(number))) + 1 if significant and number and math.isfinite(number) else 0
    return round(number, _DECIMALS - min(0, leading))
