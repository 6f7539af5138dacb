"""Several runs as one: what keeps them apart, and the mean of what they believe."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError

__all__ = ["check_alike", "mean_log_probs"]


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


def mean_log_probs(logits: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean of probabilities, given by the logits of each member.

    >>> mean_log_probs([torch.tensor([0.0, 0.0]), torch.tensor([0.0, -torch.inf])]).exp()
    tensor([0.7500, 0.2500])
    """
    log_probs = torch.stack([part.float().log_softmax(-1) for part in logits])
    return log_probs.logsumexp(0) - math.log(len(logits))
