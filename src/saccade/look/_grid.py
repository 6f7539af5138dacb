"""Small images or matrices in rows and columns with names, to compare many."""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look._figure import Page, checked, draw_picture, ramp

_GAP = 0.06  # inches between cells


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
        images: rows of images `(height, width)`, as many in each row, finite, from 0, which is black, to 1. Weights are
            drawn from 0, which is white, to the largest number of their row.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        rows: names at the left of the rows.
        columns: names above the columns, or none.
        title: a line above the picture.
        note: a line below the title.
        side: inches of a cell.
        weights: whether they are matrices of weights, of at least 0.

    Raises:
        ShapeError: rows of different lengths, names that are not one a row and column, or an image that is no matrix.
        ArgumentError: no images, or numbers out of range.

    Example:
        >>> import torch
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = grid([[torch.eye(3), torch.ones(3, 3)]], f"{folder}/p", rows=["a"], title="t")
        >>> [path.name for path in paths]
        ['p.png', 'p.svg']
    """
    if not images or not images[0]:
        raise ArgumentError("images: expected one or more, got none")
    counts = {len(row) for row in images}
    if len(counts) > 1 or len(rows) != len(images) or (columns and len(columns) not in counts):
        got = f"rows of {', '.join(map(str, sorted(counts)))} with {len(rows)} and {len(columns)} names"
        raise ShapeError(f"images, rows, columns: expected as many images in each row and a name for each, got {got}")
    cells = [[checked("images", image, ("height", "width"), least=0) for image in row] for row in images]
    if not weights and max(float(image.max()) for row in cells for image in row) > 1:
        raise ArgumentError("images: expected numbers from 0 to 1, got more. Draw weights by weights=True")

    def draw(page: Page) -> None:
        step, left = side + _GAP, max(page.width_of(name, 9) for name in rows) + 0.1
        for line, row in enumerate(cells):
            top = max(float(image.max()) for image in row) if weights else 1.0
            for column, image in enumerate(row):
                axes = page.axes(left + column * step, line * step, side, side, ticks=False)
                colours = ramp() if weights else "gray"
                axes.imshow(
                    image.numpy(), cmap=colours, vmin=0, vmax=top or 1.0, interpolation="nearest", aspect="auto"
                )
            page.write(0, line * step + side / 2, rows[line], va="center")
        for column, name in enumerate(columns):
            page.write(left + column * step + side / 2, -0.06, name, 8.5, ha="center")

    story = f"{len(rows)} rows of {len(images[0])}: {', '.join(rows)}"
    story += f"; columns: {', '.join(columns)}" if columns else ""
    return draw_picture(path, draw, [*rows, *columns], title=title, note=note, kind="A grid", story=story)
