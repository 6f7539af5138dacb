"""Limits of a server."""

from dataclasses import dataclass

from saccade._definitions.checks import in_ranges

__all__ = ["Limits"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server and of its batches.

    Raises:
        ArgumentError: for a value outside its range.

    Example:
        >>> Limits(batch=8).wait_ms
        5.0
    """

    batch: int = 32
    """Inputs of a batch, of all requests with equal options."""

    wait_ms: float = 5.0
    """Milliseconds that a request waits for others to share its batch."""

    max_inputs: int = 256
    """Inputs of a request, at most."""

    max_mb: int = 32
    """MiB of a request, at most."""

    queue: int = 256
    """Requests that may wait, at most. Further ones are answered 503."""

    def __post_init__(self) -> None:
        counts = [(name, 1, 100_000) for name in ("batch", "max_inputs", "queue")]
        in_ranges(self, [*counts, ("wait_ms", 0, 600_000), ("max_mb", 1, 1024)])
