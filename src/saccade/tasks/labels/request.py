"""Options of requests for classes. None is an option of a run."""

from dataclasses import dataclass

from saccade.errors import ArgumentError
from saccade.tasks.request import NoOptions

__all__ = ["Request", "check_count"]


@dataclass(frozen=True, kw_only=True)
class Request(NoOptions):
    """Options of predictions of a classifier.

    >>> Request(nbest=2).nbest
    2
    """

    nbest: int = 1
    """Classes per input, each with its probability on its own line."""

    def __post_init__(self) -> None:
        if self.nbest < 1:
            raise ArgumentError(f"--nbest: expected a number from 1 on, got {self.nbest}")


def check_count(request: Request, labels: int) -> None:
    """Reject a request for more classes than there are.

    Raises:
        ArgumentError: naming the option.
    """
    if request.nbest > labels:
        raise ArgumentError(f"--nbest: expected at most {labels}, as many labels as there are, got {request.nbest}")
