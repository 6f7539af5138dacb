"""Several models that answer as one, which looks wherever each of them does."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from saccade.models.answerer import Looked
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.ensembles import mean_log_probs
from saccade.tasks.labels import Ensemble

__all__ = ["Answerers"]


class Answerers(Ensemble):
    """Models that answer questions about images, whose probabilities are the mean of theirs.

    It attends if all members do: its reads are those of the first member, then those of the second, and so on.

    Args:
        members: the models.

    Example:
        >>> from saccade.models.ask_attend_and_answer import AskAttendAndAnswer, Options
        >>> model = Answerers([AskAttendAndAnswer(3, 9, 5, Options(widths="4,8")).eval() for _ in range(2)])
        >>> question = Padded(torch.tensor([[4, 5, 6]]), torch.tensor([3]))
        >>> looked = model.look(Visual(torch.rand(1, 3, 16, 16)), question)
        >>> looked.logits.shape, looked.weights.shape  # two hops each
        (torch.Size([1, 5]), torch.Size([1, 4, 16]))
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__(members)
        self.attends: bool = all(getattr(member, "attends", False) for member in members)
        names = {getattr(member, "reading", "") for member in members}
        self.reading: str = names.pop() if len(names) == 1 else "read"

    def look(self, visual: Visual, question: Padded) -> Looked:
        """Return what is answered, and what of the image and the question it was read from.

        There are no weights where the members' cells are of several sizes, and none of words where a member has none.

        Args:
            visual, question: as for `forward`.
        """
        members: Sequence[Any] = list(self.members)
        found: list[Looked] = [member.look(visual, question) for member in members]
        logits = mean_log_probs([one.logits for one in found])
        weights = [one.weights for one in found if one.weights is not None]
        sizes = {(one.shape, each.shape[-1]) for one, each in zip(found, weights, strict=False)}
        if len(weights) < len(found) or len(sizes) > 1:
            return Looked(logits, None, None, None)
        words = [one.words for one in found if one.words is not None]
        called = torch.stack(words).mean(0) if len(words) == len(found) else None
        return Looked(logits, torch.cat(weights, 1), found[0].shape, called)
