"""How classes are answered when they are asked for; none of it is a property of a run."""

from dataclasses import dataclass

from saccade.errors import ArgumentError

__all__ = ["EvalRequest", "Request", "check_count"]


@dataclass(frozen=True, kw_only=True)
class EvalRequest:
    """How a classifier is measured: there is one way."""


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest):
    """How many classes are answered.

    >>> Request(nbest=2).nbest
    2
    """

    nbest: int = 1
    """Classes per input, most probable first, each with its probability on its own line."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        if self.nbest < 1:
            raise ArgumentError(f"--nbest: expected a number from 1 on, got {self.nbest}")


def check_count(request: Request, labels: int) -> None:
    """Refuse more classes than there are.

    Raises:
        ArgumentError: if that is what is asked for.
    """
    if request.nbest > labels:
        raise ArgumentError(f"--nbest: expected at most {labels}, as many labels as there are, got {request.nbest}")
