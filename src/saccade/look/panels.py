"""One map over an image: the image in grey, and the more of a colour on it the larger a number is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ArgumentError, ShapeError
from saccade.look.pictures import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CMAP", "Box", "Position", "boxed", "draw_frame", "draw_panel", "show_pixels", "upsampled"]

Position = tuple[int, int]
"""Row and column of a cell."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a part, as shares of the image."""

CMAP = "inferno"
_CRISP = 100  # pixels of the longer side up to which every one is a square
_MARK = "#35e0ff"


def draw_panel(axes: "Axes", pixels: Tensor, values: Tensor, top: float, frame: Box | None) -> Any:
    """Draw an image in grey below a map, and return what has the map's colours.

    Args:
        axes: all of them are filled.
        pixels: `(height, width, 3)` in [0, 1].
        values: `(rows, columns)`, at least 0; each covers its part of the image.
        top: the number that is drawn brightest.
        frame: a part that is framed; None for none.
    """
    height, width = pixels.shape[:2]
    grey = pixels @ torch.tensor([0.299, 0.587, 0.114], dtype=pixels.dtype)
    show_pixels(axes, (0.15 + 0.7 * grey)[..., None].expand(-1, -1, 3))
    drawn = axes.imshow(
        values.numpy(), cmap=CMAP, vmin=0, vmax=top, alpha=(0.25 + 0.6 * (values / top).clamp(0, 1)).numpy(),
        extent=(0, width, height, 0), interpolation="nearest", aspect="auto",
    )  # fmt: skip
    if frame is not None:
        draw_frame(axes, frame, (height, width))
    return drawn


def draw_frame(axes: "Axes", frame: Box, size: tuple[int, int], start: float = 0.0) -> None:
    """Draw the edges of a part of an image.

    Args:
        axes: the image is drawn on.
        frame: the part.
        size: of the image, its height and width.
        start: where the image's first pixel begins on both axes.
    """
    from matplotlib.patches import Rectangle

    (left, upper, right, lower), (height, width) = frame, size
    corner = start + left * width, start + upper * height
    across, down = (right - left) * width, (lower - upper) * height
    axes.add_patch(Rectangle(corner, across, down, fill=False, edgecolor=_MARK, linewidth=1.5))


def boxed(boxes: Sequence[Box | None] | None, count: int) -> list[Box | None]:
    """Return a box or None for each of several maps.

    Raises:
        ShapeError: if there are more or fewer.
        ArgumentError: if one is no part of an image.
    """
    found: list[Box | None] = [None] * count if boxes is None else list(boxes)
    if len(found) != count:
        raise ShapeError(f"boxes: expected a box or None for each of {count} maps, got {len(found)}")
    for box in found:
        if box is not None and not (0 <= box[0] <= box[2] <= 1 and 0 <= box[1] <= box[3] <= 1):
            raise ArgumentError(f"boxes: expected left, top, right and bottom as shares of the image, got {box}")
    return found


def upsampled(values: Tensor, size: tuple[int, int]) -> Tensor:
    """Return maps `(panels, rows, columns)` brought to a height and a width smoothly, as Xu et al. 2015 show theirs.

    >>> upsampled(torch.tensor([[[0.0, 1.0]]]), (1, 4))
    tensor([[[0.0000, 0.2500, 0.7500, 1.0000]]])
    """
    return F.interpolate(values[None], size, mode="bilinear", align_corners=False)[0]


def show_pixels(axes: "Axes", pixels: Tensor) -> None:
    """Draw an image `(height, width, 3)` in [0, 1]."""
    height, width = pixels.shape[:2]
    method = "nearest" if max(height, width) <= _CRISP else "antialiased"
    axes.imshow(pixels.numpy(), extent=(0, width, height, 0), interpolation=method, aspect="auto")
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[])
    axes.spines[:].set(color=FAINT, linewidth=0.5)
