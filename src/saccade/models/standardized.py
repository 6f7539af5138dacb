"""What was read of an image, standardized over a batch, by all models that speak of images."""

from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["Standardized", "standardized"]


def standardized(norm: nn.BatchNorm1d | nn.BatchNorm2d, x: Tensor) -> Tensor:
    """Return what batch normalization makes of x, `(rows, channels, ...)`.

    One number a channel has no deviation: it is standardized by the running mean and deviation in training too, as
    every batch is in evaluation, and they stay as they are.

    >>> import torch
    >>> standardized(nn.BatchNorm2d(3), torch.ones(1, 3, 1, 1)).shape
    torch.Size([1, 3, 1, 1])
    """
    if x.numel() == x.shape[1]:
        return F.batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)
    found: Tensor = norm(x)
    return found


class Standardized(nn.Module):
    r"""Features of what was read, with the mean 0 and the deviation 1 over a batch: \((x - \mu) / \sigma \cdot g + b\).

    At first all cells have about the same weight, so that a thing in an image is a small part of what is read, and what
    all images have in common is the most of it.

    A batch of one question that is read once is standardized as in evaluation, see `standardized`.

    Args:
        dim: features.

    Source:
        Ioffe, Szegedy 2015, "Batch Normalization", algorithm 1 (https://arxiv.org/abs/1502.03167).

    Example:
        >>> import torch
        >>> Standardized(3).eval()(torch.ones(2, 4, 3)).shape
        torch.Size([2, 4, 3])
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, features: Tensor) -> Tensor:
        """Return the same shape, `(batch, draws, dim)`."""
        return standardized(self.norm, features.flatten(0, 1)).view(features.shape)
