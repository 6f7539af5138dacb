"""Additive attention: whole sequences, training, one step of a decoder, and the memory of a training step."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from saccade import attend, remember
from saccade.bench.formulas import compiled, forward, keras, remembered, textbook, training
from saccade.bench.row import Place, Prepare, Row, Run, Target, Work
from saccade.bench.targets import as_fast, speed_of, times, within
from saccade.scores import Additive

__all__ = ["BACKWARD_COST", "FORWARD_COST", "rows"]

FORWARD_COST = 7.0
"""Operations of a plain multiply that a term costs. Four terms v/x, x = 1 + EF, that share one reciprocal take 4
multiply-adds for x, 2 × 3 for the sums in pairs, 3 to join the pairs, and 1 to add: 14 instructions, each of which does
two operations in a product. The division itself is not counted.
"""

BACKWARD_COST = 21.5
"""The same forward and backward. Backward, four terms take 9 instructions for reciprocals from a shared one (3
products there, 6 back), and each 1 for x, 1 for r(1 − r) and 3 for the sums of the gradients: 29 beside the 14 forward.
"""

_LENGTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
_COMPILED = (32, 256, 1024)  # each length is compiled on its own, which takes up to half a minute
_DIM, _STEP_DIM, _STEP_BATCH = 256, 512, 64
_STEPS = (32, 128, 512, 2048, 4096)
_READ = tuple((batch, length) for batch in (8, 64) for length in (32, 128, 512))
"""Batch and keys of the steps that stand beside a sum."""
_LARGE = 8, 256, 256, 256
_SMALL = ((3, 301, 77, 130), (32, 40, 45, 512), (16, 64, 64, 64), (2, 128, 128, 64), (4, 100, 100, 30))
"""Sizes that are odd or small: batch, queries, keys, features."""
_MEMORY, _MEMORY_DIM = (1024, 2048, 4096, 8192, 16384), 32


def rows(place: Place) -> list[Row]:
    """Return the rows of additive attention."""
    found = [row for backward in (False, True) for length in _LENGTHS for row in _sequence(place, length, backward)]
    found += [row for length in _STEPS for row in _step(place, length)]
    found += [_reading(place, batch, length) for batch, length in _READ]
    found += [_small(place, sizes, backward) for backward in (False, True) for sizes in _SMALL]
    return found + [_memory(place, length) for length in _MEMORY]


def _ours(place: Place) -> Callable[..., Tensor]:
    return lambda query, key, value, v: attend(query, key, value, score=Additive(v), backend=place.backend)


def _inputs(*shape: int, grad: bool) -> Callable[[Place], tuple[Tensor, ...]]:
    """Query, key and value of a shape, and v so that scores stay around 1."""
    dim = shape[-1]
    return lambda place: (
        *(place.normal(*shape, grad=grad) for _ in range(3)),
        place.normal(dim, grad=grad, scale=dim**-0.5),
    )


def _sequence(place: Place, length: int, backward: bool) -> list[Row]:
    """Whole sequences of a length beside the textbook formula, eager and compiled, and beside Keras's."""
    batch = 8 if length <= 256 else 1
    terms = batch * length**2 * _DIM
    prepare = training if backward else forward
    peers: dict[str, Prepare] = {"eager": prepare(textbook)}
    if length in _COMPILED:
        peers["torch.compile"] = compiled(textbook, prepare)
    if length == 256:
        peers["Keras's formula"] = prepare(keras)
    return [
        Row(
            subject="additive",
            family="additive forward+backward" if backward else "additive forward",
            shape=f"{batch}x{length}x{_DIM}",
            size=length,
            peer=peer,
            inputs=_inputs(batch, length, _DIM, grad=backward),
            ours=prepare(_ours(place)),
            theirs=theirs,
            work=Work(terms, "terms", "multiply", BACKWARD_COST if backward else FORWARD_COST),
            targets=_targets(place, peer, backward) if length == 256 else (),
            peer_bytes=4 * terms * (4 if backward else 2),
            quick=length == 256 and (peer == "eager" or (peer == "torch.compile" and not backward)),
        )
        for peer, theirs in peers.items()
    ]


def _targets(place: Place, peer: str, backward: bool) -> tuple[Target, ...]:
    """What is to be reached at 256: on a CPU and, in other numbers, on a GPU."""
    if place.device.type == "cuda":
        speed = speed_of(1e12 if backward else 5e12, "terms", 1)
        return (speed,) if backward else (times(15), speed) if peer == "eager" else ()
    if backward:
        return (times(25),) if peer == "eager" else ()
    speed = speed_of(5e9, "terms", place.threads)
    return {"eager": (times(30), speed), "torch.compile": (times(10), speed)}.get(peer, ())


