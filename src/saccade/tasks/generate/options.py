"""Options of all runs that write texts."""

from dataclasses import dataclass

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.checks import below_one

__all__ = ["Options", "check_length_penalty"]

_STEEPEST = 10  # powers of lengths overflow beyond it


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of all runs that write texts.

    >>> Options(beam_size=5).beam_size
    5
    """

    label_smoothing: float = 0.0
    """Probability spread evenly over all tokens."""

    beam_size: int = 1
    """Beam size of evaluations. 1 is greedy decoding."""

    length_penalty: float = 0.6
    """Exponent of the length normalization in beam search. 0 ranks by probability."""

    def __post_init__(self) -> None:
        in_ranges(self, (("beam_size", 1, 10_000),))
        check_length_penalty(self.length_penalty)
        below_one(self, "label_smoothing")


def check_length_penalty(alpha: float) -> None:
    """Reject a length penalty with overflowing powers.

    Raises:
        ArgumentError: for such a penalty.
    """
    if not abs(alpha) <= _STEEPEST:
        expected = f"a finite number from -{_STEEPEST} to {_STEEPEST}"
        raise ArgumentError(f"--length-penalty: expected {expected}, got {alpha}")
