"""What can be asked of outputs that are ranked by how much they have read as well, of models that attend."""

from dataclasses import dataclass

from saccade.errors import ArgumentError
from saccade.tasks.generate import request

__all__ = ["EvalRequest", "Request", "check_coverage"]

_HEAVIEST = 1000  # a coverage penalty beside which nothing else counts


@dataclass(frozen=True, kw_only=True)
class EvalRequest(request.EvalRequest):
    """How outputs are found when a run is measured.

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
    """How outputs are written.

    >>> Request(nbest=3).coverage_penalty
    0.0
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sample and self.coverage_penalty:
            raise ArgumentError("--coverage-penalty: expected without --sample, got both; draws are not ranked")


def check_coverage(penalty: float, width: int) -> None:
    """Refuse a penalty where a search keeps one output.

    Args:
        penalty: that is asked for.
        width: outputs of an example that are kept at once.

    Raises:
        ArgumentError: if it is one.
    """
    if penalty and width == 1:
        nothing = "1, which leaves nothing to rank"
        raise ArgumentError(f"--coverage-penalty: expected a --beam-size above 1, got {nothing}")
