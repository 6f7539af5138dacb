"""Sparsemax and entmax beside the `entmax` package: the normalizers as users call them, and whole attention."""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from torch import Tensor

from saccade import attend
from saccade.bench.formulas import forward, training
from saccade.bench.row import Place, Prepare, Row, Work, package
from saccade.bench.targets import at_most, times
from saccade.normalizers import Entmax, Normalizer, Sparsemax
from saccade.scores import Dot

__all__ = ["rows"]

_SHAPES = (1, 1, 30), (32, 1, 30), (64, 32), (64, 256), (64, 1024), (64, 4096)
_TARGETS = {(64, 1024): times(10), (32, 1, 30): at_most(1.2)}
_CALLS: tuple[tuple[Normalizer, str, dict[str, float]], ...] = (
    (Sparsemax(), "sparsemax", {}),
    (Entmax(1.5), "entmax15", {}),
    (Entmax(1.5), "entmax_bisect", {"alpha": 1.5}),
)
"""Our normalizer, the package's function of the same numbers, and what the latter is told."""

_WHOLE = (1, 1, 30, 16), (32, 1, 30, 16), (8, 256, 256, 64)


def rows(place: Place) -> list[Row]:
    """Return the rows of sparse normalizers."""
    found = [
        _scores(normalizer, peer, options, shape, backward)
        for normalizer, peer, options in _CALLS
        for backward in (False, True)
        for shape in _SHAPES
    ]
    return found + [
        _attention(place, normalizer, peer, sizes, backward)
        for normalizer, peer, _ in _CALLS[:2]
        for backward in (False, True)
        for sizes in _WHOLE
    ]


def _scores(
    normalizer: Normalizer, peer: str, options: dict[str, float], shape: tuple[int, ...], backward: bool
) -> Row:
    """A normalizer of scores and nothing else."""
    prepare = training if backward else forward
    return Row(
        subject="sparse",
        family=_named(normalizer, "", backward),
        shape="x".join(map(str, shape)),
        size=prod(shape),
        peer=f"entmax.{peer}",
        inputs=lambda place: (place.normal(*shape, grad=backward),),
        ours=prepare(lambda scores: normalizer(scores, None)),
        theirs=_theirs(peer, options, prepare),
        # weights and gradient are read again; scores of a decoder's step lie in the cache, and bound nothing
        work=Work(4 * prod(shape) * (5 if backward else 2), "B", "copy") if len(shape) == 2 else None,
        targets=(_TARGETS[shape],) if shape in _TARGETS else (),
        quick=shape in _TARGETS and peer != "entmax_bisect",
    )


def _theirs(name: str, options: dict[str, float], prepare: Callable[[Any], Prepare]) -> Prepare:
    return lambda scores: prepare(partial(getattr(package("entmax"), name), **options))(scores)


def _attention(
    place: Place, normalizer: Normalizer, peer: str, sizes: tuple[int, int, int, int], backward: bool
) -> Row:
    """Dot scores, the normalizer, and the expectation."""
    prepare = training if backward else forward
    batch, queries, keys, dim = sizes

    def theirs(*inputs: Tensor) -> Any:
        normal = getattr(package("entmax"), peer)
        return prepare(lambda query, key, value: normal(query @ key.mT, dim=-1) @ value)(*inputs)

    def inputs(place: Place) -> tuple[Tensor, ...]:
        return tuple(place.normal(batch, length, dim, grad=backward) for length in (queries, keys, keys))

    return Row(
        subject="sparse",
        family=_named(normalizer, " attention", backward),
        shape="x".join(map(str, sizes)),
        size=batch * queries * keys,
        peer=f"matmul, entmax.{peer}",
        inputs=inputs,
        ours=prepare(
            lambda query, key, value: attend(
                query, key, value, score=Dot(), normalizer=normalizer, backend=place.backend
            )
        ),
        theirs=theirs,
        work=Work(4 * batch * queries * keys * dim * (3 if backward else 1), "FLOP", "multiply"),
        quick=keys == 256 and peer == "sparsemax" and not backward,
    )


def _named(normalizer: Normalizer, what: str, backward: bool) -> str:
    name = "sparsemax" if isinstance(normalizer, Sparsemax) else "entmax 1.5"
    return f"{name}{what} forward+backward" if backward else f"{name}{what} forward"
