"""Which backend serves a call: the one place where that is decided, and where the reasons are kept.

A backend is a module with `unsupported(call) -> str | None`, `peak_bytes(call) -> int` and `run(call) -> (output,
aux)`. A new one is a line in `BACKENDS` and, where `auto` should consider it, a line in `choose`.
"""

import math
from dataclasses import dataclass
from types import ModuleType

import torch

from saccade._call.call import Call, opaque
from saccade._definitions.numerics import tracing, transforming
from saccade._definitions.structure import foreign
from saccade.backends import chunked, cpu, flex, reference, sdpa, triton
from saccade.backends.blockwise.engine import DEFINITION
from saccade.backends.blockwise.plan import Pairs, pairs, recorded, share
from saccade.backends.sdpa.documents import documented
from saccade.errors import ArgumentError, ArgumentTypeError, UnsupportedBackend
from saccade.masks._intervals import by_numbers
from saccade.scores import Additive

BACKENDS: dict[str, ModuleType] = {
    "sdpa": sdpa,
    "flex": flex,
    "triton": triton,
    "cpu": cpu,
    "chunked": chunked,
    "reference": reference,
}

SMALL = 8 << 20
"""Bytes up to which `auto` lays the weights out: below it the plain formula is faster than blocks."""

SMALL_ADDITIVE = 1 << 20
"""The same for the terms of an additive score that our kernels do not serve, each of which costs a tanh in the plain
formula: a decoder's single steps.
"""

SMALL_ADDITIVE_RECORDED = 4 << 20
"""The same where a backward is to follow: the terms are kept for it, where blocks would compute them twice. A limit for
one call: a decoder that makes many keeps as many.
"""

HALF = 0.5
"""Share of the pairs in blocks that a mask leaves any, up to which `auto` takes our blocks in the place of torch's
kernel with the mask laid out. At half of them they are 1.3 to 1.8 times as fast forward and 1.0 to 1.5 times trained,
at a quarter 1.9 to 3.3 and 1.5 to 2.5 times (8 heads, 1,024 to 4,096 keys, one thread).
"""

MANY = 1 << 20
"""Pairs of queries and keys from which it looks for such blocks."""


@dataclass(frozen=True)
class Plan:
    """The backend that `attend` would take for a call, with reasons; prints readably.

    Args:
        backend: the one that would run.
        why: for each other backend, the reason it was passed over.
        peak_bytes: about how much it would allocate beside inputs and output, in bytes.
        terms: how many query-key-feature terms all scores take.
        values: the calls of a value that is a function; None for a tensor.
        pairs: of a query and a key, as `Pairs`; None where values may not be looked at, off the CPU of a mask that
            holds tensors, which would have to be waited for, of a mask of your own, and of torch's kernels.

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


def named(backend: str) -> ModuleType:
    """The backend of that name.

    Raises:
        ArgumentError: there is none.
    """
    if not isinstance(backend, str):
        raise ArgumentTypeError(f"backend: expected a name, such as 'auto', got {type(backend).__name__}")
    if backend in BACKENDS:
        return BACKENDS[backend]
    known = ", ".join(repr(name) for name in ("auto", *BACKENDS))
    raise ArgumentError(f"backend: expected one of {known}, got {backend!r}")


def choose(call: Call, backend: str = "auto") -> ModuleType:
    """The backend that serves the call: the one that is named, or for "auto" the best that can.

    Raises:
        UnsupportedBackend: a named backend cannot serve the call, with the reason. It never falls back.
        ArgumentError: an unknown name.
    """
    if backend == "auto":
        return BACKENDS[decide(call)]
    module = named(backend)
    reason = module.unsupported(call)
    if reason is not None:
        raise UnsupportedBackend(f"backend={backend!r}: {reason}; take backend='auto'")
    return module


def decide(call: Call) -> str:
    """The name that "auto" means: torch's kernels or ours, else the plain formula where it is small, else blocks."""
    if flex.unsupported(call) is None and without_flex(call) is None:
        return "flex"
    if sdpa.unsupported(call) is None and sdpa.unwise(call) is None and not by_blocks(call):
        return "sdpa"
    if triton.unsupported(call) is None and triton.unwise(call) is None:
        return "triton"
    if cpu.unsupported(call) is None and cpu.unwise(call) is None:
        return "cpu"
    if tracing():  # sizes are symbols: the choice must not depend on them
        return "chunked" if opaque(call) and not transforming() else "reference"
    little = reference.peak_bytes(call) <= small(call)
    return "reference" if little or chunked.unsupported(call) is not None else "chunked"


