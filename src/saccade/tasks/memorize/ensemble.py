"""Ensembles of memorizers."""

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput
from saccade.models.memorizer import Memorizer
from saccade.models.padded import Padded
from saccade.tasks.ensembles import mean_log_probs

__all__ = ["Ensemble"]


class Ensemble(nn.Module):
    """Memorizers of any kind, whose probabilities are averaged.

    Args:
        members: the models.

    Example:
        >>> from saccade.models.memorizer import Sizes
        >>> from saccade.models.ntm import NTM, Options
        >>> model = Ensemble([NTM(Sizes(3, 2), Options(hidden_dim=4, cells=3, cell_dim=2)) for _ in range(2)])
        >>> sorted(model.trace(Padded(torch.zeros(1, 2, 3), torch.tensor([2]))))
        ['1: read', '1: write', '2: read', '2: write']
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, source: Padded) -> Tensor:
        """Return the logits of the mean probabilities, shapes as those of `Memorizer`."""
        members = cast("list[Memorizer]", list(self.members))
        logits = [member(source) for member in members]
        if members[0].sizes.symbols:
            return mean_log_probs(logits)
        odds = torch.stack(logits).double()  # float64 and log-sigmoids, for members with probabilities near 0 or 1
        return (F.logsigmoid(odds).logsumexp(0) - F.logsigmoid(-odds).logsumexp(0)).float()

    def trace(self, source: Padded) -> Mapping[str, Tensor]:
        """Return the states of all members by step."""
        return _named([member.trace(source) for member in cast("list[Memorizer]", list(self.members))])

    def attended(self, records: Sequence[tuple[str, AuxOutput]]) -> Mapping[str, Tensor]:
        """Return the attention of all members by step."""
        parts = []
        for number, member in enumerate(cast("list[Memorizer]", list(self.members))):
            prefix = f"members.{number}."
            parts.append(member.attended([(name, aux) for name, aux in records if name.startswith(prefix)]))
        return _named(parts)


def _named(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    every = ((number, name, values) for number, part in enumerate(parts, 1) for name, values in part.items())
    return {f"{number}: {name}": values for number, name, values in every}
