"""Ensembles of classifiers by the mean of their probabilities."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade import AuxOutput
from saccade.tasks.ensembles import Looking, mean_log_probs

__all__ = ["Ensemble"]


class Ensemble(Looking, nn.Module):
    r"""Classifiers of any kind with the same inputs and labels.

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
        """Return the log-probabilities of classes, `(batch, classes)`."""
        return mean_log_probs([member(*source) for member in self.members])

    @staticmethod
    def together(logits: Sequence[Tensor]) -> Tensor:
        """Return the log-probabilities of classes."""
        return mean_log_probs(logits)

    def pooled(self, records: Sequence[tuple[str, AuxOutput]], source: Any) -> Tensor | None:
        """Return the attention of all queries of all members, in their order."""
        members: Sequence[Any] = list(self.members)
        weights = []
        for number, member in enumerate(members):
            records_of = [(name, aux) for name, aux in records if name.startswith(f"members.{number}.")]
            if (part := member.pooled(records_of, source)) is not None:
                weights.append(part)
        return torch.cat(weights, 1) if weights else None

    def layers_attended(self, records: Sequence[tuple[str, AuxOutput]]) -> list[Tensor]:
        """Return no layers: each member has its own, and is drawn alone."""
        return []

    def levels(self, records: Sequence[tuple[str, AuxOutput]], source: Any) -> None:
        """Return None: members cut texts into sentences of their own."""
        return
