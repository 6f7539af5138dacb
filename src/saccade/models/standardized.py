"""Batch normalization of the features that attention reads from images."""

from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["Standardized", "standardized"]


def standardized(norm: nn.BatchNorm1d | nn.BatchNorm2d, x: Tensor) -> Tensor:
    """Apply batch normalization to x, `(rows, channels, ...)`.

    A channel with one number has no deviation. It is standardized by the running statistics, as in evaluation, and
    does not change them.

    >>> import torch
    >>> standardized(nn.BatchNorm2d(3), torch.ones(1, 3, 1, 1)).shape
    torch.Size([1, 3, 1, 1])
    """
    if x.numel() == x.shape[1]:
        return F.batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)
    output: Tensor = norm(x)
    return output


class Standardized(nn.Module):
    r"""Batch normalization of features that attention reads.

    .. math:: (x - \mu) / \sigma \cdot g + b

    At first attention weights all cells about equally. Then an object in an image contributes little to the features,
    and most of them is common to all images. The mean μ removes the common part.

    A batch of one question with one read is standardized as in evaluation, see `standardized`.

    Args:
        dim: features.
        affine: whether there are a gain g and a bias b.

    Source:
        Ioffe, Szegedy 2015, "Batch Normalization", algorithm 1 (https://arxiv.org/abs/1502.03167).

    Example:
        >>> import torch
        >>> Standardized(3).eval()(torch.ones(2, 4, 3)).shape
        torch.Size([2, 4, 3])
    """

    def __init__(self, dim: int, *, affine: bool = True) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(dim, affine=affine)

    def forward(self, features: Tensor) -> Tensor:
        """Return standardized features, `(batch, draws, dim)`."""
        return standardized(self.norm, features.flatten(0, 1)).view(features.shape)
