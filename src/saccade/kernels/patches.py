"""`patches`: square patches of images at several scales, read once by a kernel."""

from typing import NamedTuple

import torch
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.threads import Kernel

GLIMPSES = 16
"""Places in a block of work."""


class Forward(NamedTuple):
    """Table of the patches. They are zeros before."""

    images: Tensor
    owners: Tensor
    corners: Tensor
    patches: Tensor
    glimpses: int
    channels: int
    height: int
    width: int
    size: int
    scales: int


_forward = Kernel("patches.forward", Forward)


def patches(images: Tensor, owner: Tensor, corner: Tensor, size: int, scales: int) -> Tensor:
    r"""Patches of images at several scales, each pixel a mean, 0 outside the image.

    .. math::
        \rho_{s,i,j} = \frac{1}{4^s} \sum_{0 \le a, b < 2^s} x\big(r_s + 2^s i + a,\; c_s + 2^s j + b\big)

    `images` are `(batch, channels, height, width)`, float32, contiguous. `owner` is the number of the image of each
    glimpse, and `corner` x and y of the widest patch's left upper pixel, all patches having one centre. The result is
    `(glimpses, scales, channels, size, size)`, without a gradient.
    """
    if images.ndim != 4 or images.dtype != torch.float32 or not images.is_contiguous():
        got = f"{tuple(images.shape)} of {images.dtype}"
        raise ShapeError(f"images: expected (batch, channels, height, width) of float32, contiguous, got {got}")
    for name, tensor, shape in (("owner", owner, owner.shape[:1]), ("corner", corner, (*owner.shape[:1], 2))):
        if tensor.dtype != torch.int64 or not shape or tensor.shape != shape:
            got = f"{tuple(tensor.shape)} of {tensor.dtype}"
            raise ShapeError(f"{name}: expected {tuple(shape) or '(glimpses,)'} of int64, got {got}")
    (batch, channels, height, width), glimpses = images.shape, len(owner)
    read = images.new_zeros(glimpses, scales, channels, size, size)
    if glimpses and (int(owner.amin()) < 0 or int(owner.amax()) >= batch):
        raise ShapeError(f"owner: expected numbers of {batch} images, got some outside")
    if read.numel() and images.numel():
        tensors = images, owner.contiguous(), corner.contiguous(), read
        _forward(-(-glimpses // GLIMPSES), Forward(*tensors, glimpses, channels, height, width, size, scales))
    return read
