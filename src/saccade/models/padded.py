"""Sequences of several lengths in one padded tensor."""

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Padded"]


class Padded(NamedTuple):
    r"""Sequences of several lengths, padded at their ends, and the lengths.

    .. math:: x_{bt} \text{ is within its sequence for } t < n_b

    Args:
        values: x, token ids `(batch, length)` or frames `(batch, length, dim)`. Padding may hold anything.
        lengths: n of each sequence, `(batch,)`, at least 1.

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
        """Mask of the steps without padding, boolean `(batch, length)`."""
        return torch.arange(self.values.shape[1], device=self.values.device) < self.lengths[:, None]

    def to(self, device: torch.device | str) -> "Padded":
        """Return the sequences on a device.

        >>> Padded(torch.zeros(2, 3), torch.tensor([3, 1])).to("cpu").lengths
        tensor([3, 1])
        """
        return Padded(self.values.to(device), self.lengths.to(device))
