"""The models whose answers are timed, by images of any size, and the operations that an answer takes."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from saccade.bench.row import Run
from saccade.models import cnn, ram, tiles, whole

__all__ = ["GLIMPSES", "HARD", "MODELS", "PATCH", "SOFT", "Model", "operations", "prepared"]

GLIMPSES, PATCH, SCALES, CLASSES = 6, 12, 3, 10
HARD, SOFT = "tiles, hard", "tiles, soft"


@dataclass(frozen=True)
class Model:
    """A model whose answers are timed.

    Args:
        make: makes it.
        grows: whether its cost is claimed to grow with the image; None where nothing is claimed of that.
        unseen: what it does beside the products that are counted as operations.
    """

    make: Callable[[], nn.Module]
    grows: bool | None
    unseen: str


def _tiled(kind: type[nn.Module], options: type) -> Callable[[], nn.Module]:
    return lambda: kind(1, CLASSES, options(glimpses=GLIMPSES, patch=PATCH))


_THUMBNAILS = "means of all pixels for the thumbnails, the softmax over tiles"
MODELS: dict[str, Model] = {
    "RAM": Model(
        lambda: ram.Ram(1, CLASSES, ram.Options(glimpses=GLIMPSES, patch=PATCH, scales=SCALES)),
        False,
        f"{GLIMPSES} × {(PATCH << (SCALES - 1)) ** 2:,} pixels that are read and added up",
    ),
    HARD: Model(_tiled(tiles.Tiles, tiles.Options), None, _THUMBNAILS),
    SOFT: Model(_tiled(tiles.SoftTiles, tiles.Tiling), True, f"{_THUMBNAILS}, a copy of all tiles"),
    "CNN of the paper": Model(lambda: whole.Whole(1, CLASSES), True, "rectifying and pooling its features"),
    "residual CNN": Model(lambda: cnn.CNN(1, CLASSES), True, "rectifying, normalizing and pooling its features"),
}
"""By their names."""


def prepared(name: str, side: int) -> Run:
    """Return a call without arguments: the answer to one image of `side` × `side` pixels that lies in memory.

    >>> prepared("RAM", 40)().shape
    torch.Size([1, 10])
    """
    torch.manual_seed(0)
    model = MODELS[name].make().eval()
    image = torch.rand(1, 1, side, side)

    def answer() -> Tensor:
        with torch.inference_mode():
            found: Tensor = model(image)
        return found

    return answer


def operations(name: str, side: int) -> int:
    """Return the operations of matrix products and convolutions in one answer, as torch counts them.

    Two for a multiplication and what it is added to. What `Model.unseen` says is not among them.

    >>> operations("RAM", 40) == operations("RAM", 80)
    True
    """
    run = prepared(name, side)
    with FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())
