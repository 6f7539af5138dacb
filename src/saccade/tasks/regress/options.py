"""What can be said about a run that answers with numbers, and the defaults that suit each data set."""

from dataclasses import dataclass
from typing import Any, Literal

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError

__all__ = ["RECIPES", "REQUESTS", "EvalRequest", "LookRequest", "Options", "Request"]

#: Found by training, see docs/regress.md; the models have recipes of their own beside these.
RECIPES: dict[str, dict[str, Any]] = {
    "sine": {},
    "heteroscedastic": {},
    "maximum": {"loss": "absolute", "batch_size": 128},
    "files": {},
}


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions):
    """The options of every run that answers with numbers, whatever its model.

    >>> Options(target="price").batch_size
    64
    """

    target: str | None = None
    """Columns to predict, separated by commas. Default: the last one."""

    features: str | None = None
    """Input columns, separated by commas. Default: all others."""

    sets: bool = False
    """The input cells of a row are one set of numbers. Blank cells count as none, and a cell may hold several."""

    batch_size: int = 64
    """Rows per batch."""

    loss: Literal["squared", "absolute"] = "squared"
    """Training loss of the standardized targets: mean squared or mean absolute error."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        SplitOptions.__post_init__(self)
        in_ranges(self, (("batch_size", 1, 1_000_000),))
        if self.loss not in ("squared", "absolute"):
            raise ArgumentError(f"--loss: expected squared or absolute, got {self.loss}")
        for name in ("target", "features"):
            given = getattr(self, name)
            if given is not None and not all(part.strip() for part in given.split(",")):
                raise ArgumentError(f"--{name}: expected names of columns with commas between, got {given!r:.60}")


@dataclass(frozen=True, kw_only=True)
class EvalRequest:
    """How answers are measured.

    >>> EvalRequest(coverage=0.5).coverage
    0.5
    """

    coverage: float = 0.9
    """Probability that a prediction interval covers the target, between 0 and 1."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        if not 0 < self.coverage < 1:
            raise ArgumentError(f"--coverage: expected a share above 0 and below 1, got {self.coverage}")


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest):
    """How numbers are answered: a line each, the answer, and the lower and upper end of its interval behind tabs."""


@dataclass(frozen=True, kw_only=True)
class LookRequest(EvalRequest):
    """What is drawn of numbers and their answer."""


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
