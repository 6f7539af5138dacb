"""Several classifiers as one, whose probabilities are the mean of theirs."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade import AuxOutput
from saccade.tasks.ensembles import Looking, mean_log_probs

__all__ = ["Ensemble"]


class Ensemble(Looking, nn.Module):
    r"""Classifiers of any kind that read the same and know the same labels, asked together.

    .. math:: p(c \mid x) = \tfrac{1}{n} \textstyle\sum_k p_k(c \mid x)

    Args:
        members: the models.

    Example:
        >>> from saccade.models.bag import Bag, Options
        >>> from saccade.models.padded import Padded
        >>> model = Ensemble([Bag(7, 2, Options(embedding_dim=4)), Bag(7, 2, Options(embedding_dim=4))])
        >>> round(model(Padded(torch.tensor([[4, 5]]), torch.tensor([2]))).exp().sum().item(), 4)
        1.0
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, *source: Any) -> Tensor:
        """Return the log-probabilities of classes, `(batch, classes)`, of what all members read."""
        return mean_log_probs([member(*source) for member in self.members])

    @staticmethod
    def together(logits: Sequence[Tensor]) -> Tensor:
        """Return the log-probabilities of classes."""
        return mean_log_probs(logits)

    def pooled(self, records: Sequence[tuple[str, AuxOutput]], source: Any) -> Tensor | None:
        """What the queries of all members that attend took of each word, one member's after another's."""
        members: Sequence[Any] = list(self.members)
        found = []
        for number, member in enumerate(members):
            front = f"members.{number}."
            found.append(member.pooled([(name, aux) for name, aux in records if name.startswith(front)], source))
        weights = [part for part in found if part is not None]
        return torch.cat(weights, 1) if weights else None

    def layers_attended(self, records: Sequence[tuple[str, AuxOutput]]) -> list[Tensor]:
        """None: members have layers of their own, which are looked into one by one."""
        return []

    def levels(self, records: Sequence[tuple[str, AuxOutput]], source: Any) -> None:
        """Several models have no sentences in common."""
        return
