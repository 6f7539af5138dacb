"""Values that an encoder makes of what is read alone, beside encoding everything first: time by number of values."""

import torch
from torch import Tensor

from saccade import attend
from saccade.bench.formulas import forward, training
from saccade.bench.row import Place, Row, Work
from saccade.reads import Argmax, Read, Sample, Soft, TopK

__all__ = ["rows"]

_BATCH, _KEYS, _DIM = 8, 1024, 64
_THING, _HIDDEN = 256, 512  # features of what is encoded, and of the encoder's hidden layer
_READS: tuple[tuple[int, Read], ...] = (
    (1, Sample(uniform=torch.tensor([0.5]))),
    (8, TopK(8)),
    (32, TopK(32)),
    (_KEYS, Soft()),
)
"""How many values a query reads, and by what: the draw has a number of its own, so that both sides draw the same."""

_QUERIES = 64  # of the rows in which several may read the same key


def rows(place: Place) -> list[Row]:
    """Return the rows of values that are computed when they are read."""
    found = [_row(place, count, read, 1, backward) for backward in (False, True) for count, read in _READS]
    return [*found, *(_row(place, count, read, _QUERIES, False) for count, read in ((1, Argmax()), (8, TopK(8))))]


def _row(place: Place, count: int, read: Read, queries: int, backward: bool) -> Row:
    """attend to things that a network of two layers encodes, where they are read, beside all of them encoded first."""
    prepare = training if backward else forward
    several = f", {queries} queries" if queries > 1 else ""
    step = "forward+backward" if backward else "forward"

    def inputs(place: Place) -> tuple[Tensor, ...]:
        attended = [place.normal(_BATCH, length, _DIM) for length in (queries, _KEYS)]  # the encoder alone learns
        first = place.normal(_THING, _HIDDEN, grad=backward, scale=_THING**-0.5)
        second = place.normal(_HIDDEN, _DIM, grad=backward, scale=_HIDDEN**-0.5)
        return *attended, place.normal(_BATCH, _KEYS, _THING), first, second

    def ours(query: Tensor, key: Tensor, things: Tensor, first: Tensor, second: Tensor) -> Tensor:
        return attend(
            query, key, lambda index: _encoded(things[index], first, second), read=at(query), backend=place.backend
        )

    def theirs(query: Tensor, key: Tensor, things: Tensor, first: Tensor, second: Tensor) -> Tensor:
        return attend(query, key, _encoded(things, first, second), read=at(query), backend=place.backend)

    def at(query: Tensor) -> Read:
        return read.map(lambda tensor, axes: tensor.to(query.device))

    encoded = _BATCH * min(count * queries, _KEYS)
    layers = 2 * _THING + 3 * _DIM if backward else _THING + _DIM  # nothing learns below the first layer
    return Row(
        subject="lazy",
        family=f"lazy values{several} {step}",
        shape=f"{count} of {_KEYS}",
        size=count,
        peer="all encoded first",
        inputs=inputs,
        ours=prepare(ours),
        theirs=prepare(theirs),
        # what several queries read in common is encoded once, and how much that is, the tensors say
        work=None if several else Work(2 * encoded * _HIDDEN * layers, "FLOP", "multiply"),
        quick=not backward and not several,
    )


def _encoded(things: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Two layers with a rectifier between them."""
    return (things @ first).relu() @ second
