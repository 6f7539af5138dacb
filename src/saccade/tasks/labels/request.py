"""Requests for labels."""

from dataclasses import dataclass

from saccade.errors import ArgumentError

__all__ = ["EvalRequest", "Request", "check_count"]


@dataclass(frozen=True, kw_only=True)
class EvalRequest:
    """Options of the evaluation of a classifier: none."""


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest):
    """Options of a classifier's answers.

    >>> Request(nbest=2).nbest
    2
    """

    nbest: int = 1
    """Classes per input, most probable first, each with its probability on its own line."""

    def __post_init__(self) -> None:
        if self.nbest < 1:
            raise ArgumentError(f"--nbest: expected a number from 1 on, got {self.nbest}")


def check_count(request: Request, labels: int) -> None:
    """Reject more answers than labels by an `ArgumentError`."""
    if request.nbest > labels:
        raise ArgumentError(f"--nbest: expected at most {labels}, as many labels as there are, got {request.nbest}")