def without_flex(call: Call) -> str | None:
    """Why `auto` passes flex over where it could serve: skipping blocks would not pay."""
    reason: str | None = flex.unwise(call)
    if reason is None and sdpa.unsupported(call) is None and sdpa.unwise(call) is None:
        reason = flex.spares_little(call, sdpa.causal(call))
    return reason


def by_blocks(call: Call) -> bool:
    """Whether our blocks on a CPU beat torch's kernel with the mask laid out, since most of them are empty."""
    pairs = call.query.shape[-2] * call.key.shape[-2]
    if call.mask is None or call.query.device.type != "cpu" or tracing() or transforming() or pairs < MANY:
        return False
    if not sdpa.lays_out(call) or (cpu.unsupported(call) or (cpu.unwise(call) and not sdpa.sunk(call))):
        return False
    return share(call) <= HALF


def small(call: Call) -> int:
    """Bytes up to which `auto` lays everything out."""
    if call.query.device.type != "cpu":
        return triton.few(call)
    if not isinstance(call.score, Additive):
        return SMALL
    learned = torch.is_grad_enabled() and any(leaf.tensor.requires_grad for leaf in call.leaves())
    return SMALL_ADDITIVE_RECORDED if learned else SMALL_ADDITIVE


def plan(call: Call, backend: str = "auto") -> Plan:
    """The `Plan` of a call: what `choose` decides, with the reason against each other backend."""
    chosen = choose(call, backend)
    name = next(name for name, module in BACKENDS.items() if module is chosen)
    asked = backend != "auto" and name != decide(call)
    why = {other: reason(call, other, name, asked) for other in BACKENDS if other != name}
    features = call.query.shape[-1]
    terms = call.query.shape[-2] * call.key.shape[-2] * features
    for size in call.batch:
        terms *= size
    return Plan(name, why, chosen.peak_bytes(call), terms, pairs=counted(call, chosen))


def counted(call: Call, chosen: ModuleType) -> Pairs | None:
    """How many pairs there are, are allowed and are computed; torch's kernels do not tell but of documents, where they
    look at all the pairs of each, or at fewer if it is causal. Off the CPU nobody waits for what a mask's tensors hold.
    """
    if call.mask is None or recorded() or chosen is flex:
        return None
    if call.query.device.type != "cpu" and not by_numbers(call.mask):
        return None
    if chosen is sdpa:
        return documents(call)
    if not call.built_in or foreign(call.mask):
        return None
    all_of_them = chosen is reference or (chosen is cpu and cpu.one_block(call))
    if chosen is cpu and not all_of_them and (windowed := cpu.windowed(call)) is not None:
        return windowed
    engine = DEFINITION if all_of_them else chosen.ENGINE
    return pairs(call, engine.budget(call), all_of_them=all_of_them)


def documents(call: Call) -> Pairs | None:
    """The same of documents that are computed one after the other."""
    found = documented(call)
    if found is None:
        return None
    entries = math.prod(call.batch) // len(found.rows)
    allowed, computed = (entries * pairs for pairs in found.pairs())
    return Pairs(math.prod(call.batch) * call.query.shape[-2] * call.key.shape[-2], allowed, computed)


def reason(call: Call, other: str, chosen: str, asked: bool = False) -> str:
    """Why `other` was passed over for `chosen`, or for what was asked for by name where "auto" chooses otherwise."""
    module = BACKENDS[other]
    refusal = module.unsupported(call) or (module.unwise(call) if module in (sdpa, triton, cpu) else None)
    refusal = without_flex(call) if module is flex and refusal is None else refusal
    if refusal is not None:
        return str(refusal)
    if asked:
        return "another backend was asked for by name"
    if other == "sdpa" and chosen == "flex" and without_flex(call) is None:
        return "it would lay the mask out and look at every pair, where flex skips whole blocks of forbidden ones"
    if other == "sdpa" and chosen in ("cpu", "chunked", "reference") and by_blocks(call):
        return "it would lay the mask out and look at every pair, where ours passes over blocks of forbidden ones"
    if other == "cpu" and chosen in ("sdpa", "flex", "triton"):
        return f"{chosen} is faster here"
    if other == "reference":
        return f"it lays the weights out, about {reference.peak_bytes(call):,} bytes, and is slower"
    if other == "chunked":
        return (
            f"{chosen} is faster here"
            if chosen in ("sdpa", "flex", "triton", "cpu")
            else f"for a call this small ({reference.peak_bytes(call):,} bytes) the plain formula is faster"
        )
    return "another backend was asked for by name"
