"""Image encoders. Their outputs are cells: features of positions or regions."""

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
    """Images in [0, 1] `(batch, channels, height, width)`, or features.

    Features have the shape `(batch, n, dim)`."""
    boxes: Tensor | None = None
    """Boxes of features: left, top, right, bottom as shares, `(batch, n, 4)`."""
    lengths: Tensor | None = None
    """Number of features of each image, `(batch,)`. None: n."""
    about: Tensor | None = None
    """Index of the image of each text, int64 `(texts,)`.

    An image with several texts is encoded once. None: one text per image."""

    def images(self) -> "Visual":
        """Return the images with one text each."""
        return self._replace(about=None)

    def to(self, device: torch.device) -> "Visual":
        """Return the batch on a device."""
        return Visual(*(None if part is None else part.to(device) for part in self))  # type: ignore[arg-type]


class Cells(NamedTuple):
    """Features of positions or regions of images, the memory of attention.

    >>> Cells(torch.zeros(2, 12, 8), shape=(3, 4)).lengths is None
    True
    """

    values: Tensor
    """`(batch, n, dim)`."""
    lengths: Tensor | None = None
    """Number of cells of each image, `(batch,)`. None: n."""
    shape: tuple[int, int] | None = None
    """Rows and columns of a map, in row-major order. None for regions."""

    def select(self, index: Tensor | None) -> "Cells":
        """Return the cells of the images with these indices. None: of all images.

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
class Options(cnn.Sizes):
    """The sizes of an image encoder.

    >>> Options(cell_dim=64).channels
    (32, 64, 128)
    """

    cell_dim: int = 128
    """Features of a cell."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        in_ranges(self, (("cell_dim", 1, WIDEST),))


_DEFAULT = Options()


class ImageEncoder(nn.Module):
    r"""A residual CNN with cells at the positions of its last feature map.

    .. math:: a_{ij} = \operatorname{relu}\big(\operatorname{norm}(W \operatorname{CNN}(x)_{ij})\big) + P\, p_{ij}

    where p is `place_code` of the cell's centre, and norm is batch normalization over images and cells. If most cells
    are background, they are about 0, and objects stand out. With stride s the receptive field of a cell is larger than
    s × s pixels. Images may have any size from 8 × 8 on.

    Args:
        channels: channels of the images.
        options: the sizes. `dropout` applies to the cells.
        mean, std: of each channel, as for `saccade.models.cnn.CNN`.

    Example:
        >>> cells = ImageEncoder(3, Options(widths="4,8", cell_dim=6))(Visual(torch.rand(2, 3, 32, 48)))
        >>> cells.values.shape, cells.shape
        (torch.Size([2, 96, 6]), (8, 12))

    Source:
        Xu et al. 2015, "Show, Attend and Tell", section 3.1.1 (https://arxiv.org/abs/1502.03044). Its cells are the
        14 × 14 positions of a feature map, without position code.
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
        del self.cnn.output  # cells have no classes
        self.project = nn.Linear(options.channels[-1], options.cell_dim, bias=False)
        self.norm, self.place = nn.BatchNorm1d(options.cell_dim), nn.Linear(_CODE, options.cell_dim)
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, visual: Visual) -> Cells:
        """Return the cells of images.

        Raises:
            ShapeError: if images have other channels, or are smaller than 8 × 8.
        """
        features = self.cnn.features(visual.values)
        rows, columns = features.shape[2:]
        projected = self.project(features.flatten(2).mT)
        content = F.relu(standardized(self.norm, projected.flatten(0, 1)).view(projected.shape))
        position = self.place(place_code(_centres(rows, columns).to(features.device)).to(features))
        return Cells(self.dropout(content + position), None, (rows, columns)).select(visual.about)


class FeatureEncoder(nn.Module):
    r"""Precomputed features as cells, with a code of position and size.

    .. math:: a_i = \operatorname{relu}(W f_i + b) + P\, [p_i;\, w_i;\, h_i]

    Args:
        dim: dimension of the precomputed features.
        cell_dim: features of a cell.
        dropout: dropout of the cells.
        shape: rows and columns of a map. None for regions.

    Example:
        >>> boxes = torch.tensor([0.0, 0.0, 0.5, 1.0]).expand(2, 7, 4)
        >>> cells = FeatureEncoder(16, 6)(Visual(torch.rand(2, 7, 16), boxes, torch.tensor([7, 3])))
        >>> cells.values.shape, cells.lengths
        (torch.Size([2, 7, 6]), tensor([7, 3]))

    Source:
        Anderson et al. 2018, "Bottom-Up and Top-Down Attention", section 3.1 (https://arxiv.org/abs/1707.07998), for
        regions, without position code.
    """

    def __init__(self, dim: int, cell_dim: int, dropout: float = 0.0, shape: tuple[int, int] | None = None) -> None:
        super().__init__()
        self.project, self.place = nn.Linear(dim, cell_dim), nn.Linear(_CODE + 2, cell_dim)
        self.dropout, self.shape = nn.Dropout(dropout), shape

    def forward(self, visual: Visual) -> Cells:
        """Return the cells of features.

        Raises:
            ShapeError: if the features do not have one box each.
        """
        values, boxes, lengths, _ = visual
        if boxes is None or values.ndim != 3 or boxes.shape != (*values.shape[:2], 4):
            got = None if boxes is None else tuple(boxes.shape)
            raise ShapeError(f"boxes: expected (batch, n, 4) for features {tuple(values.shape)}, got {got}")
        centres, extents = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
        position = self.place(torch.cat([place_code(centres), extents], -1))
        return Cells(self.dropout(F.relu(self.project(values)) + position), lengths, self.shape).select(visual.about)


_WAVES = 4
_CODE = 4 * _WAVES


def place_code(points: Tensor) -> Tensor:
    r"""Return the position code of points: sines and cosines of x and y.

    .. math:: p(x, y) = [\sin \pi 2^k x, \cos \pi 2^k x, \sin \pi 2^k y, \cos \pi 2^k y]_{k = 0}^{3}

    Args:
        points: x and y as shares of the image, `(..., 2)`, from 0 to 1.

    Returns:
        `(..., 16)`.

    Source:
        Vaswani et al. 2017, section 3.5, for sines and cosines. Mildenhall et al. 2020, "NeRF", Eq. 4
        (https://arxiv.org/abs/2003.08934), for frequencies of powers of two.

    Example:
        >>> place_code(torch.zeros(5, 2)).shape
        torch.Size([5, 16])
    """
    angles = torch.pi * points[..., None] * 2.0 ** torch.arange(_WAVES, device=points.device)
    return torch.cat([angles.sin(), angles.cos()], -1).flatten(-2)


def _centres(rows: int, columns: int) -> Tensor:
    """Return the centres of a map's cells, `(rows * columns, 2)`, x and y."""
    y, x = ((torch.arange(count) + 0.5) / count for count in (rows, columns))
    grid: Any = torch.stack([x.expand(rows, columns), y[:, None].expand(rows, columns)], -1)
    centres: Tensor = grid.flatten(0, 1)
    return centres
