"""An image with maps laid over it, a panel each: what positions attend to, or where a class is found."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look._figure import Page, checked, full_scale, numbers, shortened, write_picture
from saccade.look._images import Box, boxed, draw_panels, pixels_of, upsampled, word_by_word
from saccade.look._labels import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Position = tuple[int, int]
"""Row and column of a cell."""


def overlays(
    image: Tensor,
    maps: Tensor,
    path: str | Path,
    *,
    captions: Sequence[str],
    marks: Sequence[Position | None] | None = None,
    boxes: Sequence[Box | None] | None = None,
    smooth: bool = False,
    title: str | None = None,
    scale: str = "weight",
    even: float = 0.0,
    animated: bool = False,
    json: bool = False,
) -> list[Path]:
    """Draw an image, and beside it the image in bright grey under each map.

    All maps share one scale of colours, from 0 to 1, or to the largest number if that is at most a half or above 1, but
    at the least to four even shares. At most eight are drawn; a line below names the others.

    Args:
        image: `(channels, height, width)`, 1 channel or 3, in [0, 1], or uint8.
        maps: `(panels, rows, columns)`, finite, at least 0; a cell covers its part of the image.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        captions: a line above each map.
        marks: for each map the row and column of a cell that is framed, such as the position that attends, or None.
        boxes: for each map a part of the image that is framed instead, as shares of it, or None.
        smooth: bring maps to the image's size smoothly.
        title: a line above the picture.
        scale: name of the colour bar.
        even: what each number of a map would be if all were equal; 0 for numbers that are not shares.
        animated: write a GIF too that shows one map after another, the captions as the words of a sentence.
        json: write the numbers beside it.

    Returns:
        The paths of the PNG and the SVG, of the GIF and of the JSON.

    Raises:
        ShapeError: other shapes, or captions or marks that are not one a map.
        ArgumentError: no pixels or no maps, numbers that are negative or not finite, or a mark outside its map.
        OSError: the files cannot be written.

    Source:
        Zhang et al. 2019, "Self-Attention Generative Adversarial Networks", figure 5: query positions and what they
        attend to; Selvaraju et al. 2017, figure 1.

    Example:
        >>> import torch
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = overlays(torch.rand(3, 8, 8), torch.rand(1, 4, 4), f"{folder}/cat", captions=["head 1"])
        >>> [path.name for path in paths]
        ['cat.png', 'cat.svg']
    """
    pixels, values = pixels_of(image), checked("maps", maps, (len(captions), "rows", "columns"), least=0)
    heading, names = plain(title or ""), [shortened(plain(caption), 28) for caption in captions]
    cells = _marked(marks, values)
    frames = [_box(cell, values.shape[1:]) for cell in cells] if boxes is None else boxed(boxes, len(values))
    drawn = upsampled(values, (pixels.shape[0], pixels.shape[1])) if smooth else values
    darkest = full_scale(float(values.max()), even, math.inf)

    def figure() -> "Figure":
        page = Page([*names, heading, scale])
        _, rest = draw_panels(page, pixels, drawn, names, frames, darkest, scale)
        return page.finished(heading, below=rest)

    more = {} if boxes is None else {"boxes": frames}
    return write_picture(
        path,
        figure,
        title=heading or "Maps over an image",
        story="; ".join(largest_cells(values, names, cells)),
        behind=numbers(heading, captions, [], values, marks=cells, darkest=darkest, **more) if json else None,
        pages={".gif": lambda: word_by_word(pixels, drawn, names, frames, darkest)} if animated else None,
    )


def _marked(marks: Sequence[Position | None] | None, maps: Tensor) -> list[Position | None]:
    """A mark or None for each map."""
    cells: list[Position | None] = [None] * len(maps) if marks is None else list(marks)
    if len(cells) != len(maps):
        raise ShapeError(f"marks: expected a cell or None for each of {len(maps)} maps, got {len(cells)}")
    rows, columns = maps.shape[1:]
    for cell in cells:
        if cell is not None and not (0 <= cell[0] < rows and 0 <= cell[1] < columns):
            raise ArgumentError(f"marks: expected a row and a column of a map {rows} × {columns}, got {cell}")
    return cells


def _box(cell: Position | None, shape: Sequence[int]) -> Box | None:
    if cell is None:
        return None
    (row, column), (rows, columns) = cell, shape
    return column / columns, row / rows, (column + 1) / columns, (row + 1) / rows


def largest_cells(maps: Tensor, names: Sequence[str], marks: Sequence[Position | None]) -> list[str]:
    """Return in words the largest number of each map, and where it is.

    Args:
        maps: `(panels, rows, columns)`.
        names: of the maps.
        marks: the position that each is of, or None.
    """
    told = []
    for name, matrix, mark in zip(names, maps, marks, strict=True):
        row, column = divmod(int(matrix.argmax()), matrix.shape[1])
        at = "" if mark is None else f" from row {mark[0] + 1}, column {mark[1] + 1}"
        told.append(f"{name}{at}: most at row {row + 1}, column {column + 1} ({float(matrix.max()):.2f})")
    return told
