"""State of backends, beside a memory, a call or a prepared mask."""

from typing import Any, TypeVar

T = TypeVar("T")


class BackendState:
    """Objects that backends keep with a memory from read to read, or with a call.

    One of each class, made at first use. It may decide how fast a result comes and where gradients are summed, never
    the result: a copy begins empty.
    """

    def __init__(self) -> None:
        self._kept: dict[type, Any] = {}

    def of(self, kind: type[T]) -> T:
        kept: T | None = self._kept.get(kind)
        return self._kept.setdefault(kind, kind()) if kept is None else kept  # threads may share a memory

    def __reduce__(self) -> tuple[type["BackendState"], tuple[()]]:  # copies and pickles
        return BackendState, ()
