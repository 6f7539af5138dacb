"""The choice of a backend for a call, and the reasons against the other backends.

Backends answer for themselves (`backends.offers`). A new one is a line in `BACKENDS` and, if `auto` should consider it,
its name in `PREFERRED`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias

from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import autocasting, recorded, without_autocast
from saccade._definitions.structure import foreign
from saccade.auxiliary import AuxOutput
from saccade.backends import chunked, cpu, flex, reference, sdpa, triton
from saccade.backends.blockwise.plan import pairs
from saccade.backends.offers import Answer, Answers, Offer, Pairs, Refusal, answered
from saccade.errors import ArgumentError, ArgumentTypeError, UnsupportedBackend
from saccade.masks._intervals import by_numbers
from saccade.reads import Sample

BACKENDS: dict[str, ModuleType] = {
    "sdpa": sdpa,
    "flex": flex,
    "triton": triton,
    "cpu": cpu,
    "chunked": chunked,
    "reference": reference,
}

PREFERRED = {
    "cpu": ("sdpa", "cpu", "reference", "chunked"),
    "cuda": ("sdpa", "triton", "flex", "reference", "chunked"),
}
ELSEWHERE = "sdpa", "reference", "chunked"
"""Order of backends for "auto" by device type, of those that serve a call well."""

Result = tuple[Tensor, AuxOutput]


@dataclass(frozen=True)
class Plan:
    """The backend that `attend` would take for a call, with reasons; prints readably.

    Args:
        backend: the one that would run.
        why: for each other backend, the reason it was passed over.
        peak_bytes: about how much it would allocate beside inputs and output, in bytes.
        terms: how many query-key-feature terms all scores take.
        values: the calls of a value that is a function; None for a tensor.
        pairs: of a query and a key, as `Pairs`. None without a mask, for a mask class of your own, and for a mask
            whose tensors lie off the CPU: reading them would wait for the device.

    >>> print(Plan("cpu", {"chunked": "slower here"}, 0, 4096, pairs=Pairs(64, 16, 32)))
    backend     cpu
    terms       4,096
    peak bytes  0
    pairs       64, 16 allowed, 32 computed: 2.0 times as many
    not chunked: slower here
    """

    backend: str
    why: dict[str, str]
    peak_bytes: int
    terms: int
    values: str | None = None
    pairs: Pairs | None = None

    def __str__(self) -> str:
        head = [f"backend     {self.backend}", f"terms       {self.terms:,}", f"peak bytes  {self.peak_bytes:,}"]
        head += [] if self.pairs is None else [f"pairs       {self.pairs}"]
        head += [] if self.values is None else [f"values      {self.values}"]
        return "\n".join(head + [f"not {name}: {reason}" for name, reason in self.why.items()])


Running: TypeAlias = Callable[[Call, str], Result]
Planning: TypeAlias = Callable[[Call, str], Plan]
"""The way of a call, with the backend's name, to its result and to its plan."""


def named(backend: str) -> str:
    """The name of a backend, checked."""
    if not isinstance(backend, str):
        raise ArgumentTypeError(f"backend: expected a name, such as 'auto', got {type(backend).__name__}")
    if backend in BACKENDS:
        return backend
    names = ", ".join(repr(name) for name in ("auto", *BACKENDS))
    raise ArgumentError(f"backend: expected one of {names}, got {backend!r}")


def choose(call: Call, backend: str = "auto") -> ModuleType:
    """The named backend, or for "auto" the best. A named one never falls back."""
    if backend == "auto":
        return BACKENDS[best(call, Answers(call, BACKENDS))]
    module = BACKENDS[named(backend)]
    accepted(backend, answered(backend, module, call))
    return module


def best(call: Call, answers: Answers) -> str:
    """The backend for "auto": the first preferred one that serves the call well."""
    for name in PREFERRED.get(call.query.device.type, ELSEWHERE):
        if answers.of(name).reason is None:
            return name
    raise AssertionError("the reference and blocks serve every call between them")


def accepted(backend: str, answer: Answer) -> Offer:
    """The offer of a backend; its refusal is an `UnsupportedBackend`."""
    if isinstance(answer, Refusal):
        raise UnsupportedBackend(f"backend={backend!r}: {answer.reason}; take backend='auto'")
    return answer


def run(call: Call, backend: str) -> Result:
    """Output and statistics of a valid call by the backend that serves it."""
    if autocasting(call.query) and call.built_in:
        with without_autocast(call.query):  # its tensors are cast already
            return run(call, backend)
    chosen = choose(call, backend)
    if call.dropout_p > 0 or isinstance(call.read, Sample):
        call = call.with_randomness()
    return chosen.run(call)  # type: ignore[no-any-return]


def plan(call: Call, backend: str = "auto") -> Plan:
    """The `Plan` of a call, from the answers that `choose` decides by."""
    if autocasting(call.query) and call.built_in:
        with without_autocast(call.query):
            return plan(call, backend)
    answers = Answers(call, BACKENDS)
    if backend != "auto":
        accepted(backend, answers.of(named(backend)))
    favourite = best(call, answers)
    chosen = favourite if backend == "auto" else backend
    offer = accepted(chosen, answers.of(chosen))
    size = offer.peak_bytes(call)
    why = {name: against(name, answers.of(name), chosen, favourite, size) for name in BACKENDS if name != chosen}
    return Plan(chosen, why, size, call.pairs * call.query.shape[-1], pairs=counted(call, offer))


def against(name: str, answer: Answer, chosen: str, favourite: str, size: int) -> str:
    """Reason against a backend with this answer. The chosen one takes `size` bytes."""
    if answer.reason is not None:
        return answer.reason
    if chosen != favourite:
        return f"the call names {chosen}"
    if chosen == "reference":
        return f"for a call this small ({size:,} bytes) the plain formula is faster"
    return f"{chosen} is faster here"


def counted(call: Call, offer: Offer) -> Pairs | None:
    """Pairs in the call, allowed and computed; None off the CPU, if tensors decide."""
    if call.mask is None or recorded() or not call.built_in or foreign(call.mask):
        return None
    if call.query.device.type != "cpu" and not by_numbers(call.mask):
        return None
    return pairs(call, 0, all_of_them=True) if offer.pairs is None else offer.pairs(call)
