"""Options of decoding with a coverage penalty."""

from dataclasses import dataclass

from saccade.errors import ArgumentError
from saccade.tasks.generate import request

__all__ = ["EvalRequest", "Request", "check_coverage"]

_HEAVIEST = 1000  # a penalty beside which no probability counts


@dataclass(frozen=True, kw_only=True)
class EvalRequest(request.EvalRequest):
    """Options of an evaluation.

    >>> EvalRequest(beam_size=5, coverage_penalty=0.2).beam_size
    5
    """

    coverage_penalty: float = 0.0
    """Weight of the penalty for parts of the input that an output does not attend to."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.coverage_penalty <= _HEAVIEST:
            got = f"got {self.coverage_penalty}"
            raise ArgumentError(f"--coverage-penalty: expected a number from 0 to {_HEAVIEST}, {got}")


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest, request.Request):
    """Options of a prediction.

    >>> Request(nbest=3).coverage_penalty
    0.0
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sample and self.coverage_penalty:
            raise ArgumentError("--coverage-penalty: expected without --sample, got both; draws are not ranked")


def check_coverage(penalty: float, width: int) -> None:
    """Reject a penalty for a search that keeps one output.

    Args:
        penalty: of a request.
        width: outputs of an example that are kept at once.

    Raises:
        ArgumentError: for such a search.
    """
    if penalty and width == 1:
        nothing = "1, which leaves nothing to rank"
        raise ArgumentError(f"--coverage-penalty: expected a --beam-size above 1, got {nothing}")
