"""One map over an image: the image in grey, and the more of a colour on it the larger a number is."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.look.pictures import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CMAP", "Position", "draw_panel", "show_pixels"]

Position = tuple[int, int]
"""Row and column of a cell."""

CMAP = "inferno"
_CRISP = 100  # pixels of the longer side up to which every one is a square
_MARK = "#35e0ff"


def draw_panel(axes: "Axes", pixels: Tensor, values: Tensor, top: float, mark: Position | None) -> Any:
    """Draw an image in grey below a map, and return what has the map's colours.

    Args:
        axes: all of them are filled.
        pixels: `(height, width, 3)` in [0, 1].
        values: `(rows, columns)`, at least 0; each covers its part of the image.
        top: the number that is drawn brightest.
        mark: a cell that is framed; None for none.
    """
    from matplotlib.patches import Rectangle

    height, width = pixels.shape[:2]
    grey = pixels @ torch.tensor([0.299, 0.587, 0.114], dtype=pixels.dtype)
    show_pixels(axes, (0.15 + 0.7 * grey)[..., None].expand(-1, -1, 3))
    drawn = axes.imshow(
        values.numpy(), cmap=CMAP, vmin=0, vmax=top, alpha=(0.25 + 0.6 * (values / top).clamp(0, 1)).numpy(),
        extent=(0, width, height, 0), interpolation="nearest", aspect="auto",
    )  # fmt: skip
    if mark is not None:
        down, across = height / values.shape[0], width / values.shape[1]
        corner = mark[1] * across, mark[0] * down
        axes.add_patch(Rectangle(corner, across, down, fill=False, edgecolor=_MARK, linewidth=1.5))
    return drawn


def show_pixels(axes: "Axes", pixels: Tensor) -> None:
    """Draw an image `(height, width, 3)` in [0, 1]."""
    height, width = pixels.shape[:2]
    method = "nearest" if max(height, width) <= _CRISP else "antialiased"
    axes.imshow(pixels.numpy(), extent=(0, width, height, 0), interpolation=method, aspect="auto")
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[])
    axes.spines[:].set(color=FAINT, linewidth=0.5)
