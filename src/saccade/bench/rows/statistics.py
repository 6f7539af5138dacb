"""What statistics beside the output cost, and reading one key by a draw: beside the same call without them."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from saccade import AuxRequest, attend
from saccade.bench.formulas import forward
from saccade.bench.row import Place, Row, Work
from saccade.bench.rows.additive import FORWARD_COST
from saccade.bench.targets import at_most
from saccade.reads import Sample
from saccade.scores import Additive, Cosine, ScaledDot, Score

__all__ = ["rows"]

_REQUESTS = {
    "lse": AuxRequest(lse=True),
    "entropy": AuxRequest(entropy=True),
    "top 4": AuxRequest(top=4),
    "received": AuxRequest(received=True),
}
_SCORES: dict[str, tuple[tuple[int, ...], Callable[[Tensor], Score]]] = {
    "additive": ((8, 256, 256), Additive),
    "cosine": ((1, 4, 1024, 64), lambda v: Cosine(beta=4.0)),
    "dot": ((1, 4, 1024, 64), lambda v: ScaledDot()),
}


_TOP = ((8, 8, 512, 64), (32, 8, 128, 64), (1, 8, 2048, 64), (4, 8, 64, 64))
"""Other sizes of dot products of which the largest weights are asked for."""


def rows(place: Place) -> list[Row]:
    """Return the rows of statistics and of draws."""
    found = [row for score in _SCORES for row in (*_statistics(place, score), _sample(place, score))]
    options = {"aux": _REQUESTS["top 4"]}
    return found + [_row(place, "dot", "top 4", "without", options, 1.5, shape=shape, quick=False) for shape in _TOP]


def _statistics(place: Place, score: str) -> list[Row]:
    gpu = place.device.type == "cuda"
    return [
        _row(place, score, name, "without", {"aux": request}, (2.2 if name == "received" else 1.3) if gpu else 1.5)
        for name, request in _REQUESTS.items()
    ]


def _sample(place: Place, score: str) -> Row:
    return _row(place, score, "sample", "soft", {"read": Sample()}, 1.3, same=False)


def _row(
    place: Place,
    score: str,
    name: str,
    peer: str,
    options: dict[str, Any],
    factor: float,
    same: bool = True,
    shape: tuple[int, ...] = (),
    quick: bool = True,
) -> Row:
    """attend with some options beside attend without them."""
    usual, make = _SCORES[score]
    shape = shape or usual
    *batch, length, dim = shape
    pairs = math.prod(batch) * length**2

    def run(query: Tensor, key: Tensor, value: Tensor, v: Tensor, **more: Any) -> Any:
        return attend(query, key, value, score=make(v), backend=place.backend, **more)

    def inputs(place: Place) -> tuple[Tensor, ...]:
        return *(place.normal(*shape) for _ in range(3)), place.normal(dim, scale=dim**-0.5)

    additive = score == "additive"
    return Row(
        subject="statistics",
        family=f"{name}, {score}",
        shape="x".join(map(str, shape)),
        size=length,
        peer=peer,
        inputs=inputs,
        ours=forward(lambda *x: _output(run(*x, **options))),
        theirs=forward(run),
        work=Work(pairs * dim, "terms", "multiply", FORWARD_COST)
        if additive
        else Work(4 * pairs * dim, "FLOP", "multiply"),
        targets=(at_most(factor),),
        same=same,
        quick=quick and score != "cosine",
    )


def _output(result: Any) -> Tensor:
    """The output, with what stands beside it or without."""
    output: Tensor = result[0] if isinstance(result, tuple) else result
    return output
