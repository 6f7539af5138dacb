"""Sparsemax and entmax beside the `entmax` package: functions of scores alone, and whole attention."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from saccade import attend
from saccade.bench.formulas import forward, training
from saccade.bench.row import Place, Prepare, Row, Work, package
from saccade.bench.targets import times
from saccade.normalizers import Entmax, Normalizer, Sparsemax
from saccade.scores import Dot

__all__ = ["rows"]

_ROWS, _SIZES = 64, (32, 256, 1024, 4096)
_TARGET = 1024  # keys, where the target is set
_CALLS: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("sparsemax", "sparsemax", {}),
    ("entmax", "entmax15", {}),
    ("entmax", "entmax_bisect", {"alpha": 1.5}),
)
"""Our kernel, the package's function of the same numbers, and what the latter is told."""

_WHOLE = (8, 256, 64)


def rows(place: Place) -> list[Row]:
    """Return the rows of sparse normalizers."""
    found = [
        _scores(kernel, peer, options, size, backward)
        for kernel, peer, options in _CALLS
        for backward in (False, True)
        for size in _SIZES
    ]
    return found + [
        _attention(place, normalizer, peer, backward)
        for normalizer, peer in ((Sparsemax(), "sparsemax"), (Entmax(1.5), "entmax15"))
        for backward in (False, True)
    ]


def _scores(kernel: str, peer: str, options: dict[str, float], size: int, backward: bool) -> Row:
    """A normalizer of scores and nothing else: on our side the kernel that attention calls."""
    prepare = training if backward else forward

    def ours(scores: Tensor) -> Any:
        function = getattr(package("saccade.kernels.weights"), kernel)
        return prepare(partial(function, alpha=1.5) if kernel == "entmax" else function)(scores)

    return Row(
        subject="sparse",
        family=_named("sparsemax" if kernel == "sparsemax" else "entmax 1.5", backward),
        shape=f"{_ROWS}x{size}",
        size=size,
        peer=f"entmax.{peer}",
        inputs=lambda place: (place.normal(_ROWS, size, grad=backward),),
        ours=ours,
        theirs=_theirs(peer, options, prepare),
        work=Work(4 * _ROWS * size * (5 if backward else 2), "B", "copy"),  # weights and gradient are read again
        targets=(times(10),) if size == _TARGET else (),
        quick=size == _TARGET and peer != "entmax_bisect",
    )


def _theirs(name: str, options: dict[str, float], prepare: Callable[[Any], Prepare]) -> Prepare:
    return lambda scores: prepare(partial(getattr(package("entmax"), name), **options))(scores)


def _attention(place: Place, normalizer: Normalizer, peer: str, backward: bool) -> Row:
    """Dot scores, the normalizer, and the expectation."""
    prepare = training if backward else forward

    def theirs(*inputs: Tensor) -> Any:
        normal = getattr(package("entmax"), peer)
        return prepare(lambda query, key, value: normal(query @ key.mT, dim=-1) @ value)(*inputs)

    batch, length, dim = _WHOLE
    name = "sparsemax" if isinstance(normalizer, Sparsemax) else "entmax 1.5"
    return Row(
        subject="sparse",
        family=_named(f"{name} attention", backward),
        shape="x".join(map(str, _WHOLE)),
        size=length,
        peer=f"matmul, entmax.{peer}",
        inputs=lambda place: tuple(place.normal(*_WHOLE, grad=backward) for _ in range(3)),
        ours=prepare(
            lambda query, key, value: attend(
                query, key, value, score=Dot(), normalizer=normalizer, backend=place.backend
            )
        ),
        theirs=theirs,
        work=Work(4 * batch * length**2 * dim * (3 if backward else 1), "FLOP", "multiply"),
        quick=peer == "sparsemax" and not backward,
    )


def _named(name: str, backward: bool) -> str:
    return f"{name} forward+backward" if backward else f"{name} forward"
