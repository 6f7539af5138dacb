"""Ensembles of models that write token by token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput
from saccade.kernels.topk import dense
from saccade.models.words import logits_or_loss
from saccade.tasks.ensembles import Looking, mean_log_probs

__all__ = ["Ensemble", "States"]


@dataclass(frozen=True)
class States:
    """The states of all members."""

    members: tuple[Any, ...]

    def select(self, rows: Tensor, examples: Tensor | None) -> "States":
        """Return the states of rows `(examples, beam)` of some or all examples."""
        return States(tuple(state.select(rows, examples) for state in self.members))


class Ensemble(Looking, nn.Module):
    r"""Mean of the probabilities of models with the same tokens.

    .. math:: p(y_t \mid y_{<t}, x) = \tfrac{1}{n} \textstyle\sum_k p_k(y_t \mid y_{<t}, x)

    Args:
        members: the models: each with `encode`, `step`, `alignment` and a `forward` that returns logits.

    Example:
        >>> from saccade.models.padded import Padded
        >>> from saccade.models.transformer import Options, Transformer
        >>> sizes = Options(hidden_dim=8, heads=2, layers=1, feedforward_dim=16)
        >>> model = Ensemble([Transformer(11, 7, sizes), Transformer(11, 7, sizes)])
        >>> state = model.encode(Padded(torch.tensor([[4, 9, 2]]), torch.tensor([3])))
        >>> log_probs, state = model.step(torch.tensor([1]), state)
        >>> log_probs.shape, round(log_probs.exp().sum().item(), 4)
        (torch.Size([1, 7]), 1.0)

    Source:
        Sutskever, Vinyals, Le 2014, "Sequence to Sequence Learning with Neural Networks", section 3.6 (ensembles of
        translators).
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def encode(self, source: Any) -> States:
        """Return the members' states before the first token."""
        members: Sequence[Any] = list(self.members)
        return States(tuple(member.encode(source) for member in members))

    def step(self, token: Tensor, state: States) -> tuple[Tensor, States]:
        """Return log-probabilities `(rows, target_size)` and the next states."""
        members: Sequence[Any] = list(self.members)
        steps = [member.step(token, part) for member, part in zip(members, state.members, strict=True)]
        return mean_log_probs([dense(part) for part, _ in steps]), States(tuple(part for _, part in steps))

    def decode(self, target: Tensor, state: States) -> Tensor:
        """Return the log-probabilities of next tokens, as `forward` does."""
        members: Sequence[Any] = list(self.members)
        pairs = zip(members, state.members, strict=True)
        return mean_log_probs([logits_or_loss(member.decode(target, part), member.output) for member, part in pairs])

    def forward(self, source: Any, target: Tensor) -> Tensor:
        """Return the log-probabilities of every next token after the true ones.

        Args:
            source: inputs of all members.
            target: token ids `(batch, target_length)`, from the begin token on.

        Returns:
            `(batch, target_length, target_size)`.
        """
        return self.decode(target, self.encode(source))

    @staticmethod
    def together(logits: Sequence[Tensor]) -> Tensor:
        """Return the first states of all members, side by side."""
        return torch.cat(list(logits), -1)

    def alignment(self, records: Sequence[tuple[str, AuxOutput]]) -> Tensor | None:
        """Return the mean attention weights over the members that attend, or None."""
        parts = []
        for number, member in enumerate(self.members):
            front = f"members.{number}."
            layers = [(name.removeprefix(front), aux) for name, aux in records if name.startswith(front)]
            parts.append(member.alignment(layers))
        weights = [part for part in parts if part is not None]
        width = max((part.shape[-1] for part in weights), default=0)  # some leave out what they never look at
        padded = [F.pad(part, (0, width - part.shape[-1])) for part in weights]
        return torch.stack(padded).mean(0) if padded else None
