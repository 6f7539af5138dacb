"""A backend's answer to a call: an `Offer`, or a `Refusal` with the reason.

A backend is a module with `offer(call, rivals) -> Offer | Refusal` and `run(call) -> (output, aux)`. It answers once:
`Answers` keeps what it says, for the choice, for its rivals and for `explain`.
"""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import NamedTuple, TypeAlias

from saccade._call.call import Call
from saccade._plainly import REASON, is_plain


class Pairs(NamedTuple):
    """Pairs of a query and a key: of the call, allowed, and with computed scores."""

    all: int
    allowed: int
    computed: int

    def __str__(self) -> str:
        ratio = f": {self.computed / self.allowed:.1f} times as many" if self.allowed else ""
        return f"{self.all:,}, {self.allowed:,} allowed, {self.computed:,} computed{ratio}"


class Refusal(NamedTuple):
    """A backend cannot serve the call, an error if the caller names it."""

    reason: str


class Offer(NamedTuple):
    """A backend can serve the call."""

    peak_bytes: Callable[[Call], int]  # about how many bytes it allocates beside inputs and output
    pairs: Callable[[Call], Pairs | None] | None = None  # under a built-in mask; None: it computes all pairs
    reason: str | None = None  # why "auto" passes it over nevertheless; None: it serves the call well


Answer: TypeAlias = Offer | Refusal


def answered(name: str, backend: ModuleType, call: Call, rivals: "Answers | None" = None) -> Answer:
    """The answer of a backend. In a block of `plainly` all but the reference refuse."""
    if name != "reference" and is_plain():
        return Refusal(REASON)
    return backend.offer(call, rivals)  # type: ignore[no-any-return]


class Answers:
    """The answers of backends (by name) to one call, each made once, at its first use."""

    def __init__(self, call: Call, backends: Mapping[str, ModuleType]) -> None:
        self._call, self._backends = call, backends
        self._answers: dict[str, Answer] = {}

    def of(self, name: str) -> Answer:
        """The answer of a backend; its reason is None if the backend serves the call well."""
        answer = self._answers.get(name)
        if answer is None:
            answer = self._answers[name] = answered(name, self._backends[name], self._call, self)
        return answer

    def serves(self, name: str) -> bool:
        """Whether a backend can serve the call, well or not."""
        return isinstance(self.of(name), Offer)
