"""Views of an image around a point: a sharp patch, and coarse wider ones."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import whole
from saccade._definitions.numerics import wide
from saccade.errors import ArgumentError, ShapeError
from saccade.kernels.patches import patches
from saccade.kernels.threads import serves
from saccade.nn._checks import sizes

__all__ = ["LARGEST", "Glimpse", "Retina"]

LARGEST = 4096
"""Largest side of the widest patch in pixels: 16 million pixels a glimpse."""


class Retina(nn.Module):
    r"""Square patches of one size around a point, each twice as wide as the last.

    .. math::
        \rho_{s,i,j} = \frac{1}{4^s} \sum_{0 \le a, b < 2^s} x\big(r_s + 2^s i + a,\; c_s + 2^s j + b\big), \qquad
        (c_s, r_s) = \frac{\ell + 1}{2} \odot (W, H) - 2^{s-1} n

    for patches of n × n pixels at scales s = 0, 1, ... A pixel of a coarse patch is the mean of the pixels under it.
    Pixels outside the image are 0. The cost does not depend on the size of the image: only pixels under the patches are
    read, once for all scales (of images that are contiguous in memory).

    Args:
        size: n, pixels of a patch's side. With several scales it is even, so that all have one centre.
        scales: the number of patches.
        mode: interpolation: "nearest" moves patches to whole pixels, and is faster. "bilinear" mixes the four
            neighbours, and has a gradient to the location.

    Raises:
        ArgumentError: sizes or scales below 1, patches wider than 4,096 pixels, an odd size with several scales.

    Example:
        >>> retina = Retina(8, scales=2)
        >>> retina(torch.rand(5, 1, 28, 28), torch.zeros(5, 3, 2)).shape  # 5 images, 3 points in each
        torch.Size([5, 3, 2, 1, 8, 8])

    Source:
        Mnih, Heess, Graves, Kavukcuoglu 2014, "Recurrent Models of Visual Attention", section 3 and figure 1 A
        (https://arxiv.org/abs/1406.6247). The paper does not describe the downsampling.
    """

    def __init__(self, size: int = 8, scales: int = 1, mode: Literal["nearest", "bilinear"] = "nearest") -> None:
        super().__init__()
        whole("size", size, least=1, high=LARGEST)
        whole("scales", scales, least=1, high=LARGEST)
        if size << (scales - 1) > LARGEST:
            raise ArgumentError(f"size, scales: expected patches of at most {LARGEST} pixels, got {size} and {scales}")
        if scales > 1 and size % 2:
            raise ArgumentError(f"size: expected an even number with {scales} scales, got {size}")
        if mode not in ("nearest", "bilinear"):
            raise ArgumentError(f"mode: expected nearest or bilinear, got {mode!r}")
        self.size, self.scales, self.mode = size, scales, mode

    @property
    def widest(self) -> int:
        """Pixels of the image that the coarsest patch covers, from side to side."""
        return self.size << (self.scales - 1)

    def forward(self, images: Tensor, location: Tensor, index: Tensor | None = None) -> Tensor:
        """Return the patches around points.

        Args:
            images: `(batch, channels, height, width)`, floating point.
            location: `(batch, ..., 2)`, x and y: −1 is the left or upper edge of the image, 1 the right or lower one.
            index: of the images of the points `(n, ..., 2)`, `(n,)`, int64. None is one image after another.

        Returns:
            `(batch, ..., scales, channels, size, size)`, the finest first.

        Raises:
            ShapeError: if the shapes do not fit.
        """
        if images.ndim != 4 or not images.is_floating_point() or not images.shape[1:].numel():
            got = f"{tuple(images.shape)} of {images.dtype}"
            expected = "(batch, channels, height, width) with pixels, floating point"
            raise ShapeError(f"images: expected {expected}, got {got}")
        if index is not None and (index.ndim != 1 or index.dtype != torch.int64):
            raise ShapeError(f"index: expected (n,) of int64, got {tuple(index.shape)} of {index.dtype}")
        count = len(images) if index is None else len(index)
        if location.ndim < 2 or location.shape[0] != count or location.shape[-1] != 2:
            expected = f"({count}, ..., 2), x and y for each image"
            raise ShapeError(f"location: expected shape {expected}, got {tuple(location.shape)}")
        points = wide(location.flatten(0, -2))  # bfloat16 has 256 numbers from the middle to an edge
        if index is None:
            index = torch.arange(count, device=images.device)
        index = index.repeat_interleave(points.shape[0] // max(1, count))
        # x and y, in pixels, of the left upper corner of the widest patch
        corner = (points + 1) / 2 * points.new_tensor([images.shape[3], images.shape[2]]) - self.widest / 2
        crops = self._patches(images, index, corner)
        return crops.view(*location.shape[:-1], *crops.shape[1:])

    def _patches(self, images: Tensor, index: Tensor, corner: Tensor) -> Tensor:
        """Patches `(points, scales, channels, size, size)` of images `(points,)`."""
        if self.mode == "bilinear":
            return self._scales(self._mixed(images, index, corner))
        # Far outside is clamped to just outside, so that no integer overflows.
        first = corner.detach().nan_to_num().round().clamp(-self.widest, max(images.shape[2:])).long()
        if images.is_contiguous() and not images.requires_grad and serves(images):
            return patches(images, index, first, self.size, self.scales)
        return self._scales(self._cut(images, index, first, self.widest))

    def _scales(self, around: Tensor) -> Tensor:
        """All scales of the widest patches `(points, channels, widest, widest)`."""
        crops = []
        for scale in range(self.scales):
            if scale:  # the mean of four equal means is the mean of all their pixels
                around = F.avg_pool2d(around, 2)
            before = (around.shape[-1] - self.size) // 2
            crops.append(around[..., before : before + self.size, before : before + self.size])
        return torch.stack(crops, 1)

    def extra_repr(self) -> str:
        return f"size={self.size}, scales={self.scales}, mode={self.mode!r}"

    def _cut(self, images: Tensor, index: Tensor, first: Tensor, side: int) -> Tensor:
        """Pixels `(points, channels, side, side)` of images, 0 outside."""
        height, width = images.shape[2:]
        steps = torch.arange(side, device=images.device)
        columns, rows = (first[:, axis, None] + steps for axis in (0, 1))  # (points, side)
        inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
        planes = index[:, None] * images.shape[1] + torch.arange(images.shape[1], device=images.device)
        offsets = rows.clamp(0, height - 1)[:, :, None] * width + columns.clamp(0, width - 1)[:, None, :]
        flat = planes[:, :, None, None] * (height * width) + offsets[:, None]
        # Masked, not multiplied: 0 times a NaN at the edge is NaN.
        return images.flatten().index_select(0, flat.flatten()).view(flat.shape).masked_fill(~inside[:, None], 0.0)

    def _mixed(self, images: Tensor, index: Tensor, corner: Tensor) -> Tensor:
        """The widest patches by bilinear interpolation."""
        corner = corner.nan_to_num().clamp(-self.widest - 1, max(images.shape[2:]))
        whole = corner.detach().floor()
        x, y = (corner - whole).to(images.dtype)[:, None, None, :].unbind(-1)
        around = self._cut(images, index, whole.long(), self.widest + 1)
        upper, lower = around[:, :, :-1], around[:, :, 1:]
        lines = upper + (lower - upper) * y[..., None]
        left, right = lines[..., :-1], lines[..., 1:]
        return left + (right - left) * x[..., None]


class Glimpse(nn.Module):
    r"""Features of the patches around a point, and of the point itself.

    .. math::
        g = \operatorname{relu}\big(W_2 \operatorname{relu}(W_1 \rho) + V_2 \operatorname{relu}(V_1 \ell)\big)

    or, with ``combine="multiply"``, the product of the two instead of their sum.

    Args:
        retina: the source of patches.
        channels: of the images.
        hidden_dim: hidden features, of the patches and of the point each.
        output_dim: features of the glimpse.
        combine: "add" (Mnih et al. 2014) or "multiply" (Ba, Mnih, Kavukcuoglu 2015).

    Raises:
        ArgumentError: another `combine`, sizes below 1.

    Example:
        >>> glimpse = Glimpse(Retina(8, scales=3), channels=1, output_dim=256)
        >>> glimpse(torch.rand(5, 1, 60, 60), torch.zeros(5, 2)).shape
        torch.Size([5, 256])

    Source:
        Mnih et al. 2014, section 4 ("Glimpse network"). Ba, Mnih, Kavukcuoglu 2015, "Multiple Object Recognition with
        Visual Attention", section 3 (https://arxiv.org/abs/1412.7755). There the patches pass three convolutions, and
        the product is not rectified.
    """

    def __init__(
        self,
        retina: Retina,
        channels: int = 1,
        hidden_dim: int = 128,
        output_dim: int = 256,
        combine: Literal["add", "multiply"] = "add",
    ) -> None:
        super().__init__()
        if combine not in ("add", "multiply"):
            raise ArgumentError(f"combine: expected add or multiply, got {combine!r}")
        sizes(channels=channels, hidden_dim=hidden_dim, output_dim=output_dim)
        self.retina, self.combine = retina, combine
        pixels = retina.scales * channels * retina.size**2
        self.what = nn.Sequential(nn.Linear(pixels, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, output_dim))
        self.where = nn.Sequential(nn.Linear(2, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, output_dim))

    def forward(self, images: Tensor, location: Tensor, index: Tensor | None = None) -> Tensor:
        """Return features `(batch, ..., output_dim)` of glimpses.

        Args:
            images, location, index: as for `Retina`.
        """
        what, where = self.what(self.retina(images, location, index).flatten(-4)), self.where(location)
        return F.relu(what * where if self.combine == "multiply" else what + where)
