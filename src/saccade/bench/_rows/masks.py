"""Masks that leave most pairs out, and steps of decoders with a constant cost."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from saccade import AuxRequest, remember
from saccade._definitions.structure import Grid
from saccade.bench.formulas import PASSES, Function, additive_work, attention, attention_row, dot_work, normal
from saccade.bench.row import Row, Run, Setup, Target, Work, at_most, close_behind, times, within
from saccade.masks import Around, Causal, Documents, Mask, Prefix, Window
from saccade.memory import Memory
from saccade.normalizers import Entmax, Sparsemax
from saccade.reads import Sample
from saccade.scores import Additive, Cosine, ScaledDot

_HEADS, _DIM, _DOCUMENT = 8, 64, 512
_SHORT, _LENGTH, _LONG, _MILLION = 4096, 8192, 1 << 17, 1 << 20
_DENSE = "torch, the mask laid out"

_WAYS: dict[str, Callable[[Setup], dict[str, Any]]] = {
    "dot": lambda setup: {"score": ScaledDot()},
    "additive": lambda setup: {"score": Additive(torch.linspace(-1, 1, _DIM, device=setup.device) / _DIM**0.5)},
    "cosine": lambda setup: {"score": Cosine(beta=4.0)},
    "sparsemax": lambda setup: {"normalizer": Sparsemax()},
    "entmax 1.5": lambda setup: {"normalizer": Entmax()},
    "draws": lambda setup: {"read": Sample()},
    "entropy": lambda setup: {"aux": AuxRequest(entropy=True)},
    "top 4": lambda setup: {"aux": AuxRequest(top=4)},
}
"""Options of `attend`, by the first word of a row's name."""


class _Case(NamedTuple):
    """A call under a mask, its allowed pairs, and targets forward and in training."""

    way: str
    name: str
    mask: Mask | None  # None: documents of 512 keys
    pairs: int
    length: int
    targets: tuple[Target, ...] = ()


def _window(way: str, name: str, left: int, right: int, *targets: Target, length: int | None = None) -> _Case:
    length = length or _LENGTH
    return _Case(way, name, Window(left, right), length * (left + right + 1), length, targets)


def rows(setup: Setup) -> list[Row]:
    """Return the rows of masks: pairs that they forbid ought to cost nothing."""
    triangle, long = _LENGTH * (_LENGTH + 1) // 2, _LONG // 8
    laid_out = (
        _window("dot", "window 128", 128, 0, times(15), times(10)),
        _window("dot", "window 512 + 512", 512, 512, times(4), times(3)),
    )
    causal = _Case("dot", "causal", Causal(), triangle, _LENGTH, (close_behind(),) * 2)
    apart = _Case("dot", "16 documents", None, _LENGTH * _DOCUMENT, _LENGTH, (at_most(1.2),) * 2)
    masked = (
        _window("additive", "window 128", 128, 0, times(25), times(20)),
        _Case("additive", "causal", Causal(), triangle, _LENGTH, (times(1.7), times(1.7))),
        *(case for way in _WAYS if way != "dot" for case in _ideal(way)),
    )
    growth = _window("dot", "window 128, growth", 128, 0, at_most(1.1), at_most(1.1), length=_LONG)
    made: list[Row] = []
    for step in PASSES:
        for case in laid_out:
            quick = case is laid_out[0] and step == "forward"
            made.append(_row(setup, case, _DENSE, _dense(case), step, quick=quick))
        made.append(_row(setup, causal, "torch", partial(sdpa, is_causal=True), step))
        made.append(_row(setup, apart, "torch, a batch of 16", _batch, step))
        made += [_row(setup, case, "without a mask", _call(setup, case, False), step, same=False) for case in masked]
        made.append(_row(setup, growth, f"8 calls of {long}", _parts(setup, growth, long), step, same=False))
        for way in _WAYS:
            case = _window(way, "window 128, one pass", 128, 0, length=_SHORT)
            blocks = _call(Setup(setup.device, "chunked"), case)
            made.append(_row(setup, case, "backend chunked", blocks, step, same=way != "draws"))
    return [*made, _memory(setup), *(_gpu(setup) if setup.device.type == "cuda" else [])]


