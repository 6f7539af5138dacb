"""Sinusoidal position encodings, and the slopes of ALiBi."""

import torch
from torch import Tensor

__all__ = ["WAVELENGTHS", "slopes", "waves"]

WAVELENGTHS = 10_000.0
"""Base b of the wavelengths of sinusoidal and rotary position encodings.

With d features the longest wavelength is b^(1 − 2/d) times the shortest (Vaswani et al. 2017; Su et al. 2021).
"""


def waves(positions: Tensor, dim: int) -> Tensor:
    r"""Sinusoidal position encodings.

    .. math:: x_{p, 2i} = \sin(p / 10000^{2i/d}) \qquad x_{p, 2i + 1} = \cos(p / 10000^{2i/d})

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
    r"""Slopes of ALiBi: \(2^{-8h/H}\) for head h from 1 to H.

    The scores of a head fall by its slope for each token of distance.

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
