"""Sequences of several lengths in one tensor, and how long each of them is."""

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Padded"]


class Padded(NamedTuple):
    r"""Sequences side by side, with padding behind those that are shorter than the longest.

    .. math:: x_{bt} \text{ is within its sequence for } t < n_b

    Args:
        values: x, token ids `(batch, length)` or frames `(batch, length, dim)`; what padding holds changes nothing.
        lengths: n, of each sequence, `(batch,)`, at least 1.

    Example:
        >>> source = Padded(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([3, 1]))
        >>> source.within
        tensor([[ True,  True,  True],
                [ True, False, False]])
    """

    values: Tensor
    lengths: Tensor

    @property
    def within(self) -> Tensor:
        """Which places are no padding, boolean `(batch, length)`."""
        return torch.arange(self.values.shape[1], device=self.values.device) < self.lengths[:, None]

    def to(self, device: torch.device | str) -> "Padded":
        """Return the same on a device.

        >>> Padded(torch.zeros(2, 3), torch.tensor([3, 1])).to("cpu").lengths
        tensor([3, 1])
        """
        return Padded(self.values.to(device), self.lengths.to(device))
