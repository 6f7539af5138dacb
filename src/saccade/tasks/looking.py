"""What is asked of a picture of what a model made of a sequence: what it attended to, or what moves it."""

from dataclasses import dataclass
from typing import Literal, get_args

from saccade.errors import ArgumentError

__all__ = ["JACOBIAN", "MOVED", "By", "LookRequest"]

By = Literal["attention", "jacobian"]
JACOBIAN = "Sequential Jacobian, shares of each row"
MOVED = "is moved most by"  # what a picture of gradients tells in words, where one of attention says "attends to"


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """How pictures of a sequence are drawn.

    >>> LookRequest(by="jacobian").by
    'jacobian'
    """

    by: By | None = None
    """Attention weights (attention), or norms of the Jacobian of each output (jacobian). Default: attention, or the
    gradients of a model without it."""

    def __post_init__(self) -> None:
        """Refuse another way, naming the option as it is typed."""
        if self.by is not None and self.by not in get_args(By):
            raise ArgumentError(f"--by: expected {' or '.join(get_args(By))}, got {self.by}")

    def check_attends(self, attends: bool) -> None:
        """Refuse attention of a model without.

        Raises:
            ArgumentError: naming the option.
        """
        if self.by == "attention" and not attends:
            raise ArgumentError("--by: expected jacobian of a model that does not attend, got attention")
