"""Where positions are: waves that are added to features, and how fast scores fall with the distance."""

import torch
from torch import Tensor

__all__ = ["WAVELENGTHS", "slopes", "waves"]

WAVELENGTHS = 10_000.0
"""Base b of wavelengths, of waves that are added (Vaswani et al. 2017) and that turn (Su et al. 2021).

Of d features the longest wave is b^(1 − 2/d) times the shortest.
"""


def waves(positions: Tensor, dim: int) -> Tensor:
    r"""Sinusoidal positions: feature 2i is \(\sin(p / 10000^{2i/d})\), feature 2i + 1 the cosine.

    Args:
        positions: p, `(length,)`, in tokens.
        dim: d, even.

    Returns:
        `(length, dim)`.

    Source:
        Vaswani et al. 2017, section 3.5.

    Example:
        >>> waves(torch.tensor([0]), 4).tolist()
        [[0.0, 1.0, 0.0, 1.0]]
    """
    frequency = WAVELENGTHS ** (-torch.arange(0, dim, 2, device=positions.device, dtype=torch.float64) / dim)
    angle = positions[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2).float()


def slopes(heads: int) -> Tensor:
    r"""How fast the scores of each head fall with the distance: \(2^{-8h/H}\), h from 1 to H.

    Args:
        heads: H.

    Returns:
        `(heads,)`.

    Source:
        Press, Smith, Lewis 2022, section 3.

    Example:
        >>> slopes(2).tolist()
        [0.0625, 0.00390625]
    """
    return 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)
