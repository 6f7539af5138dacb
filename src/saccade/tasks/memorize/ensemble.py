"""Several memorizers as one, whose probabilities are the mean of theirs."""

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
    """Memorizers of any kind that read and say the same.

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
        """Return the logits of the mean of what members believe, shapes as those of `Memorizer`."""
        members = cast("list[Memorizer]", list(self.members))
        logits = [member(source) for member in members]
        if members[0].sizes.symbols:
            return mean_log_probs(logits)
        both = torch.stack(logits).double()  # log-odds of the mean, also of members that are sure
        return (F.logsigmoid(both).logsumexp(0) - F.logsigmoid(-both).logsumexp(0)).float()

    def trace(self, source: Padded) -> Mapping[str, Tensor]:
        """Return what all members' states did, the first one's first."""
        return _named([member.trace(source) for member in cast("list[Memorizer]", list(self.members))])

    def attended(self, records: Sequence[tuple[str, AuxOutput]]) -> Mapping[str, Tensor]:
        """Return what all members attended to, the first one's first."""
        found = []
        for number, member in enumerate(cast("list[Memorizer]", list(self.members))):
            front = f"members.{number}."
            found.append(member.attended([(name, aux) for name, aux in records if name.startswith(front)]))
        return _named(found)


def _named(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    every = ((number, name, values) for number, part in enumerate(parts, 1) for name, values in part.items())
    return {f"{number}: {name}": values for number, name, values in every}
