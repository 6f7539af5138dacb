"""Images that models read, and weights or gradients over them as maps."""

import itertools
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade._definitions.numerics import divide
from saccade.data.media import is_file
from saccade.look._overlays import Box
from saccade.tasks.image.features.store import Features, FeatureStore
from saccade.tasks.image.images import image_of

__all__ = ["Shown", "featured", "maps_of", "parts_read", "shares", "shown"]

_RASTER, _UNKNOWN = 64, 96  # sides in pixels: of a map of regions, and of a missing picture
_DRAWN = (224, 224)  # pixels of the picture of features, cut as extraction cuts it


class Shown(NamedTuple):
    """An image as a model reads it, and as a picture.

    >>> Shown("a.png", torch.zeros(3, 8, 8, dtype=torch.uint8)).number
    1
    """

    name: str
    seen: Tensor | Features
    """The input of the model: `(channels, height, width)`, uint8, or features."""
    picture: Tensor | None = None
    """The image of features, if there is a file of it."""
    number: int = 1
    """Number of the line of input."""

    @property
    def image(self) -> Tensor:
        """The image under weights, grey if there is no picture."""
        if isinstance(self.seen, Tensor):
            return self.seen
        return torch.full((1, _UNKNOWN, _UNKNOWN), 128, dtype=torch.uint8) if self.picture is None else self.picture


def shown(store: FeatureStore | None, example: Any) -> Shown:
    """Return the image of an example, or its features if there is a store."""
    content = example.image if store is None else store.get(example.name)
    assert content is not None, "without features there are images"
    return Shown(example.name, content)


def featured(store: FeatureStore, name: str, number: int = 1) -> Shown:
    """Return the features of an image by name, with its picture if a file exists."""
    picture = image_of(name, 3, _DRAWN).image if is_file(name) else None
    return Shown(name, store.get(name), picture, number)


def maps_of(image: Shown, weights: Tensor, shape: tuple[int, int] | None) -> Tensor:
    """Return weights over the parts of an image as maps.

    A pixel has the largest weight of the regions that cover it.

    Args:
        image: the image, with boxes if its parts are regions.
        weights: `(rows, n)`.
        shape: rows and columns of cells, or None of regions, whose maps are `(rows, 64, 64)`.

    Example:
        >>> regions = Features(torch.zeros(2, 5), torch.tensor([[0.0, 0.0, 0.5, 1.0], [0.0, 0.0, 1.0, 1.0]]))
        >>> maps_of(Shown("a.png", regions), torch.tensor([[0.7, 0.3]]), None)[0, 0, [0, 63]]
        tensor([0.7000, 0.3000])
    """
    if shape is not None:
        return weights.unflatten(1, shape)  # type: ignore[no-any-return]
    assert isinstance(image.seen, Features), "without cells there are regions"
    middles = (torch.arange(_RASTER) + 0.5) / _RASTER
    left, top, right, bottom = image.seen.boxes.T[..., None]
    across, down = (left <= middles) & (middles < right), (top <= middles) & (middles < bottom)
    covered = down[:, :, None] & across[:, None, :]
    painted: Tensor = (weights[:, :, None, None] * covered).amax(1)
    return painted


def parts_read(image: Shown, weights: Tensor, shape: tuple[int, int] | None) -> list[Box | None] | None:
    """Return the box of the only part with weight in each row.

    Any other row has None. If no row has a single part, the result is None. For the arguments see `maps_of`.

    Example:
        >>> shown = Shown("a.png", torch.zeros(3, 8, 8, dtype=torch.uint8))
        >>> parts_read(shown, torch.tensor([[0.0, 1.0], [0.5, 0.5]]), (1, 2))
        [(0.5, 0.0, 1.0, 1.0), None]
    """
    hard = ((weights == 0) | (weights == 1)).all(1) & weights.any(1)
    if not bool(hard.any()):
        return None
    if shape is None:
        assert isinstance(image.seen, Features), "without cells there are regions"
        boxes = image.seen.boxes.clamp(0, 1).tolist()
    else:
        rows, columns = shape
        cells = itertools.product(range(rows), range(columns))
        boxes = [(x / columns, y / rows, (x + 1) / columns, (y + 1) / rows) for y, x in cells]
    singles = zip(weights, hard.tolist(), strict=True)
    return [tuple(boxes[int(row.argmax())]) if single else None for row, single in singles]


def shares(grads: Tensor, shape: tuple[int, int] | None) -> Tensor:
    r"""Return the share of each part of an image in the gradients of a number.

    .. math::
        w_c = \sum_{p \in c} \lVert \partial f / \partial x_p \rVert \Big/
            \sum_{p} \lVert \partial f / \partial x_p \rVert

    over the pixels p of a cell, with the norm over their channels, or over the one feature of a cell or region.

    Args:
        grads: by pixels `(rows, channels, height, width)`, or by features `(rows, n, dim)`.
        shape: rows and columns of cells, for pixels.

    Returns:
        `(rows, n)`, row by row of cells. All gradients of 0 give 0.

    Source:
        Simonyan, Vedaldi, Zisserman 2014, "Deep Inside Convolutional Networks", section 3
        (https://arxiv.org/abs/1312.6034), for one class.

    Example:
        >>> shares(torch.tensor([[[3.0, 4.0], [0.0, 5.0]]]), None)
        tensor([[0.5000, 0.5000]])
    """
    if grads.ndim == 4:
        assert shape is not None, "gradients by pixels have cells"
        sums = F.adaptive_avg_pool2d(grads.norm(dim=1), shape).flatten(1)
    else:
        sums = grads.norm(dim=-1)
    return divide(sums, sums.sum(1, keepdim=True))
