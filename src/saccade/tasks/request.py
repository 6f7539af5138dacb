"""What is asked of a run beside its inputs: a dataclass for each verb, whose docstrings are the help."""

from dataclasses import asdict, dataclass
from typing import Any, TypeVar

__all__ = ["LookRequest", "completed"]

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """How pictures are drawn: there is one way."""


def completed(kind: type[R], request: Any) -> R:
    """Return what another verb's request asks for as a request of a kind that has all its fields; None asks nothing.

    >>> from saccade.tasks.generate.request import EvalRequest, Request
    >>> completed(Request, EvalRequest(beam_size=5)).beam_size, completed(Request, None).nbest
    (5, 1)
    """
    return request if isinstance(request, kind) else kind(**({} if request is None else asdict(request)))
