"""Images changed at random in ways that leave their class as it is: flipped, shifted. A batch is one operation."""

from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.errors import ArgumentError
from saccade.train.randomness import generator

__all__ = ["check_shift", "flip", "flipped_and_shifted", "shift"]


def flipped_and_shifted(images: Tensor, seed: int, step: int, *, mirrored: bool, shifted: int) -> Tensor:
    """Return images `(batch, channels, height, width)` that are mirrored and shifted at random.

    Args:
        images: the images.
        seed: of the run.
        step: the batch is of; both say what is drawn.
        mirrored: whether every other image is mirrored from left to right.
        shifted: pixels by which they are shifted, at most.
    """
    if not mirrored and not shifted:
        return images
    numbers = generator(seed, "augment", step)
    images = flip(images, numbers) if mirrored else images
    return shift(images, shifted, numbers) if shifted else images


def flip(images: Tensor, generator: torch.Generator) -> Tensor:
    """Return images of which each, with a probability of a half, is mirrored from left to right.

    Args:
        images: `(batch, channels, height, width)`, of any type.
        generator: what the draws come from.

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


def check_shift(most: int, shape: Sequence[int]) -> None:
    """Refuse to shift images `(channels, height, width)` by more than they have.

    Raises:
        ArgumentError: naming the option.
    """
    if not most < min(shape[1:]):
        raise ArgumentError(f"--shift: expected less than the images' {min(shape[1:])}, got {most}")


def shift(images: Tensor, most: int, generator: torch.Generator) -> Tensor:
    r"""Return images of which each is shifted by up to `most` pixels in both directions.

    What comes in at an edge is the image mirrored there, as if it were padded so and a part of its size cut out.

    .. math:: y_{c,i,j} = x_{c,\, i + a,\, j + b}, \qquad a, b \sim \{-most, \ldots, most\}

    Args:
        images: `(batch, channels, height, width)`, of any type.
        most: pixels, below height and width.
        generator: what the draws come from.

    Raises:
        ArgumentError: if images are smaller.

    Source:
        He et al. 2016, section 4.2: 4 pixels of 32, there with black at the edges.

    Example:
        >>> shift(torch.arange(5)[None, None, None].expand(2, 1, 5, 5), 2, torch.Generator().manual_seed(1))[:, 0, 0]
        tensor([[2, 3, 4, 3, 2],
                [1, 2, 3, 4, 3]])
    """
    batch, _, height, width = images.shape
    if not 0 <= most < min(height, width):
        raise ArgumentError(f"shift: expected from 0 to {min(height, width) - 1} pixels, got {most}")
    moves = torch.randint(-most, most + 1, (2, batch), generator=generator)
    rows, columns = (
        _mirrored(torch.arange(side) + move[:, None], side).to(images.device)
        for side, move in zip((height, width), moves, strict=True)
    )
    places = rows[:, :, None] * width + columns[:, None, :]
    return images.flatten(2).gather(2, places.flatten(1)[:, None].expand(-1, images.shape[1], -1)).view_as(images)


def _mirrored(places: Tensor, side: int) -> Tensor:
    """Places beyond 0 to side - 1, mirrored at its ends."""
    places = places.abs()
    return torch.where(places < side, places, 2 * (side - 1) - places)