def _small(place: Place, sizes: tuple[int, ...], backward: bool) -> Row:
    """A small call, or one of odd sizes, beside the speed of a large one."""

    def inputs(sizes: tuple[int, ...]) -> Callable[[Place], tuple[Tensor, ...]]:
        batch, length, width, dim = sizes
        shapes = (batch, length, dim), (batch, width, dim), (batch, width, dim)
        return lambda place: (
            *(place.normal(*shape, grad=backward) for shape in shapes),
            place.normal(dim, grad=backward, scale=dim**-0.5),
        )

    prepare = training if backward else forward
    run, terms = prepare(_ours(place)), math.prod(sizes)
    return Row(
        subject="additive",
        family="additive small forward+backward" if backward else "additive small forward",
        shape="x".join(map(str, sizes)),
        size=terms,
        peer=f"ours at {'x'.join(map(str, _LARGE))}",
        inputs=inputs(sizes),
        ours=run,
        theirs=lambda *given: run(*inputs(_LARGE)(place)),
        work=Work(terms, "terms", "multiply", BACKWARD_COST if backward else FORWARD_COST),
        targets=(as_fast(0.6, terms, math.prod(_LARGE)),) if place.device.type == "cpu" else (),
        same=False,
    )


def _remembering(place: Place) -> Prepare:
    """A read of keys that were prepared once, which are values too."""

    def prepare(query: Tensor, key: Tensor, v: Tensor) -> Run:
        memory = remember(key, key, score=Additive(v))
        return lambda: memory.read(query, backend=place.backend)

    return prepare


def _of_step(batch: int, length: int) -> Callable[[Place], tuple[Tensor, ...]]:
    """One query an entry, keys, and v."""
    return lambda place: (
        place.normal(batch, 1, _STEP_DIM),
        place.normal(batch, length, _STEP_DIM),
        place.normal(_STEP_DIM, scale=_STEP_DIM**-0.5),
    )


def _step(place: Place, length: int) -> list[Row]:
    """One step of a decoder that reads keys which were prepared once."""
    terms = _STEP_BATCH * length * _STEP_DIM
    peers: dict[str, Prepare] = {
        "eager": lambda query, key, v: lambda: textbook(query, key, key, v),
        "torch on remembered exponentials": lambda query, key, v: remembered(query, key, key, v),
    }
    return [
        Row(
            subject="additive",
            family="additive decoder step",
            shape=f"{_STEP_BATCH}x{length}x{_STEP_DIM}",
            size=length,
            peer=peer,
            inputs=_of_step(_STEP_BATCH, length),
            ours=_remembering(place),
            theirs=theirs,
            work=Work(terms, "terms", "multiply", FORWARD_COST),
            targets=(times(25),) if peer == "eager" and length == 32 and place.device.type == "cpu" else (),
            peer_bytes=8 * terms,
            quick=length == 32,
        )
        for peer, theirs in peers.items()
    ]


def _reading(place: Place, batch: int, length: int) -> Row:
    """The same step beside the sum of as many numbers as it reads: the keys' exponentials, and the values."""

    def total(query: Tensor, key: Tensor, v: Tensor) -> Run:
        numbers = torch.stack([key, key])
        return lambda: numbers.sum()

    size = batch * length * _STEP_DIM
    return Row(
        subject="additive",
        family="additive decoder step",
        shape=f"{batch}x{length}x{_STEP_DIM}",
        size=length,
        peer="a plain sum of the same bytes",
        inputs=_of_step(batch, length),
        ours=_remembering(place),
        theirs=total,
        work=Work(8.0 * size, "B", "copy"),
        targets=(as_fast(0.6, size, size),) if place.device.type == "cpu" else (),
        same=False,
    )


def _memory(place: Place, length: int) -> Row:
    """What a training step takes beyond its inputs."""
    return Row(
        subject="additive",
        family="additive memory of training",
        shape=f"{length}x{length}x{_MEMORY_DIM}",
        size=length,
        peer="eager",
        inputs=_inputs(length, _MEMORY_DIM, grad=True),
        ours=training(_ours(place)),
        theirs=training(textbook),
        targets=(within(400),) if length == _MEMORY[-1] else (),
        memory=True,
        warm=_inputs(128, _MEMORY_DIM, grad=True),  # more than a step: compiles what the call itself runs
        peer_bytes=16 * length**2 * _MEMORY_DIM,
        quick=length == _MEMORY[0],
    )
