"""Small images or matrices in rows and columns with names, to compare many."""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from saccade.errors import ArgumentError
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
    """Draw images `(height, width)` in rows and columns, from 0 (black) to 1.

    Weights are drawn from 0 (white) to the largest number of their row. A cell has `side` inches.
    """
    cells = [[checked("images", image, ("height", "width"), least=0) for image in row] for row in images]
    if not weights and any(bool((image > 1).any()) for row in cells for image in row):
        raise ArgumentError("images: expected numbers from 0 to 1, got more. Draw weights by weights=True")

    def draw(page: Page) -> None:
        step, left = side + _GAP, max(width for _, width in page.measured(rows, 9)) + 0.1
        for line, (name, row) in enumerate(zip(rows, cells, strict=True)):
            top = max(float(image.max()) for image in row) if weights else 1.0
            colours = ramp() if weights else "gray"
            for column, image in enumerate(row):
                axes = page.axes(left + column * step, line * step, side, side, ticks=False)
                axes.imshow(image.numpy(), cmap=colours, vmin=0, vmax=top or 1.0)
            page.write(0, line * step + side / 2, name, va="center")
        for column, name in enumerate(columns):
            page.write(left + column * step + side / 2, -0.06, name, 8.5, ha="center")

    story = [f"{len(rows)} rows of {len(images[0])}: {', '.join(rows)}"]
    story += [f"columns: {', '.join(columns)}"] if columns else []
    return draw_picture(path, draw, title, "A grid", story, note=note)
