"""Ensembles of memorizers."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade import AuxOutput
from saccade.models.padded import Padded
from saccade.tasks import labels
from saccade.tasks.ensembles import mean_log_probs

__all__ = ["Ensemble"]


class Ensemble(labels.Ensemble):
    """Memorizers of any kind, with averaged probabilities.

    Example:
        >>> from saccade.models.memorizer import Sizes
        >>> from saccade.models.ntm import NTM, Options
        >>> model = Ensemble([NTM(Sizes(3, 2), Options(hidden_dim=4, cells=3, cell_dim=2)) for _ in range(2)])
        >>> sorted(model.trace(Padded(torch.zeros(1, 2, 3), torch.tensor([2]))))
        ['1: read', '1: write', '2: read', '2: write']
    """

    members: Any

    def forward(self, source: Padded) -> Tensor:
        """Return the logits of the mean probabilities, with the shapes of `Memorizer`."""
        logits = [member(source) for member in self.members]
        if self.members[0].sizes.symbols:
            return mean_log_probs(logits)
        odds = torch.stack(logits).double()  # float64 and log-sigmoids, for members with probabilities near 0 or 1
        return (F.logsigmoid(odds).logsumexp(0) - F.logsigmoid(-odds).logsumexp(0)).float()

    def trace(self, source: Padded) -> Mapping[str, Tensor]:
        """Return the states of all members by step."""
        return _numbered([member.trace(source) for member in self.members])

    def attended(self, records: Sequence[tuple[str, AuxOutput]]) -> Mapping[str, Tensor]:
        """Return the attention of all members by step."""
        parts = [
            [record for record in records if record[0].startswith(f"members.{n}.")] for n in range(len(self.members))
        ]
        return _numbered([member.attended(part) for member, part in zip(self.members, parts, strict=True)])


def _numbered(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    return {f"{number}: {name}": values for number, part in enumerate(parts, 1) for name, values in part.items()}
