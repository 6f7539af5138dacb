"""Where an answer lies."""

from statistics import NormalDist

from torch import Tensor

__all__ = ["interval"]


def interval(mean: Tensor, deviation: Tensor, coverage: float) -> tuple[Tensor, Tensor]:
    """Return the lower and upper ends between which a normal distribution has a share.

    Args:
        mean, deviation: of the distribution, of one shape.
        coverage: the share, above 0 and below 1.

    Example:
        >>> import torch
        >>> low, high = interval(torch.zeros(1), torch.ones(1), 0.9)
        >>> round(float(high), 3), round(float(low), 3)
        (1.645, -1.645)
    """
    away = NormalDist().inv_cdf((1 + coverage) / 2) * deviation
    return mean - away, mean + away
