"""Views of an image around a point: a sharp patch, and coarse wider ones."""

import math
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

_DOUBLINGS = LARGEST.bit_length()  # more of them are wider than the largest patch, whatever the factor above 1


class Retina(nn.Module):
    r"""Patches of one size around a point, each f times as wide as the last.

    .. math::
        \rho_{s,i,j} = \frac{1}{f^{2s}} \sum_{0 \le a, b < f^s} x\big(r_s + f^s i + a,\; c_s + f^s j + b\big), \qquad
        (c_s, r_s) = \frac{\ell + 1}{2} \odot (W, H) - \frac{f^s}{2} (w, h)

    for patches of h × w pixels at scales s = 0, 1, ... A pixel of a coarse patch is the mean of the pixels under it.
    Pixels outside the image are 0. The cost does not depend on the size of the image: only pixels under the patches are
    read, once for all scales (of images that are contiguous in memory).

    Args:
        size: h and w in pixels, or one number for both. With several scales and an even f they are even, so that all
            patches have one centre.
        scales: the number of patches.
        mode: interpolation: "nearest" moves patches to whole pixels, and is faster. "bilinear" mixes the four
            neighbours, and has a gradient to the location.
        factor: f, an integer.

    Raises:
        ArgumentError: sizes, scales or a factor below 1, patches wider than 4,096 pixels, an odd size with several
            scales and an even factor.

    Example:
        >>> retina = Retina(8, scales=2)
        >>> retina(torch.rand(5, 1, 28, 28), torch.zeros(5, 3, 2)).shape  # 5 images, 3 points in each
        torch.Size([5, 3, 2, 1, 8, 8])
        >>> Retina((8, 4), scales=2, factor=4)(torch.rand(5, 1, 28, 28), torch.zeros(5, 2)).shape
        torch.Size([5, 2, 1, 8, 4])

    Source:
        Mnih, Heess, Graves, Kavukcuoglu 2014, "Recurrent Models of Visual Attention", section 3 and figure 1 A
        (https://arxiv.org/abs/1406.6247), where f is 2 and patches are squares. The paper does not describe the
        downsampling.
    """

    def __init__(
        self,
        size: int | tuple[int, int] = 8,
        scales: int = 1,
        mode: Literal["nearest", "bilinear"] = "nearest",
        factor: int = 2,
    ) -> None:
        super().__init__()
        sides = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
        if len(sides) != 2:
            raise ArgumentError(f"size: expected a number or (height, width), got {size!r:.80}")
        for side in sides:
            whole("size", side, least=1, high=LARGEST)
        whole("scales", scales, least=1, high=LARGEST)
        whole("factor", factor, least=1, high=LARGEST)
        if max(sides) * factor ** min(scales - 1, _DOUBLINGS) > LARGEST:
            got = f"{size}, {scales} and {factor}"
            raise ArgumentError(f"size, scales, factor: expected patches of at most {LARGEST} pixels, got {got}")
        if scales > 1 and factor % 2 == 0 and any(side % 2 for side in sides):
            raise ArgumentError(f"size: expected even numbers with {scales} scales, got {size}")
        if mode not in ("nearest", "bilinear"):
            raise ArgumentError(f"mode: expected nearest or bilinear, got {mode!r}")
        self.size, self.sides, self.scales, self.mode, self.factor = size, sides, scales, mode, factor

    @property
    def widest(self) -> tuple[int, int]:
        """Height and width in pixels of the part of an image under the coarsest patch."""
        height, width = self.sides
        return height * self.factor ** (self.scales - 1), width * self.factor ** (self.scales - 1)

    def forward(self, images: Tensor, location: Tensor, index: Tensor | None = None) -> Tensor:
        """Return the patches around points.

        Args:
            images: `(batch, channels, height, width)`, floating point.
            location: `(batch, ..., 2)`, x and y: −1 is the left or upper edge of the image, 1 the right or lower one.
            index: of the images of the points `(n, ..., 2)`, `(n,)`, int64. None is one image after another.

        Returns:
            `(batch, ..., scales, channels, height, width)` of patches, the finest first.

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
        corner = (points + 1) / 2 * points.new_tensor([images.shape[3], images.shape[2]]) - self._reach(points) / 2
        crops = self._patches(images, index, corner)
        return crops.view(*location.shape[:-1], *crops.shape[1:])

    def _patches(self, images: Tensor, index: Tensor, corner: Tensor) -> Tensor:
        """Patches `(points, scales, channels, height, width)` of images `(points,)`."""
        if self.mode == "bilinear":
            return self._scales(self._mixed(images, index, corner))
        # Far outside is clamped to just outside, so that no integer overflows.
        first = corner.detach().nan_to_num().round().clamp(-self._reach(corner)).clamp(max=max(images.shape[2:])).long()
        height, width = self.sides
        usual = height == width and (self.factor == 2 or self.scales == 1)
        if usual and images.is_contiguous() and not images.requires_grad and serves(images):
            return patches(images, index, first, height, self.scales)
        return self._scales(self._cut(images, index, first, self.widest))

    def _scales(self, around: Tensor) -> Tensor:
        """All scales of the widest patches `(points, channels, *widest)`."""
        crops, (height, width) = list[Tensor](), self.sides
        for scale in range(self.scales):
            if scale:  # the mean of equally many equal means is the mean of all their pixels
                around = F.avg_pool2d(around, self.factor)
            top, left = (around.shape[-2] - height) // 2, (around.shape[-1] - width) // 2
            crops.append(around[..., top : top + height, left : left + width])
        return torch.stack(crops, 1)

    def _reach(self, points: Tensor) -> Tensor:
        """Width and height of the widest patch."""
        height, width = self.widest
        return points.new_tensor([width, height])

    def extra_repr(self) -> str:
        return f"size={self.size}, scales={self.scales}, mode={self.mode!r}, factor={self.factor}"

    def _cut(self, images: Tensor, index: Tensor, first: Tensor, sides: tuple[int, int]) -> Tensor:
        """Pixels `(points, channels, *sides)` of images, 0 outside."""
        height, width = images.shape[2:]
        rows = first[:, 1, None] + torch.arange(sides[0], device=images.device)
        columns = first[:, 0, None] + torch.arange(sides[1], device=images.device)
        inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
        planes = index[:, None] * images.shape[1] + torch.arange(images.shape[1], device=images.device)
        offsets = rows.clamp(0, height - 1)[:, :, None] * width + columns.clamp(0, width - 1)[:, None, :]
        flat = planes[:, :, None, None] * (height * width) + offsets[:, None]
        # Masked, not multiplied: 0 times a NaN at the edge is NaN.
        return images.flatten().index_select(0, flat.flatten()).view(flat.shape).masked_fill(~inside[:, None], 0.0)

    def _mixed(self, images: Tensor, index: Tensor, corner: Tensor) -> Tensor:
        """The widest patches by bilinear interpolation."""
        corner = corner.nan_to_num().clamp(-self._reach(corner) - 1).clamp(max=max(images.shape[2:]))
        whole = corner.detach().floor()
        x, y = (corner - whole).to(images.dtype)[:, None, None, :].unbind(-1)
        height, width = self.widest
        around = self._cut(images, index, whole.long(), (height + 1, width + 1))
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
        pixels = retina.scales * channels * math.prod(retina.sides)
        self.what = nn.Sequential(nn.Linear(pixels, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, output_dim))
        self.where = nn.Sequential(nn.Linear(2, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, output_dim))

    def forward(self, images: Tensor, location: Tensor, index: Tensor | None = None) -> Tensor:
        """Return features `(batch, ..., output_dim)` of glimpses.

        Args:
            images, location, index: as for `Retina`.
        """
        # h_g and h_l of Mnih et al. 2014, section 4, each through its second linear map
        what, where = self.what(self.retina(images, location, index).flatten(-4)), self.where(location)
        return F.relu(what * where if self.combine == "multiply" else what + where)
