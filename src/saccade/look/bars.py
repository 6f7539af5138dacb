"""Numbers of things with names as bars, as PNG and SVG, in the style of the other pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look.curves import STYLES, framed
from saccade.look.drawing import full_scale, numbers, write_picture
from saccade.look.labels import plain
from saccade.look.pictures import DOTS, FAINT, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MOST_BARS", "bars"]

_WIDE, _LINE, _AROUND = 7.2, 0.3, 1.35  # inches: a picture, a bar's line, and what stands above and below all of them
_LONGEST = 34  # characters of a name
MOST_BARS = 100


def bars(
    names: Sequence[str],
    values: Tensor,
    path: str | Path,
    *,
    label: str,
    title: str,
    note: str = "",
    most: float | None = None,
    json: bool = False,
) -> list[Path]:
    """Draw a bar for each of some things, the first on top.

    Args:
        names: of the things, at most 100.
        values: `(names,)`, finite; those below 0 are drawn to the left.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        label: what bars show.
        title: a line above the picture.
        note: a line below the title.
        most: where the axis ends; None: as the longest bar has it.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG and the SVG, and of the JSON if it is wanted.

    Raises:
        ShapeError: if there are more values than names, or fewer.
        ArgumentError: if there is none, or too many, or numbers that are not finite.
        OSError: if the files cannot be written.

    Example:
        >>> import torch
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = bars(["a", "b"], torch.tensor([0.9, 0.1]), f"{folder}/a", label="weight", title="a set")
        >>> [path.name for path in paths]
        ['a.png', 'a.svg']
    """
    if values.shape != (len(names),):
        raise ShapeError(f"values: expected shape ({len(names)},), got {tuple(values.shape)}")
    if not 0 < len(names) <= MOST_BARS or not bool(values.isfinite().all()):
        got = f"{len(names)}" if bool(values.isfinite().all()) else "others"
        raise ArgumentError(f"values: expected 1 to {MOST_BARS} finite numbers, got {got}")
    heading, shown = plain(title), [_cut(plain(name)) for name in names]
    row = values.detach().double().cpu()
    top = most or full_scale(float(row.abs().max()), 0.0)
    told = "; ".join(f"{name} {value:.4g}" for name, value in zip(shown, row.tolist(), strict=True))
    return write_picture(
        path,
        lambda: _bars_figure(shown, row, plain(label), heading, plain(note), most),
        title=heading or "Bars",
        story=f"{label}: {told}",
        behind=numbers(heading, [label], names, row[None], darkest=top) if json else None,
    )


def _bars_figure(
    names: Sequence[str], values: Tensor, label: str, title: str, note: str, most: float | None
) -> "Figure":
    from matplotlib.figure import Figure

    words, height = "".join([title, note, label, *names]), _AROUND + _LINE * len(names)
    style: dict[str, Any] = {"family": families(words), "parse_math": False, "color": INK}
    figure = Figure(figsize=(_WIDE, height), dpi=DOTS)
    axes = figure.add_axes((0.3, 0.55 / height, 0.62, _LINE * len(names) / height))
    colours = [STYLES[int(value < 0)][0] for value in values.tolist()]
    axes.barh(range(len(names)), values.numpy(), height=0.62, color=colours, linewidth=0)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    if most is not None:
        axes.set_xlim(0, most)
    if bool((values < 0).any()):
        axes.axvline(0, color=FAINT, linewidth=0.6)
    framed(axes, (label, ""), style, grid="x")
    figure.text(0.02, 1 - 0.3 / height, title, fontsize=12, **style)
    figure.text(0.02, 1 - 0.55 / height, note, fontsize=8.5, **{**style, "color": FAINT})
    return figure


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