def _ideal(way: str) -> list[_Case]:
    """A call under three masks, at up to twice the price of its allowed pairs alone."""
    kinds: tuple[tuple[str, Mask | None, int], ...] = (
        ("window 128", Window(128, 0), _SHORT * 129),
        ("causal", Causal(), _SHORT * (_SHORT + 1) // 2),
        ("8 documents", None, _SHORT * _DOCUMENT),
    )
    return [
        _Case(way, f"{name}, ideal", mask, pairs, _SHORT, (times(round(_SHORT**2 / (2 * pairs), 1)),) * 2)
        for name, mask, pairs in kinds
    ]


def _gpu(setup: Setup) -> list[Row]:
    """Kernels that skip blocks, each beside torch's with a dense mask."""
    cases = [
        _Case("dot", f"{name}, by {backend}", mask, pairs, length)
        for backend in ("flex", "triton", "chunked")
        for length in (512, 2048, 8192)
        for name, mask, pairs in (
            ("window 128", Window(128, 0), length * 129),
            ("half a window", Window(length // 2, 0), length * length // 2),
            ("three quarters of prefix", Prefix(3 * length // 4), length * length * 7 // 8),
        )
    ]
    return [
        _row(Setup(setup.device, case.name.rpartition(" ")[2]), case, _DENSE, _dense(case), step)
        for case in cases
        for step in PASSES
    ]


def _memory(setup: Setup) -> Row:
    """Memory of training with a million keys beyond the inputs."""
    case = _window("dot", "window 256, memory of training", 256, 0, within(3 * 1024), length=_MILLION)
    sizes = (1, 1, _MILLION, _MILLION, _DIM)
    warm = normal((1, 1, 4096, 4096, _DIM), grad=True)
    memory = {"memory": True, "warm": warm, "peer_bytes": _MILLION**2, "same": False}
    return _row(setup, case, _DENSE, _dense(case), "forward+backward", sizes=sizes, work=None, **memory)


def _row(
    setup: Setup, case: _Case, peer: str, theirs: Function, step: str, sizes: tuple[int, ...] = (), **more: Any
) -> Row:
    terms, memory = _HEADS * case.pairs * _DIM, "memory" in more
    work = additive_work(terms, step) if case.way == "additive" else dot_work(terms, step)
    if case.way == "draws":  # one value is read of a row, and no gradient of it reaches the scores
        work = Work(2.0 * terms, "FLOP", "multiply")
    family = f"{case.way}, {case.name}" if memory else f"{case.way}, {case.name} {step}"
    return attention_row(
        *(setup, family, sizes or (1, _HEADS, case.length, case.length, _DIM), step, partial(_options, setup, case)),
        peer=peer,
        theirs=PASSES[step](lambda query, key, value, v: theirs(query, key, value)),
        targets=case.targets if memory else case.targets[step != "forward" :][:1],
        **({"work": work} | more),
    )


def _options(setup: Setup, case: _Case, *_: Tensor, masked: bool = True) -> dict[str, Any]:
    return {**_WAYS[case.way](setup), "mask": (case.mask or _documents(setup, case.length)) if masked else None}


def _call(setup: Setup, case: _Case, masked: bool = True) -> Function:
    return attention(setup, partial(_options, setup, case, masked=masked))


def _documents(setup: Setup, length: int) -> Documents:
    ids = torch.arange(length, device=setup.device) // _DOCUMENT
    return Documents(ids, ids)


def _dense(case: _Case) -> Function:
    """torch's kernel, with a mask made in the first call, before the measurement."""

    @cache
    def laid_out(length: int, device: torch.device) -> Tensor:
        assert case.mask is not None
        return case.mask.dense(Grid(length, length, 0, length, device))

    def run(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return sdpa(query, key, value, laid_out(query.shape[-2], query.device))

    return run


def _batch(*tensors: Tensor) -> Tensor:
    apart = [tensor.unflatten(-2, (-1, _DOCUMENT)).movedim(-3, 0).flatten(0, 1) for tensor in tensors]
    joined: Tensor = sdpa(*apart).unflatten(0, (-1, 1)).movedim(0, -3).flatten(-3, -2)
    return joined


def _parts(setup: Setup, case: _Case, length: int) -> Function:
    call = _call(setup, case)

    def run(*tensors: Tensor) -> Tensor:
        parts = zip(*(tensor.split(length, -2) for tensor in tensors), strict=True)
        return torch.cat([call(*part) for part in parts], -2)

    return run


_RADIUS, _KEPT, _PIECE, _MANY, _FEW, _WIDE = 64, 256, 100, 100_000, 1_000, 256


def steps(setup: Setup) -> list[Row]:
    """Return rows of steps: many keys beside few, with equally many allowed."""

    def inputs(length: int, setup: Setup) -> tuple[Tensor, ...]:
        return tuple(setup.normal(1, length, _WIDE) for _ in range(2))

    around = 2 * _RADIUS + 1
    kinds: tuple[tuple[str, int, int, Callable[..., Run]], ...] = (
        (f"decoder step, {around} keys around", around, _MANY, _around),
        (f"streamed step, {_KEPT} keys kept", _KEPT, _FEW, _streamed),
    )
    return [
        Row(
            family=f"{score}, {name}",
            shape=f"1x{_MANY}x{_WIDE}",
            size=_MANY,
            peer=f"of {_FEW} keys",
            inputs=partial(inputs, length),
            ours=partial(read, setup, score, _MANY),
            theirs=partial(read, setup, score, _FEW),
            work=additive_work(float(keys * _WIDE)) if score == "additive" else Work(8.0 * keys * _WIDE, "B", "copy"),
            targets=(at_most(1.5),),
            same=False,
        )
        for score in ("dot", "additive")
        for name, keys, length, read in kinds
    ]


def _score(kind: str, like: Tensor) -> Additive | ScaledDot:
    v = torch.linspace(-1, 1, _WIDE, device=like.device) / _WIDE**0.5
    return Additive(v) if kind == "additive" else ScaledDot()


def _around(setup: Setup, kind: str, length: int, key: Tensor, value: Tensor) -> Run:
    """A read of the keys near the middle of a memory."""
    memory = remember(*(part[:, :length].contiguous() for part in (key, value)), score=_score(kind, key))
    query, mask = key[:, :1], Around(torch.full((1, 1), length / 2, device=key.device), _RADIUS)
    return lambda: memory.read(query, mask=mask, backend=setup.backend)


def _streamed(setup: Setup, kind: str, length: int, key: Tensor, value: Tensor) -> Run:
    """A write and a read after `length` written keys; each call is the next step."""
    none = torch.arange(0, device=key.device)
    memory = remember(key[:, :0], value[:, :0], score=_score(kind, key), positions=none, capacity=_KEPT)
    query, mask, written = key[:, :1], Window(_KEPT - 1, 0, align="end"), 0

    def write(count: int) -> Memory:
        nonlocal memory, written
        positions = torch.arange(written, written + count, device=key.device)
        with torch.no_grad():
            memory = memory.write(positions, key[:, :count], value[:, :count])
        written += count
        return memory

    while written < length:
        write(_PIECE)
    return lambda: write(1).read(query, mask=mask, backend=setup.backend)
