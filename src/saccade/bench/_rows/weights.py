"""Weights and values: sparse normalizers, half types, statistics, lazy values."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from saccade import AuxRequest, attend
from saccade.bench.formulas import PASSES, Function, additive_work, attention, attention_row, dot_work
from saccade.bench.row import Prepare, Row, Run, Setup, Work, at_most, package, times
from saccade.masks import Window
from saccade.normalizers import Entmax, Normalizer, Sparsemax
from saccade.reads import Argmax, Read, Sample, Soft, TopK
from saccade.scores import Additive, Cosine, Dot, ScaledDot, Score

_SCORES = (1, 1, 30), (32, 1, 30), (64, 32), (64, 256), (64, 1024), (64, 4096)
_SPARSE_TARGETS = {(64, 1024): times(10), (32, 1, 30): at_most(1.2)}
_SPARSE: tuple[tuple[str, Normalizer, str, dict[str, float]], ...] = (
    ("sparsemax", Sparsemax(), "sparsemax", {}),
    ("entmax 1.5", Entmax(1.5), "entmax15", {}),
    ("entmax 1.5", Entmax(1.5), "entmax_bisect", {"alpha": 1.5}),
)
"""Name, our normalizer, the package `entmax`'s function, and its options."""
_SPARSE_CALLS = (1, 1, 30, 16), (32, 1, 30, 16), (8, 256, 256, 64)


def sparse(setup: Setup) -> list[Row]:
    """Return the rows of sparsemax and entmax beside the `entmax` package."""
    alone, whole = list[Row](), list[Row]()
    for name, normalizer, peer, options in _SPARSE:
        for step in PASSES:
            alone += [_normalized(name, normalizer, peer, options, shape, step) for shape in _SCORES]
            if not options:
                whole += [_attention(setup, name, normalizer, peer, sizes, step) for sizes in _SPARSE_CALLS]
    return [*alone, *whole]


def _normalized(name: str, normalizer: Normalizer, peer: str, options: Any, shape: tuple[int, ...], step: str) -> Row:
    prepare, backward = PASSES[step], step != "forward"
    return Row(
        family=f"{name} {step}",
        shape="x".join(map(str, shape)),
        size=math.prod(shape),
        peer=f"entmax.{peer}",
        inputs=lambda setup: (setup.normal(*shape, grad=backward),),
        ours=prepare(lambda scores: normalizer(scores, None)),
        theirs=lambda scores: prepare(partial(getattr(package("entmax"), peer), **options))(scores),
        # weights and gradient are read again; scores of a decoder's step lie in the cache, and bound nothing
        work=Work(4 * math.prod(shape) * (5 if backward else 2), "B", "copy") if len(shape) == 2 else None,
        targets=(_SPARSE_TARGETS[shape],) if shape in _SPARSE_TARGETS else (),
        quick=shape in _SPARSE_TARGETS and peer != "entmax_bisect",
    )


def _attention(setup: Setup, name: str, normalizer: Normalizer, peer: str, sizes: tuple[int, ...], step: str) -> Row:

    def theirs(*inputs: Tensor) -> Run:
        weigh = getattr(package("entmax"), peer)
        return PASSES[step](lambda query, key, value, v: weigh(query @ key.mT, dim=-1) @ value)(*inputs)

    return attention_row(
        *(setup, f"{name} attention {step}", sizes, step, lambda v: {"score": Dot(), "normalizer": normalizer}),
        shape="x".join(map(str, sizes)),
        size=math.prod(sizes[:3]),
        peer=f"matmul, entmax.{peer}",
        theirs=theirs,
        work=dot_work(math.prod(sizes), step),
        quick=sizes[2] == 256 and peer == "sparsemax" and step == "forward",
    )


_TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_HALF: dict[str, Callable[[Tensor], dict[str, Any]]] = {
    "dot": lambda v: {},
    "dot, window": lambda v: {"mask": Window(128, 0)},
    "additive, window": lambda v: {"mask": Window(128, 0), "score": Additive(v.detach())},
    "cosine": lambda v: {"score": Cosine(beta=4.0)},
    "sparsemax": lambda v: {"normalizer": Sparsemax()},
}
_ONE_QUERY = ((1, 8, 4096, 64), (8, 8, 1024, 64), (64, 8, 256, 64))
"""Keys of calls with one query, without a memory that would keep them in float32."""


def half(setup: Setup) -> list[Row]:
    """Return the rows of half types on a CPU beside float32."""
    if setup.device.type != "cpu":
        return []
    usual = (1, 4, 1024, 64)
    return [
        *(_half(setup, call, kind, step, usual, 1024) for call in _HALF for kind in _TYPES for step in PASSES),
        *(_half(setup, "dot", kind, "forward", shape, 1) for shape in _ONE_QUERY for kind in _TYPES),
    ]


def _half(setup: Setup, call: str, kind: str, step: str, shape: tuple[int, ...], queries: int) -> Row:
    make, sizes = PASSES[step](attention(setup, _HALF[call])), (*shape[:-2], queries, *shape[-2:])

    def ours(*inputs: Tensor) -> Run:
        return make(*(tensor.detach().to(_TYPES[kind]).requires_grad_(tensor.requires_grad) for tensor in inputs))

    return attention_row(
        *(setup, f"{kind} {step}, {call}", sizes, step, _HALF[call]),
        shape="x".join(map(str, shape)) + ("" if queries == shape[-2] else f", {queries} query"),
        peer="float32",
        ours=ours,
        theirs=make,
        targets=(at_most(1.3),),
        same=False,
        quick=call == "dot, window",
    )


