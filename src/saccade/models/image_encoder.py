"""What models that speak of images see of them: cells, each a place with its features, and where that place is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import in_ranges
from saccade.errors import ShapeError
from saccade.models import cnn
from saccade.models.cnn import CNN, WIDEST
from saccade.models.standardized import standardized

__all__ = ["Cells", "FeatureEncoder", "ImageEncoder", "Options", "Visual", "place_code"]


class Visual(NamedTuple):
    """Images of a batch, or features of them.

    >>> Visual(torch.rand(2, 3, 32, 32)).boxes is None
    True
    """

    values: Tensor
    """Images `(batch, channels, height, width)` in [0, 1], or features `(batch, n, dim)`."""
    boxes: Tensor | None = None
    """Of features, `(batch, n, 4)`: left, top, right, bottom as shares of the image."""
    lengths: Tensor | None = None
    """How many features each image has, `(batch,)`; None: all of them n."""
    about: Tensor | None = None
    """Of each text, which of the images it is about, `(texts,)`, int64: an image of several texts is seen once, and its
    cells are there for each. None: of one text each, in their order."""

    def images(self) -> "Visual":
        """Return the images alone, one text each."""
        return self._replace(about=None)

    def to(self, device: torch.device) -> "Visual":
        """Return the batch on a device."""
        return Visual(*(None if part is None else part.to(device) for part in self))  # type: ignore[arg-type]


class Cells(NamedTuple):
    """The memory that a model attends to.

    >>> Cells(torch.zeros(2, 12, 8), shape=(3, 4)).lengths is None
    True
    """

    values: Tensor
    """`(batch, n, dim)`."""
    lengths: Tensor | None = None
    """How many cells each image has, `(batch,)`; None: all of them n."""
    shape: tuple[int, int] | None = None
    """Rows and columns of a map, which lie one row after another; None of regions."""

    def select(self, index: Tensor | None) -> "Cells":
        """Return the cells of some images, `(texts,)`; None: of all.

        >>> Cells(torch.zeros(2, 12, 8)).select(torch.tensor([0, 0, 1])).values.shape
        torch.Size([3, 12, 8])
        """
        if index is None:
            return self
        lengths = None if self.lengths is None else self.lengths.index_select(0, index)
        return Cells(self.values.index_select(0, index), lengths, self.shape)

    def mean(self) -> Tensor:
        """Return the mean of each image's cells, `(batch, dim)`.

        >>> Cells(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([2])).mean()
        tensor([[2.]])
        """
        if self.lengths is None:
            return self.values.mean(1)
        within = torch.arange(self.values.shape[1], device=self.values.device) < self.lengths[:, None]
        total = torch.where(within[..., None], self.values, 0).sum(1)
        return total / self.lengths.clamp(min=1)[:, None]


@dataclass(frozen=True, kw_only=True)
class Options(cnn.Options):
    """The sizes of what sees images.

    >>> Options(cell_dim=64).channels
    (32, 64, 128)
    """

    cell_dim: int = 128
    """Features of a cell."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        in_ranges(self, (("cell_dim", 1, WIDEST),))


_DEFAULT = Options()


class ImageEncoder(nn.Module):
    r"""A residual convolutional network whose last map is cells, with a code of where each lies.

    .. math:: a_{ij} = \operatorname{relu}\big(\operatorname{norm}(W \operatorname{CNN}(x)_{ij})\big) + P\, p_{ij}

    where p is `place_code` of the cell's middle, and the norm is batch normalization over images and cells: where most
    cells are ground, ground is about 0, and what is something stands out of their mean. A cell of stride s sees more
    than its s × s pixels: what the convolutions reach. Images of any size from 8 × 8 on have cells.

    Args:
        channels: of the images.
        options: the sizes; `dropout` is for the cells.
        mean, std: of each channel, see `saccade.models.cnn.CNN`.

    Example:
        >>> cells = ImageEncoder(3, Options(widths="4,8", cell_dim=6))(Visual(torch.rand(2, 3, 32, 48)))
        >>> cells.values.shape, cells.shape
        (torch.Size([2, 96, 6]), (8, 12))

    Source:
        Xu et al. 2015, "Show, Attend and Tell", section 3.1.1 (https://arxiv.org/abs/1502.03044), whose cells are the
        14 × 14 places of a convolutional map, without a code of places.
    """

    def __init__(
        self,
        channels: int,
        options: Options = _DEFAULT,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.cnn = CNN(channels, 1, options, mean, std)
        del self.cnn.output  # cells are wanted, no classes
        self.project = nn.Linear(options.channels[-1], options.cell_dim, bias=False)
        self.norm, self.place = nn.BatchNorm1d(options.cell_dim), nn.Linear(_CODE, options.cell_dim)
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, visual: Visual) -> Cells:
        """Return the cells of images.

        Raises:
            ShapeError: if these are no images of so many channels, or smaller than 8 × 8.
        """
        features = self.cnn.features(visual.values)
        rows, columns = features.shape[2:]
        projected = self.project(features.flatten(2).mT)
        what = F.relu(standardized(self.norm, projected.flatten(0, 1)).view(projected.shape))
        where = self.place(place_code(_middles(rows, columns).to(features.device)).to(features))
        return Cells(self.dropout(what + where), None, (rows, columns)).select(visual.about)


