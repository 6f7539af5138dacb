"""Weights and values: sparse normalizers, half types, statistics, lazy values."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from saccade import AuxRequest, attend
from saccade.bench.formulas import (
    PASSES,
    WAYS,
    Function,
    Options,
    attention,
    attention_row,
    bytes_of,
    forward,
    joined,
    memory_row,
    work_of,
)
from saccade.bench.row import Prepare, Row, Run, Setup, Target, Work, at_most, linear, package, times
from saccade.masks import Causal, Window
from saccade.normalizers import Entmax, Normalizer, Sparsemax
from saccade.reads import Argmax, Read, Sample, Soft, TopK
from saccade.scores import Dot

_LENGTH = 8192  # queries and keys of rows for a GPU alone
_SCORES = (1, 1, 30), (32, 1, 30), (64, 32), (64, 256), (64, 1024), (64, 4096)
_SPARSE_TARGETS: dict[str, dict[tuple[int, ...], tuple[Target, ...]]] = {
    "cpu": {(64, 1024): (times(10),), (32, 1, 30): (at_most(1.2),)},
    "cuda": {(64, 4096): (times(5),)},
}
_SPARSE: dict[str, tuple[str, Normalizer, dict[str, float]]] = {
    "sparsemax": ("sparsemax", Sparsemax(), {}),
    "entmax15": ("entmax 1.5", Entmax(1.5), {}),
    "entmax_bisect": ("entmax 1.5", Entmax(1.5), {"alpha": 1.5}),
}
"""A function of the package `entmax`: our name and normalizer, and its options."""
_SPARSE_CALLS = (1, 1, 30, 16), (32, 1, 30, 16), (8, 256, 256, 64)


def sparse(setup: Setup) -> list[Row]:
    """Return the rows of sparsemax and entmax beside the `entmax` package."""
    kinds = [(peer, step) for peer in _SPARSE for step in PASSES]
    calls = [(peer, step, sizes) for peer, step in kinds if peer != "entmax_bisect" for sizes in _SPARSE_CALLS]
    alone = [_normalized(setup, peer, step, shape) for peer, step in kinds for shape in _SCORES]
    return [
        *alone,
        *(_attention(setup, *call) for call in calls),
        *(_gpu(setup) if setup.device.type == "cuda" else []),
    ]


def _normalized(setup: Setup, peer: str, step: str, shape: tuple[int, ...]) -> Row:
    (name, normalizer, options), prepare, backward = _SPARSE[peer], PASSES[step], step != "forward"
    targets = _SPARSE_TARGETS.get(setup.device.type, {})
    return Row(
        family=f"{name} {step}",
        shape=joined(shape),
        size=math.prod(shape),
        peer=f"entmax.{peer}",
        inputs=lambda setup: (setup.normal(*shape, grad=backward),),
        ours=prepare(lambda scores: normalizer(scores, None)),
        theirs=lambda scores: prepare(partial(getattr(package("entmax"), peer), **options))(scores),
        # weights and gradient are read again; scores of a decoder's step lie in the cache, and bound nothing
        work=Work(4 * math.prod(shape) * (5 if backward else 2), "B", "copy") if len(shape) == 2 else None,
        targets=targets.get(shape, ()),
        quick=shape in targets and peer != "entmax_bisect",
    )


def _attention(setup: Setup, peer: str, step: str, sizes: tuple[int, ...]) -> Row:
    name, normalizer, _ = _SPARSE[peer]

    def theirs(*inputs: Tensor) -> Run:
        weigh = getattr(package("entmax"), peer)
        return PASSES[step](lambda query, key, value, v: weigh(query @ key.mT, dim=-1) @ value)(*inputs)

    return attention_row(
        *(setup, f"{name} attention {step}", sizes, step, lambda v: {"score": Dot(), "normalizer": normalizer}),
        shape=joined(sizes),
        size=math.prod(sizes[:3]),
        peer=f"matmul, entmax.{peer}",
        theirs=theirs,
        work=work_of("dot", math.prod(sizes), step),
        quick=sizes[2] == 256 and peer == "sparsemax" and step == "forward",
    )


def _gpu(setup: Setup) -> list[Row]:
    """Causal entmax of long sequences beside AdaSplash-2, and its memory."""
    causal: Options = lambda v: {"normalizer": Entmax(1.5), "mask": Causal()}  # noqa: E731 a table of one entry
    eager, sizes = attention(replace(setup, backend="reference"), causal), (1, 8, _LENGTH, _LENGTH, 64)

    def adasplash(*inputs: Tensor) -> Any:
        return package("adasplash").adasplash_v2(*inputs[:3])

    peers: tuple[tuple[str, Function, float, float], ...] = (
        ("eager", eager, 10, 1e-3),
        ("adasplash", adasplash, 0.8, 0.01),  # its threshold takes one step
    )
    made = [
        attention_row(
            *(setup, f"entmax 1.5 attention, causal {step}", sizes, step, causal),
            peer=peer,
            theirs=PASSES[step](function),
            work=work_of("dot", math.prod(sizes) / 2, step),
            targets=(times(ratio),),
            far=far,
            peer_bytes=4 * 8 * _LENGTH**2 * 4 if peer == "eager" else 0,
            half=True,
        )
        for step in PASSES
        for peer, function, ratio, far in peers
    ]
    length, dim = 2 * _LENGTH, 32
    memory = memory_row(
        *(
            setup,
            "entmax 1.5",
            (length, length, dim),
            attention(replace(setup, backend="reference"), WAYS["entmax 1.5"]),
        ),
        peer="eager",
        targets=(linear(1.2, *bytes_of(length, dim)),),
        peer_bytes=4 * length**2 * 4,
    )
    return [*made, memory]


_TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_HALF: dict[str, Options] = {
    "dot": WAYS["dot"],
    "dot, window": lambda v: {"mask": Window(128, 0)},
    "additive, window": lambda v: {"mask": Window(128, 0), **WAYS["additive"](v)},
    "cosine": WAYS["cosine"],
    "sparsemax": WAYS["sparsemax"],
}
_ONE_QUERY = ((1, 8, 4096, 64), (8, 8, 1024, 64), (64, 8, 256, 64))
"""Keys of calls with one query, without a memory that would keep them in float32."""


def half(setup: Setup) -> list[Row]:
    """Return the rows of half types on a CPU beside float32."""
    if setup.device.type != "cpu":
        return []
    return [
        *(
            _half(setup, call, kind, step, (1, 4, 1024, 64), 1024)
            for call in _HALF
            for kind in _TYPES
            for step in PASSES
        ),
        *(_half(setup, "dot", kind, "forward", shape, 1) for shape in _ONE_QUERY for kind in _TYPES),
    ]


def _half(setup: Setup, call: str, kind: str, step: str, shape: tuple[int, ...], queries: int) -> Row:
    make = PASSES[step](attention(setup, _HALF[call]))

    def ours(*inputs: Tensor) -> Run:
        return make(*(tensor.detach().to(_TYPES[kind]).requires_grad_(tensor.requires_grad) for tensor in inputs))

    return attention_row(
        *(setup, f"{kind} {step}, {call}", (*shape[:-2], queries, *shape[-2:]), step, _HALF[call]),
        shape=joined(shape) + ("" if queries == shape[-2] else f", {queries} query"),
        peer="float32",
        ours=ours,
        theirs=make,
        targets=(at_most(1.3),),
        same=False,
        quick=call == "dot, window",
    )


_STATISTICS = ("lse", "entropy", "top 4", "received", "sample")
_SHAPES = {"additive": (8, 256, 256), "cosine": (1, 4, 1024, 64), "dot": (1, 4, 1024, 64)}
_TOP = ((8, 8, 512, 64), (32, 8, 128, 64), (1, 8, 2048, 64), (4, 8, 64, 64))
"""Other sizes of dot products with their largest weights."""


def statistics(setup: Setup) -> list[Row]:
    """Return the rows of statistics and of draws beside the call without them."""
    usual = [_statistic(setup, score, name, shape) for score, shape in _SHAPES.items() for name in _STATISTICS]
    made = [*usual, *(_statistic(setup, "dot", "top 4", shape) for shape in _TOP)]
    return [*made, *_long(setup)] if setup.device.type == "cuda" else made


def _statistic(setup: Setup, score: str, name: str, shape: tuple[int, ...]) -> Row:
    way, sizes = WAYS["draws" if name == "sample" else name], (*shape[:-1], *shape[-2:])
    factor = 1.3 if name == "sample" else 1.5
    if setup.device.type == "cuda" and shape not in _TOP:
        factor = 2.2 if name == "received" else 1.3
    return attention_row(
        *(setup, f"{name}, {score}", sizes, "forward", lambda v: WAYS[score](v) | way(v)),
        peer="soft" if name == "sample" else "without",
        theirs=PASSES["forward"](attention(setup, WAYS[score])),
        work=work_of(score, math.prod(sizes)),
        targets=(at_most(factor),),
        same=name != "sample",
        quick=score != "cosine" and shape not in _TOP,
    )


def _long(setup: Setup) -> list[Row]:
    """Statistics and draws of long sequences beside torch and a package."""
    shape = 1, 8, _LENGTH, 64
    made = [
        replace(
            _statistic(setup, "dot", name, shape),
            peer="torch",
            theirs=forward(lambda query, key, value, v: sdpa(query, key, value)),
            targets=(at_most(2 if name == "received" else 1.3),),
            half=True,
        )
        for name in _STATISTICS
    ]
    received = next(row for row in made if row.family.startswith("received"))

    def ours(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
        result: Any = attend(query, key, value, aux=AuxRequest(received=True), backend=setup.backend)
        received: Tensor = result[1].received
        return received

    def theirs(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Any:
        return package("flash_colreduce").flash_colreduce(query, key, "sum")

    sides: dict[str, Any] = {"peer": "flash-colreduce", "ours": forward(ours), "theirs": forward(theirs)}
    return [*made, replace(received, **sides, targets=(times(0.9),), far=0.01)]


_BATCH, _KEYS, _DIM = 8, 1024, 64
_THING, _HIDDEN = 256, 512  # features of an encoder's input, and of its hidden layer
_READS: dict[int, Read] = {
    1: Sample(uniform=torch.tensor([0.5])),  # both sides draw by one number
    8: TopK(8),
    32: TopK(32),
    _KEYS: Soft(),
}
"""Reads by the number of values that a query reads."""


def lazy(setup: Setup) -> list[Row]:
    """Return the rows of lazy values, beside values encoded first."""
    return [
        *(_lazy(setup, count, read, 1, step) for step in PASSES for count, read in _READS.items()),
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

    def attended(values: Callable[..., Any]) -> Prepare:
        def run(query: Tensor, key: Tensor, *rest: Tensor) -> Tensor:
            there = read.map(lambda tensor, axes: tensor.to(query.device))
            return attend(query, key, values(*rest), read=there, backend=setup.backend)

        return PASSES[step](run)

    layers = 2 * _THING + 3 * _DIM if backward else _THING + _DIM  # nothing learns below the first layer
    return Row(
        family=f"lazy values{several} {step}",
        shape=f"{count} of {_KEYS}",
        size=count,
        peer="all encoded first",
        inputs=inputs,
        ours=attended(lambda things, *layers: lambda index: encoded(things[index], *layers)),
        theirs=attended(encoded),
        # several queries may read one value, which is encoded once: the work depends on the tensors
        work=None if several else Work(2 * _BATCH * count * _HIDDEN * layers, "FLOP", "multiply"),
        quick=not backward and not several,
    )
