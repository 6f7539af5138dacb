"""What can be said about how answers are written when they are asked for; none of it is a property of a run."""

import math
from dataclasses import dataclass

from saccade.errors import ArgumentError

__all__ = ["Decoding"]

_LONGEST = 100_000  # tokens: no text is longer
_HEAVIEST = 1000  # a coverage penalty beside which nothing else counts


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How answers are written, beside what a run says of its beam search.

    Raises:
        ArgumentError: what means nothing, or nothing together, naming the option as it is typed.

    Example:
        >>> Decoding(sample=True, temperature=0.7).min_length
        0
    """

    sample: bool = False
    """Whether answers are drawn at random, not searched for."""

    temperature: float | None = None
    """Of the distribution that is drawn from, 1 if not given."""

    top_p: float | None = None
    """Share of the probability whose most probable tokens are drawn from, 1 if not given: all of it."""

    seed: int | None = None
    """What the draws follow from; that of the run if not given."""

    coverage_penalty: float = 0.0
    """How much it counts against an output of the search that it leaves parts of the source unread."""

    min_length: int = 0
    """The tokens that an answer has at the least."""

    prefix: str | None = None
    """What every answer begins with."""

    replace_unknown: bool = False
    """Whether an unknown token is written as what it looked at in the source."""

    def __post_init__(self) -> None:
        for option, value in (("--temperature", self.temperature), ("--top-p", self.top_p), ("--seed", self.seed)):
            if value is not None and not self.sample:
                raise ArgumentError(f"{option}: expected only with --sample, got {value} without it")
        if self.temperature is not None and not 0 < self.temperature < math.inf:
            way_out = "; without --sample the most probable output is written"
            raise ArgumentError(f"--temperature: expected a number above 0, got {self.temperature}{way_out}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ArgumentError(f"--top-p: expected a share above 0 and at most 1, got {self.top_p}")
        if not 0 <= self.coverage_penalty <= _HEAVIEST:
            got = f"got {self.coverage_penalty}"
            raise ArgumentError(f"--coverage-penalty: expected a number from 0 to {_HEAVIEST}, {got}")
        if self.sample and self.coverage_penalty:
            raise ArgumentError("--coverage-penalty: expected without --sample, got both; draws are not ranked")
        if not 0 <= self.min_length <= _LONGEST:
            raise ArgumentError(f"--min-length: expected a number from 0 to {_LONGEST}, got {self.min_length}")
        if self.prefix is not None and (not self.prefix.strip() or len(self.prefix.splitlines()) > 1):
            raise ArgumentError(f"--prefix: expected a text in one line, got {self.prefix!r:.60}")

    @property
    def attends(self) -> bool:
        """Whether it needs to know what the model attended to."""
        return self.replace_unknown or self.coverage_penalty > 0
