"""Additive attention: whole sequences, training, decoder steps, training memory."""

import math
from typing import Any

import torch
from torch import Tensor

from saccade import remember
from saccade.bench.formulas import (
    PASSES,
    WAYS,
    attention,
    attention_row,
    bytes_of,
    compiled,
    joined,
    keras,
    memory_row,
    normal,
    remembered,
    textbook,
    work_of,
)
from saccade.bench.row import Prepare, Row, Run, Setup, Target, Work, as_fast, linear, of_limit, speed_of, times, within
from saccade.scores import Additive

_LENGTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
_COMPILED = (32, 256, 1024)  # each length is compiled on its own, which takes up to half a minute
_STEPS = (32, 128, 512, 2048, 4096)
_LARGE = 8, 256, 256, 256
_SMALL = ((3, 301, 77, 130), (32, 40, 45, 512), (16, 64, 64, 64), (2, 128, 128, 64), (4, 100, 100, 30))
"""Odd or small sizes: batch, queries, keys, features."""
_MEMORY = (1024, 2048, 4096, 8192, 16384)


def rows(setup: Setup) -> list[Row]:
    """Return the rows of additive attention."""
    return [
        *(row for step in PASSES for length in _LENGTHS for row in _sequence(setup, length, step)),
        *(row for keys in _STEPS for row in _decoder_step(setup, keys)),
        *(_plain_sum(setup, batch, keys, 512) for batch in (8, 16, 32, 64) for keys in (32, 128, 512)),
        _plain_sum(setup, 1, 1, 8),
        *(_small(setup, sizes, step) for step in PASSES for sizes in _SMALL),
        *(_memory(setup, length) for length in _MEMORY),
    ]


def _sequence(setup: Setup, length: int, step: str) -> list[Row]:
    """Whole sequences beside the textbook formula, eager and compiled, and Keras's."""
    backward, prepare = step != "forward", PASSES[step]
    sizes = (8 if length <= 256 else 1, length, length, 256)
    peers: dict[str, Prepare] = {"eager": prepare(textbook)}
    if length in _COMPILED:
        peers["torch.compile"] = compiled(textbook, prepare)
    if length == 256:
        peers["Keras's formula"] = prepare(keras)
    return [
        attention_row(
            *(setup, f"additive {step}", sizes, step, WAYS["additive"], backward),
            peer=peer,
            theirs=theirs,
            work=work_of("additive", math.prod(sizes), step),
            targets=_targets(setup, peer, backward, length),
            peer_bytes=4 * math.prod(sizes) * (4 if backward else 2),
            quick=length == 256 and (peer == "eager" or (peer == "torch.compile" and not backward)),
        )
        for peer, theirs in peers.items()
    ]


def _targets(setup: Setup, peer: str, backward: bool, length: int) -> tuple[Target, ...]:
    if setup.device.type == "cuda":
        if length == _LENGTHS[-1] and not backward:
            return times(25), of_limit(0.6)
        return (times(5 if length == 256 else 1),) if peer == "eager" else ()
    if length != 256:
        return ()
    if backward:
        return (times(25),) if peer == "eager" else ()
    speed = speed_of(5e9, "terms", setup.threads)
    return {"eager": (times(30), speed), "torch.compile": (times(10), speed)}.get(peer, ())


def _small(setup: Setup, sizes: tuple[int, ...], step: str) -> Row:
    """A small call, or one of odd sizes, beside the speed of a large one."""
    backward, run = step != "forward", PASSES[step](attention(setup, WAYS["additive"]))
    return attention_row(
        *(setup, f"additive small {step}", sizes, step, WAYS["additive"], backward),
        shape=joined(sizes),
        size=math.prod(sizes),
        peer=f"ours at {joined(_LARGE)}",
        theirs=lambda *_: run(*normal(_LARGE, backward, backward)(setup)),
        work=work_of("additive", math.prod(sizes), step),
        targets=(as_fast(0.6, math.prod(sizes), math.prod(_LARGE)),) if setup.device.type == "cpu" else (),
        same=False,
    )


def _step(setup: Setup, batch: int, keys: int, dim: int, **more: Any) -> Row:
    """A query of each entry over keys prepared once, with the keys as values."""

    def ours(query: Tensor, key: Tensor, v: Tensor) -> Run:
        memory = remember(key, key, score=Additive(v))
        return lambda: memory.read(query, backend=setup.backend)

    def inputs(setup: Setup) -> tuple[Tensor, ...]:
        return *(setup.normal(batch, length, dim) for length in (1, keys)), setup.normal(dim, scale=dim**-0.5)

    return Row(
        family="additive decoder step", shape=joined((batch, keys, dim)), size=keys, inputs=inputs, ours=ours, **more
    )


def _decoder_step(setup: Setup, keys: int) -> list[Row]:
    """A step beside the textbook formula, and beside torch on remembered exponentials."""
    sizes = (64, keys, 512)
    target = (times(25),) if keys == 32 and setup.device.type == "cpu" else ()
    peers: tuple[tuple[str, Prepare, tuple[Target, ...]], ...] = (
        ("eager", lambda query, key, v: lambda: textbook(query, key, key, v), target),
        ("torch on remembered exponentials", lambda query, key, v: remembered(query, key, key, v), ()),
    )
    size = math.prod(sizes)
    more: dict[str, Any] = {"work": work_of("additive", size), "peer_bytes": 8 * size, "quick": keys == 32}
    return [_step(setup, *sizes, peer=peer, theirs=theirs, targets=goal, **more) for peer, theirs, goal in peers]


def _plain_sum(setup: Setup, batch: int, keys: int, dim: int) -> Row:
    """A step beside the sum of its numbers: the keys' exponentials, and the values.

    A step of one key of 8 features has next to nothing to read: its time is Python's in every step.
    """
    size = batch * keys * dim
    return _step(
        *(setup, batch, keys, dim),
        peer="a plain sum of the same bytes",
        theirs=lambda query, key, v: torch.stack([key, key]).sum,
        work=Work(8.0 * size, "B", "copy"),
        targets=(as_fast(0.6, size, size),) if setup.device.type == "cpu" and keys > 1 else (),
        same=False,
    )


def _memory(setup: Setup, length: int) -> Row:
    target = linear(1.2, *bytes_of(length, 32)) if setup.device.type == "cuda" else within(400)
    return memory_row(
        *(setup, "additive", (length, length, 32), textbook),
        peer="eager",
        targets=(target,) if length == _MEMORY[-1] else (),
        peer_bytes=16 * length**2 * 32,
        quick=length == _MEMORY[0],
    )
