"""Ensembles of runs: checks, the mean of probabilities, and attention."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError
from saccade.models.answerer import Looked

__all__ = ["Looking", "check_alike", "check_drawn", "mean_log_probs", "shortest_texts"]


def check_alike(task: Any, others: Sequence[Any], parts: Callable[[Any], Mapping[str, tuple[object, str]]]) -> None:
    """Reject runs of another task, or with different shared parts.

    Args:
        task: task of the first run.
        others: the other runs (`saccade.train.trained.Trained`).
        parts: from a task to its shared parts by name, each with a description for the error.

    Raises:
        ArgumentError: for the first run with a difference, with its name and the part.
    """
    shared = parts(task)
    for other in others:
        where = f"--ensemble {other.run.folder}"
        if other.task.name != task.name:
            raise ArgumentError(f"{where}: expected a run of {task.name}, got one of {other.task.name}")
        for name, (part, description) in parts(other.task).items():
            if part != shared[name][0]:
                raise ArgumentError(f"{where}: expected {name} of RUN, got {description}")


def shortest_texts(job: Any, model: Any, others: Sequence[Any]) -> Any:
    """Return the codec of an ensemble, with the least `max_length` of its members."""
    lengths = [member.settings.max_length for member in (job, *(other.task for other in others))]
    return job.changed(max_length=min(lengths)).codec


def check_drawn(model: Any, by: str | None, methods: Iterable[str], *, attends: bool = True) -> None:
    """Reject pictures of the layers of one model, for an ensemble.

    Args:
        model: a model, or an ensemble.
        by: method of the picture, or None for the default.
        methods: methods of the ensemble.
        attends: whether the model attends. Otherwise the default picture is one of a single model.

    Raises:
        ArgumentError: if the picture needs a single model, with the way out.

    Example:
        >>> from saccade.models.bag import Bag
        >>> check_drawn(Bag(7, 2), "jacobian", [])
    """
    if hasattr(model, "members") and (not attends if by is None else by != "attention" and by not in {*methods}):
        way = f"--by {by}" if by else "pictures of models that do not attend"
        raise ArgumentError(f"--ensemble: expected one run for {way}, got several; draw each by itself")


def mean_log_probs(logits: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean of probabilities, from logits of members.

    >>> mean_log_probs([torch.tensor([0.0, 0.0]), torch.tensor([0.0, -torch.inf])]).exp()
    tensor([0.7500, 0.2500])
    """
    log_probs = torch.stack([part.float().log_softmax(-1) for part in logits])
    return log_probs.logsumexp(0) - math.log(len(logits))


class Looking:
    """Attention of an ensemble: reads of the first member before those of the second.

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
        """Whether all members attend."""
        return all(getattr(member, "attends", False) for member in self.members)

    @property
    def reading(self) -> str:
        """Name of a read."""
        names = {getattr(member, "reading", "") for member in self.members}
        return names.pop() if len(names) == 1 else "read"

    def look(self, *source: Any) -> Looked:
        """Return the joint logits of some inputs, and the attention of all members.

        There are no weights if the cells of members differ in size, and no weights of words if a member has none.

        Args:
            source: arguments of `look` of the members.
        """
        looks = [member.look(*source) for member in self.members]
        logits = self.together([look.logits for look in looks])
        weights = [look.weights for look in looks if look.weights is not None]
        sizes = {(look.shape, part.shape[-1]) for look, part in zip(looks, weights, strict=False)}
        if len(weights) < len(looks) or len(sizes) > 1:
            return Looked(logits, None, None, None)
        words = [look.words for look in looks if look.words is not None]
        mean = torch.stack(words).mean(0) if len(words) == len(looks) else None
        return Looked(logits, torch.cat(weights, 1), looks[0].shape, mean)

    @staticmethod
    @abstractmethod
    def together(logits: Sequence[Tensor]) -> Tensor:
        """Return the logits of the ensemble from those of its members."""
