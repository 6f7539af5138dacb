"""`plainly`: run the calls of a block by plain torch operations."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["plainly"]

REASON = "saccade.plainly() is on, and it runs the reference alone"
"""Reason against every other backend, and against kernels, in such a block."""

_PLAINLY = ContextVar("plainly", default=False)


@contextmanager
def plainly() -> Iterator[None]:
    """Run calls by plain torch operations in this block: the code you read runs.

    Every call of `attend`, `Memory.read`, `saccade.nn` and the models takes the reference, and no kernel and no
    shortcut. So a debugger steps through the formulas, and a graph of gradients has torch's operations. Results differ
    from those outside by rounding alone, unless a model in training drops features: it draws other ones.

    The block holds for one thread or asynchronous task, and for the forwards in it. Other threads keep their kernels. A
    backward differentiates the operations that its forward ran. `plainly()` is also a decorator.

    The reference lays all weights out, `(..., Lq, Lk)`, and an additive score `(..., Lq, Lk, D)`. If a call is too
    large for that, cut its queries or keys.

    `torch.compile` and `torch.export` keep the way of the call that they trace: a program traced in the block has
    torch's operations alone, also outside, and a program compiled before keeps its kernels, also inside. A block inside
    a compiled function is a graph break.

    Raises:
        UnsupportedBackend: from a call in the block that names a backend other than "auto" and "reference".

    Example:
        >>> import torch, saccade
        >>> x = torch.randn(2, 5, 8)
        >>> with saccade.plainly():
        ...     saccade.explain(x, x, x).backend
        'reference'
    """
    token = _PLAINLY.set(True)
    try:
        yield
    finally:
        _PLAINLY.reset(token)


def is_plain() -> bool:
    """Whether the caller is in a block of `plainly`."""
    return _PLAINLY.get()


# Dynamo cannot trace a context variable. It takes the value at the time of tracing.
is_plain._dynamo_marked_constant = True  # type: ignore[attr-defined]
