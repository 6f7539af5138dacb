"""Small images, or matrices of weights, in rows and columns with names: one picture to compare many."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look.drawing import write_picture
from saccade.look.pictures import COLOURS, DOTS, FAINT, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["grid"]

_GAP, _LINE, _LETTER = 0.06, 0.24, 0.075  # inches: between cells, of a line of text, and of a letter


def grid(
    images: Sequence[Sequence[Tensor]],
    path: str | Path,
    *,
    rows: Sequence[str],
    columns: Sequence[str] = (),
    title: str,
    note: str = "",
    side: float = 0.6,
    weights: bool = False,
) -> list[Path]:
    """Draw images in rows and columns.

    Args:
        images: rows of images `(height, width)` from 0 to 1, as many in each row, all finite. They are grey, 1 being
            white; of weights each row has a scale of its own, from 0, which is white, to its largest number.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        rows: what stands at the left of each row.
        columns: what stands above each column; none for nothing.
        title: a line above the picture.
        note: a line below the title.
        side: inches of a cell.
        weights: whether they are matrices of weights, of at least 0.

    Returns:
        The paths of the PNG and the SVG.

    Raises:
        ShapeError: if rows are of different lengths, names are not one a row and column, or an image is no matrix.
        ArgumentError: if there is nothing to draw, or numbers cannot be drawn.
        OSError: if the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = grid([[torch.eye(3), torch.ones(3, 3)]], f"{folder}/p", rows=["a"], title="t")
        >>> [path.name for path in paths]
        ['p.png', 'p.svg']
    """
    _check(images, rows, columns, weights)
    story = f"{len(rows)} rows of {len(images[0])}: {', '.join(rows)}"
    return write_picture(
        path,
        lambda: _figure(images, rows, columns, title, note, side, weights),
        title=title,
        story=f"{story}; columns: {', '.join(columns)}" if columns else story,
    )


def _check(images: Sequence[Sequence[Tensor]], rows: Sequence[str], columns: Sequence[str], weights: bool) -> None:
    if not images or not images[0]:
        raise ArgumentError("images: expected one or more, got none")
    counts = {len(row) for row in images}
    if len(counts) > 1 or len(rows) != len(images) or (columns and len(columns) not in counts):
        got = f"rows of {', '.join(map(str, sorted(counts)))} with {len(rows)} and {len(columns)} names"
        raise ShapeError(f"images, rows, columns: expected as many images in each row and a name for each, got {got}")
    for image in (image for row in images for image in row):
        if image.ndim != 2 or not image.numel():
            raise ShapeError(f"images: expected matrices of a number or more, got shape {tuple(image.shape)}")
        most = torch.inf if weights else 1
        if not bool((torch.isfinite(image) & (image >= 0) & (image <= most)).all()):
            raise ArgumentError(f"images: expected finite numbers from 0{'' if weights else ' to 1'}, got others")


def _figure(
    images: Sequence[Sequence[Tensor]],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    note: str,
    side: float,
    weights: bool,
) -> "Figure":
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    style: dict[str, Any] = {"family": families("".join([title, note, *rows, *columns])), "parse_math": False}
    left, step = 0.2 + _LETTER * max(map(len, rows)), side + _GAP
    head = _LINE * (1.5 + bool(note) + bool(columns))
    width, height = max(left + step * len(images[0]), _LETTER * len(note)), head + step * len(rows)
    figure = Figure(figsize=(width, height), dpi=DOTS)
    colours = LinearSegmentedColormap.from_list("weights", COLOURS) if weights else "gray"
    for line, row in enumerate(images):
        bottom = height - head - step * (line + 1)
        most = max(float(image.max()) for image in row) if weights else 1.0
        for place, image in enumerate(row):
            corner = ((left + place * step) / width, bottom / height, side / width, side / height)
            axes = figure.add_axes(corner)
            axes.imshow(image.numpy(), cmap=colours, vmin=0, vmax=most or 1.0, interpolation="nearest", aspect="auto")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set(color=FAINT, linewidth=0.4)
        figure.text(0.1 / width, (bottom + side / 2) / height, rows[line], va="center", fontsize=9, color=INK, **style)
    for place, name in enumerate(columns):
        middle = (left + place * step + side / 2) / width
        figure.text(middle, 1 - (head - 0.06) / height, name, ha="center", fontsize=8.5, color=INK, **style)
    figure.text(0.1 / width, 1 - 0.2 / height, title, fontsize=11, color=INK, **style)
    figure.text(0.1 / width, 1 - 0.42 / height, note, fontsize=8.5, color=FAINT, **style)
    return figure