_REQUESTS = {
    "lse": AuxRequest(lse=True),
    "entropy": AuxRequest(entropy=True),
    "top 4": AuxRequest(top=4),
    "received": AuxRequest(received=True),
}
_KINDS: dict[str, tuple[tuple[int, ...], Callable[[Tensor], Score]]] = {
    "additive": ((8, 256, 256), Additive),
    "cosine": ((1, 4, 1024, 64), lambda v: Cosine(beta=4.0)),
    "dot": ((1, 4, 1024, 64), lambda v: ScaledDot()),
}
_TOP = ((8, 8, 512, 64), (32, 8, 128, 64), (1, 8, 2048, 64), (4, 8, 64, 64))
"""Other sizes of dot products with their largest weights."""


def statistics(setup: Setup) -> list[Row]:
    """Return the rows of statistics and of draws beside the call without them."""
    gpu, rows = setup.device.type == "cuda", list[Row]()
    for score, (shape, _) in _KINDS.items():
        for name, request in _REQUESTS.items():
            factor = 1.5 if not gpu else 2.2 if name == "received" else 1.3
            rows.append(_statistic(setup, score, name, {"aux": request}, factor, shape, quick=score != "cosine"))
        rows.append(_statistic(setup, score, "sample", {"read": Sample()}, 1.3, shape, quick=score != "cosine"))
    options = {"aux": _REQUESTS["top 4"]}
    return rows + [_statistic(setup, "dot", "top 4", options, 1.5, shape, quick=False) for shape in _TOP]


def _statistic(
    setup: Setup, score: str, name: str, options: dict[str, Any], factor: float, shape: tuple[int, ...], *, quick: bool
) -> Row:
    """Attention with some options beside attention without them."""
    make, terms = _KINDS[score][1], math.prod(shape) * shape[-2]
    sizes = (*shape[:-1], *shape[-2:])
    return attention_row(
        *(setup, f"{name}, {score}", sizes, "forward", lambda v: {"score": make(v), **options}),
        peer="soft" if name == "sample" else "without",
        theirs=PASSES["forward"](attention(setup, lambda v: {"score": make(v)})),
        work=additive_work(terms) if score == "additive" else dot_work(terms),
        targets=(at_most(factor),),
        same=name != "sample",
        quick=quick,
    )


_BATCH, _KEYS, _DIM = 8, 1024, 64
_THING, _HIDDEN = 256, 512  # features of an encoder's input, and of its hidden layer
_READS: tuple[tuple[int, Read], ...] = (
    (1, Sample(uniform=torch.tensor([0.5]))),  # both sides draw by one number
    (8, TopK(8)),
    (32, TopK(32)),
    (_KEYS, Soft()),
)
"""Number of values that a query reads, and the read."""


def lazy(setup: Setup) -> list[Row]:
    """Return the rows of lazy values, beside values encoded first."""
    return [
        *(_lazy(setup, count, read, 1, step) for step in PASSES for count, read in _READS),
        *(_lazy(setup, count, read, 64, "forward") for count, read in ((1, Argmax()), (8, TopK(8)))),
    ]


def _lazy(setup: Setup, count: int, read: Read, queries: int, step: str) -> Row:
    """A network of two layers encodes the values."""
    backward, several = step != "forward", f", {queries} queries" if queries > 1 else ""

    def inputs(setup: Setup) -> tuple[Tensor, ...]:
        attended = [setup.normal(_BATCH, length, _DIM) for length in (queries, _KEYS)]  # the encoder alone learns
        first = setup.normal(_THING, _HIDDEN, grad=backward, scale=_THING**-0.5)
        second = setup.normal(_HIDDEN, _DIM, grad=backward, scale=_HIDDEN**-0.5)
        return *attended, setup.normal(_BATCH, _KEYS, _THING), first, second

    def encoded(things: Tensor, first: Tensor, second: Tensor) -> Tensor:
        return (things @ first).relu() @ second

    def attended(values: Callable[..., Any]) -> Function:
        def run(query: Tensor, key: Tensor, *rest: Tensor) -> Tensor:
            there = read.map(lambda tensor, axes: tensor.to(query.device))
            return attend(query, key, values(*rest), read=there, backend=setup.backend)

        return run

    prepare: Callable[[Function], Prepare] = PASSES[step]
    layers = 2 * _THING + 3 * _DIM if backward else _THING + _DIM  # nothing learns below the first layer
    return Row(
        family=f"lazy values{several} {step}",
        shape=f"{count} of {_KEYS}",
        size=count,
        peer="all encoded first",
        inputs=inputs,
        ours=prepare(attended(lambda things, *layers: lambda index: encoded(things[index], *layers))),
        theirs=prepare(attended(encoded)),
        # several queries may read one value, which is encoded once: the work depends on the tensors
        work=None if several else Work(2 * _BATCH * count * _HIDDEN * layers, "FLOP", "multiply"),
        quick=not backward and not several,
    )
