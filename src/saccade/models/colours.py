"""Shares of colours in images, the features of a linear part beside a network."""

import torch
from torch import Tensor

__all__ = ["colour_count", "colour_shares"]

_LEVELS, _GREYS = 8, 64  # of a channel in colour, and of a grey image


def colour_count(channels: int) -> int:
    """Return the number of different colours.

    >>> colour_count(1), colour_count(3)
    (64, 512)
    """
    return _GREYS if channels == 1 else _LEVELS**channels


def colour_shares(images: Tensor) -> Tensor:
    r"""Return the roots of the shares of colours in images.

    .. math:: h_c = \sqrt{\frac{1}{hw} \sum_{i,j} [\operatorname{colour}(x_{ij}) = c]}

    A channel of colour has 8 levels, and a grey image has 64. Euclidean distances of roots are Hellinger distances.
    There is no gradient with respect to pixels.

    Args:
        images: `(batch, channels, height, width)` in [0, 1].

    Returns:
        `(batch, colours)`, float32.

    Source:
        Swain, Ballard 1991, "Color Indexing", section 2.1, for histograms of colours.

    Example:
        >>> colour_shares(torch.tensor([[[[0.0, 0.0], [1.0, 1.0]]]]))[0, [0, 1, 63]]
        tensor([0.7071, 0.0000, 0.7071])
    """
    levels, size = _GREYS if images.shape[1] == 1 else _LEVELS, colour_count(images.shape[1])
    number = torch.zeros_like(images[:, 0], dtype=torch.long)
    for channel in images.unbind(1):
        number = number * levels + (channel * 255).round().long().clamp(0, 255) * levels // 256
    once = torch.ones_like(number, dtype=torch.float32).flatten(1)
    counts = torch.zeros(images.shape[0], size, device=images.device).scatter_add(1, number.flatten(1), once)
    return (counts / number[0].numel()).sqrt()