class FeatureEncoder(nn.Module):
    r"""Features out of a file as cells, with a code of where each lies and how large it is.

    .. math:: a_i = \operatorname{relu}(W f_i + b) + P\, [p_i;\, w_i;\, h_i]

    Args:
        dim: of the features.
        cell_dim: features of a cell.
        dropout: probability of dropping a feature of a cell, in training.
        shape: rows and columns where the features are of a map; None of regions.

    Example:
        >>> boxes = torch.tensor([0.0, 0.0, 0.5, 1.0]).expand(2, 7, 4)
        >>> cells = FeatureEncoder(16, 6)(Visual(torch.rand(2, 7, 16), boxes, torch.tensor([7, 3])))
        >>> cells.values.shape, cells.lengths
        (torch.Size([2, 7, 6]), tensor([7, 3]))

    Source:
        Anderson et al. 2018, "Bottom-Up and Top-Down Attention", section 3.1 (https://arxiv.org/abs/1707.07998), for
        regions, which have no code of places there.
    """

    def __init__(self, dim: int, cell_dim: int, dropout: float = 0.0, shape: tuple[int, int] | None = None) -> None:
        super().__init__()
        self.project, self.place = nn.Linear(dim, cell_dim), nn.Linear(_CODE + 2, cell_dim)
        self.dropout, self.shape = nn.Dropout(dropout), shape

    def forward(self, visual: Visual) -> Cells:
        """Return the cells of features.

        Raises:
            ShapeError: if features have no boxes, or others than one each.
        """
        values, boxes, lengths, _ = visual
        if boxes is None or values.ndim != 3 or boxes.shape != (*values.shape[:2], 4):
            got = None if boxes is None else tuple(boxes.shape)
            raise ShapeError(f"boxes: expected (batch, n, 4) for features {tuple(values.shape)}, got {got}")
        middles, extents = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
        where = self.place(torch.cat([place_code(middles), extents], -1))
        return Cells(self.dropout(F.relu(self.project(values)) + where), lengths, self.shape).select(visual.about)


_WAVES = 4
_CODE = 4 * _WAVES


def place_code(places: Tensor) -> Tensor:
    r"""Return sines and cosines of places, so that near ones are alike and all differ.

    .. math:: p(x, y) = [\sin \pi 2^k x, \cos \pi 2^k x, \sin \pi 2^k y, \cos \pi 2^k y]_{k = 0}^{3}

    Args:
        places: x and y as shares of the image, `(..., 2)`, each from 0 to 1.

    Returns:
        `(..., 16)`.

    Source:
        Vaswani et al. 2017, section 3.5, for sines and cosines; of powers of two as in Mildenhall et al. 2020, "NeRF",
        Eq. 4 (https://arxiv.org/abs/2003.08934).

    Example:
        >>> place_code(torch.zeros(5, 2)).shape
        torch.Size([5, 16])
    """
    angles = torch.pi * places[..., None] * 2.0 ** torch.arange(_WAVES, device=places.device)
    return torch.cat([angles.sin(), angles.cos()], -1).flatten(-2)


def _middles(rows: int, columns: int) -> Tensor:
    """Middles of a map's cells, `(rows * columns, 2)`, x and y."""
    y, x = ((torch.arange(count) + 0.5) / count for count in (rows, columns))
    places: Any = torch.stack([x.expand(rows, columns), y[:, None].expand(rows, columns)], -1)
    found: Tensor = places.flatten(0, 1)
    return found
