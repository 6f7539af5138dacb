"""Several runs as one: what keeps them apart, the mean of what they believe, and all that they look at."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError
from saccade.models.answerer import Looked

__all__ = ["Looking", "check_alike", "check_drawn", "mean_log_probs", "shortest_texts"]

_OF_ONE = ("jacobian", "grad-cam")  # ways of drawing that ask for a model's own layers


def check_alike(task: Any, others: Sequence[Any], parts: Callable[[Any], Mapping[str, tuple[object, str]]]) -> None:
    """Refuse runs of another task, or of which a part that all have to share is another.

    Args:
        task: the first run's.
        others: the other runs (`saccade.train.trained.Trained`).
        parts: of a task: what has to be the same, by what it is called, and how another one is described.

    Raises:
        ArgumentError: naming the first run that does not fit, and what differs.
    """
    own = parts(task)
    for other in others:
        where = f"--ensemble {other.run.folder}"
        if other.task.name != task.name:
            raise ArgumentError(f"{where}: expected a run of {task.name}, got one of {other.task.name}")
        for what, (found, described) in parts(other.task).items():
            if found != own[what][0]:
                raise ArgumentError(f"{where}: expected {what} of RUN, got {described}")


def shortest_texts(job: Any, model: Any, others: Sequence[Any]) -> Any:
    """Return the codec of an ensemble, whose texts are no longer than those of any member."""
    lengths = [member.settings.max_length for member in (job, *(other.task for other in others))]
    return job.changed(max_length=min(lengths)).codec


def check_drawn(model: Any, by: str | None, *, attends: bool = True) -> None:
    """Refuse pictures of several runs as one that show what moves the layers of one model.

    Args:
        model: one, or several as one.
        by: what is to be drawn; None for what is usual.
        attends: whether the model attends; of one that does not, what moves it is usual.

    Raises:
        ArgumentError: naming the way out.

    Example:
        >>> from saccade.models.bag import Bag
        >>> check_drawn(Bag(7, 2), "jacobian")
    """
    if hasattr(model, "members") and (by in _OF_ONE or (by is None and not attends)):
        way = f"--by {by}" if by else "pictures of models that do not attend"
        raise ArgumentError(f"--ensemble: expected one run for {way}, got several; draw each by itself")


def mean_log_probs(logits: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean of probabilities, given by the logits of each member.

    >>> mean_log_probs([torch.tensor([0.0, 0.0]), torch.tensor([0.0, -torch.inf])]).exp()
    tensor([0.7500, 0.2500])
    """
    log_probs = torch.stack([part.float().log_softmax(-1) for part in logits])
    return log_probs.logsumexp(0) - math.log(len(logits))


class Looking:
    """What an ensemble looks at: wherever each member does, the reads of the first before those of the second.

    Example:
        >>> from saccade.models.ask_attend_and_answer import AskAttendAndAnswer, Options
        >>> from saccade.models.image_encoder import ImageEncoder, Visual
        >>> from saccade.models.padded import Padded
        >>> from saccade.tasks.labels import Ensemble
        >>> options = Options(widths="4,8")
        >>> members = [AskAttendAndAnswer(ImageEncoder(3, options), 9, 5, options).eval() for _ in range(2)]
        >>> model = Ensemble(members)
        >>> question = Padded(torch.tensor([[4, 5, 6]]), torch.tensor([3]))
        >>> looked = model.look(Visual(torch.rand(1, 3, 16, 16)), question)
        >>> looked.logits.shape, looked.weights.shape, model.attends, model.reading  # two hops each
        (torch.Size([1, 5]), torch.Size([1, 4, 16]), True, 'hop')
    """

    members: Any

    @property
    def attends(self) -> bool:
        """Whether all members look at parts of their input, and say at which."""
        return all(getattr(member, "attends", False) for member in self.members)

    @property
    def reading(self) -> str:
        """What one of the reads is called."""
        names = {getattr(member, "reading", "") for member in self.members}
        return names.pop() if len(names) == 1 else "read"

    def look(self, *source: Any) -> Looked:
        """Return what all members make of some inputs, and what they looked at.

        There are no weights where the members' cells are of several sizes, and none of words where a member has none.

        Args:
            source: what members' `look` takes.
        """
        found = [member.look(*source) for member in self.members]
        logits = self.together([one.logits for one in found])
        weights = [one.weights for one in found if one.weights is not None]
        sizes = {(one.shape, each.shape[-1]) for one, each in zip(found, weights, strict=False)}
        if len(weights) < len(found) or len(sizes) > 1:
            return Looked(logits, None, None, None)
        words = [one.words for one in found if one.words is not None]
        called = torch.stack(words).mean(0) if len(words) == len(found) else None
        return Looked(logits, torch.cat(weights, 1), found[0].shape, called)

    @staticmethod
    @abstractmethod
    def together(logits: Sequence[Tensor]) -> Tensor:
        """Return what the members' logits are as one."""
