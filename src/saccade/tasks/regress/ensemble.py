"""Several models of the same numbers as one."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade.models.padded import Padded
from saccade.models.regressor import Predicted

__all__ = ["Ensemble"]


class Ensemble(nn.Module):
    r"""Models asked together: the mean of their answers, with the deviation of the mixture of what they believe.

    .. math:: \mu = \frac{1}{n} \sum_k \mu_k, \qquad \sigma^2 = \frac{1}{n} \sum_k (\sigma_k^2 + \mu_k^2) - \mu^2

    Args:
        members: the models.

    Source:
        Lakshminarayanan et al. 2017, "Simple and scalable predictive uncertainty estimation using deep ensembles",
        section 2.4 (https://arxiv.org/abs/1612.01474).

    Example:
        >>> from saccade.models.mean import Mean
        >>> from saccade.models.regressor import Sizes
        >>> model = Ensemble([Mean(Sizes(1, 1)), Mean(Sizes(1, 1))])
        >>> model(Padded(torch.zeros(2, 1).double(), torch.tensor([1, 1]))).deviation.shape
        torch.Size([2, 1])
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    @property
    def attends(self) -> bool:
        """Whether all members say what they attended to."""
        return all(getattr(member, "attends", False) for member in self.members)

    @property
    def keeps(self) -> bool:
        """Whether all members keep training points."""
        return all(getattr(member, "keeps", False) for member in self.members)

    def forward(self, points: Padded) -> Predicted:
        """Return answers, and how far they may be off, `(batch, outputs)`."""
        found = [member(points) for member in self.members]
        means, deviations = torch.stack([one.mean for one in found]), torch.stack([one.deviation for one in found])
        variance = deviations.square().mean(0) + means.var(0, correction=0)
        return Predicted(means.mean(0), variance.sqrt())

    def weights(self, points: Padded) -> Tensor | None:
        """Return what all members attended to, one's heads after another's; None where it is not the same things."""
        members: Sequence[Any] = list(self.members)
        found = [member.weights(points) for member in members]
        shown = {(member.keeps, one.shape[-1]) for member, one in zip(members, found, strict=True) if one is not None}
        if len(shown) != 1 or any(one is None for one in found):
            return None
        return torch.cat(found, 1)
