"""Options of pictures of a sequence: attention, or gradients."""

from dataclasses import dataclass
from typing import Literal, get_args

from saccade.errors import ArgumentError

__all__ = ["JACOBIAN", "MOVED", "By", "LookRequest"]

By = Literal["attention", "jacobian"]
JACOBIAN = "Sequential Jacobian, shares of each row"
MOVED = "is moved most by"  # in descriptions of pictures of gradients, as "attends to" of attention


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Options of pictures of a sequence.

    >>> LookRequest(by="jacobian").by
    'jacobian'
    """

    by: By | None = None
    """Attention weights (attention), or norms of the Jacobian (jacobian).

    Default: attention, or the gradients of a model without it."""

    def __post_init__(self) -> None:
        if self.by is not None and self.by not in get_args(By):
            raise ArgumentError(f"--by: expected {' or '.join(get_args(By))}, got {self.by}")

    def check_attends(self, attends: bool) -> None:
        """Reject attention of a model without it.

        Raises:
            ArgumentError: naming the option.
        """
        if self.by == "attention" and not attends:
            raise ArgumentError("--by: expected jacobian of a model that does not attend, got attention")
