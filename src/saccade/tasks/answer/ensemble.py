"""Several models that answer as one, which looks wherever each of them does."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade.models.answerer import Looked
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks import generate
from saccade.tasks.ensembles import mean_log_probs
from saccade.tasks.labels import Ensemble

__all__ = ["Answerers", "Writers"]


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
        self.attends, self.reading = _reading(members)

    def look(self, visual: Visual, question: Padded) -> Looked:
        """Return what is answered, and what of the image and the question it was read from.

        There are no weights where the members' cells are of several sizes, and none of words where a member has none.

        Args:
            visual, question: as for `forward`.
        """
        found = _looked(self.members, visual, question)
        return _together(found, mean_log_probs([one.logits for one in found]))


class Writers(generate.Ensemble):
    """Models that write answers, whose probabilities of each next word are the mean of theirs.

    Args:
        members: the models.

    Example:
        >>> from saccade.models.generative import GenerativeAnswerer
        >>> from saccade.models.question_only import Options, QuestionOnly
        >>> sizes = Options(hidden_dim=6)
        >>> model = Writers([GenerativeAnswerer(QuestionOnly(3, 9, 6, sizes), 11, 6).eval() for _ in range(2)])
        >>> asked = Visual(torch.rand(1, 3, 16, 16)), Padded(torch.tensor([[4, 5, 6]]), torch.tensor([3]))
        >>> model(asked, torch.tensor([[1, 4]])).shape, model.attends
        (torch.Size([1, 2, 11]), False)
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__(members)
        self.attends, self.reading = _reading(members)

    def look(self, visual: Visual, question: Padded) -> Looked:
        """Return what of the image and the question was read, as `Answerers` do; `logits` are those of all members."""
        found = _looked(self.members, visual, question)
        return _together(found, torch.cat([one.logits for one in found], -1))


def _reading(members: Sequence[nn.Module]) -> tuple[bool, str]:
    """Whether all members attend, and what their reads are called."""
    names = {getattr(member, "reading", "") for member in members}
    attends = all(getattr(member, "attends", False) for member in members)
    return attends, names.pop() if len(names) == 1 else "read"


def _looked(members: Iterable[Any], visual: Visual, question: Padded) -> list[Looked]:
    return [member.look(visual, question) for member in members]


def _together(found: Sequence[Looked], logits: Tensor) -> Looked:
    """What all members looked at, if it is cells of one size."""
    weights = [one.weights for one in found if one.weights is not None]
    sizes = {(one.shape, each.shape[-1]) for one, each in zip(found, weights, strict=False)}
    if len(weights) < len(found) or len(sizes) > 1:
        return Looked(logits, None, None, None)
    words = [one.words for one in found if one.words is not None]
    called = torch.stack(words).mean(0) if len(words) == len(found) else None
    return Looked(logits, torch.cat(weights, 1), found[0].shape, called)
