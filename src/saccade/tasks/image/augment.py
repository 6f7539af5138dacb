"""Augmentation of batches of images: random flips and shifts."""

from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.errors import ArgumentError
from saccade.train.randomness import generator

__all__ = ["check_shift", "flip", "flipped_and_shifted", "shift"]


def flipped_and_shifted(images: Tensor, seed: int, step: int, *, mirrored: bool, shifted: int) -> Tensor:
    """Mirror and shift images `(batch, channels, height, width)` at random.

    Args:
        images: the images.
        seed, step: seed of the run and step of the batch, for the generator of random numbers.
        mirrored: whether each image is mirrored from left to right with a probability of 1/2.
        shifted: largest shift in pixels.
    """
    if not mirrored and not shifted:
        return images
    numbers = generator(seed, "augment", step)
    images = flip(images, numbers) if mirrored else images
    return shift(images, shifted, numbers) if shifted else images


def flip(images: Tensor, generator: torch.Generator) -> Tensor:
    """Mirror images `(batch, channels, height, width)` at random.

    Each image is mirrored from left to right with a probability of 1/2.

    Example:
        >>> images = torch.arange(4).reshape(4, 1, 1, 1) * 10 + torch.arange(3)
        >>> flip(images, torch.Generator().manual_seed(0)).flatten(1)
        tensor([[ 2,  1,  0],
                [10, 11, 12],
                [22, 21, 20],
                [32, 31, 30]])
    """
    mirrored = torch.rand(len(images), generator=generator) < 0.5
    return torch.where(mirrored.to(images.device)[:, None, None, None], images.flip(3), images)


def check_shift(limit: int, shape: Sequence[int]) -> None:
    """Reject a shift of images `(channels, height, width)` by their size or more."""
    if not limit < min(shape[1:]):
        raise ArgumentError(f"--shift: expected less than the images' {min(shape[1:])}, got {limit}")


def shift(images: Tensor, limit: int, generator: torch.Generator) -> Tensor:
    r"""Shift images `(batch, channels, height, width)` at random.

    Each image is shifted by up to `limit` pixels in both directions.

    .. math:: y_{c,i,j} = x_{c,\, i + a,\, j + b}, \qquad a, b \sim \{-limit, \ldots, limit\}

    This is a random crop of the image after a reflection pad of `limit` pixels.

    Source:
        He et al. 2016, section 4.2: shifts of 4 pixels for images of 32 × 32, but with a black pad.

    Example:
        >>> shift(torch.arange(5)[None, None, None].expand(2, 1, 5, 5), 2, torch.Generator().manual_seed(1))[:, 0, 0]
        tensor([[2, 3, 4, 3, 2],
                [1, 2, 3, 4, 3]])
    """
    batch, channels, height, width = images.shape
    moves = torch.randint(-limit, limit + 1, (2, batch), generator=generator)
    down, across = (
        (torch.arange(side) + move[:, None]).abs() for side, move in zip((height, width), moves, strict=True)
    )
    rows = torch.where(down < height, down, 2 * (height - 1) - down).to(images.device)
    columns = torch.where(across < width, across, 2 * (width - 1) - across).to(images.device)
    indices = rows[:, :, None] * width + columns[:, None, :]
    return images.flatten(2).gather(2, indices.flatten(1)[:, None].expand(-1, channels, -1)).view_as(images)
