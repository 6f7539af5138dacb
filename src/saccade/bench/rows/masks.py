"""Masks that leave most pairs out: beside torch's kernel with the mask laid out, and the same call without a mask."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from saccade import AuxRequest, attend
from saccade.bench.formulas import forward, training
from saccade.bench.row import Place, Row, Target, Work
from saccade.bench.rows.additive import BACKWARD_COST, FORWARD_COST
from saccade.bench.targets import at_most, close_behind, times, within
from saccade.masks import Causal, Documents, Mask, Window
from saccade.normalizers import Entmax, Sparsemax
from saccade.reads import Sample
from saccade.scores import Additive, Cosine, ScaledDot

__all__ = ["rows"]

_HEADS, _LENGTH, _DIM, _DOCUMENT = 8, 8192, 64, 512
_SHORT, _LONG, _TIMES = 4096, 1 << 17, 8
_MILLION, _WARM, _MEBIBYTES = 1 << 20, 4096, 3 * 1024
_DENSE, _UNMASKED = "torch, the mask laid out", "without a mask"

Function = Callable[..., Tensor]
Inputs = Callable[[Place], tuple[Tensor, ...]]
Options = dict[str, Any]


def _additive(query: Tensor) -> Options:
    return {"score": Additive(torch.linspace(-1, 1, _DIM, device=query.device) / _DIM**0.5)}


_WAYS: dict[str, Callable[[Tensor], Options]] = {
    "dot": lambda query: {"score": ScaledDot()},
    "additive": _additive,
    "cosine": lambda query: {"score": Cosine(beta=4.0)},
    "sparsemax": lambda query: {"normalizer": Sparsemax()},
    "entmax 1.5": lambda query: {"normalizer": Entmax()},
    "draws": lambda query: {"read": Sample()},
    "entropy": lambda query: {"aux": AuxRequest(entropy=True)},
    "top 4": lambda query: {"aux": AuxRequest(top=4)},
}
"""What is asked of `attend`, by the first word of a row's name."""


class _Case(NamedTuple):
    """A call under a mask, how many pairs that allows, and how many times as fast it is to be, forward and trained."""

    way: str
    name: str
    mask: Mask | None  # None: documents, whose ids are on the place's device
    pairs: int
    targets: tuple[Target, Target] | tuple[()] = ()
    length: int = _LENGTH


def _window(way: str, name: str, left: int, right: int, *targets: Target, length: int = _LENGTH) -> _Case:
    return _Case(way, name, Window(left, right), length * (left + right + 1), targets, length)  # type: ignore[arg-type]


_LAID_OUT = (
    _window("dot", "window 128", 128, 0, times(15), times(10)),
    _window("dot", "window 512 + 512", 512, 512, times(4), times(3)),
)
_CAUSAL = _Case("dot", "causal", Causal(), _LENGTH * (_LENGTH + 1) // 2, (close_behind(), close_behind()))
_MASKED = (
    _window("additive", "window 128", 128, 0, times(25), times(20)),
    _Case("additive", "causal", Causal(), _LENGTH * (_LENGTH + 1) // 2, (times(1.7), times(1.7))),
)
_DOCUMENTS = _Case("dot", "16 documents", None, _LENGTH * _DOCUMENT, (at_most(1.2), at_most(1.2)))
_MEMORY = _window("dot", "window 256, memory of training", 256, 0, length=_MILLION)
_GROWTH = _window("dot", "window 128, growth", 128, 0, at_most(1.1), at_most(1.1), length=_LONG)


def _ideal(way: str) -> list[_Case]:
    """A call under three masks, which is to cost at most twice what the pairs that these allow cost without a mask."""
    found = []
    for name, mask, pairs in (
        ("window 128", Window(128, 0), _SHORT * 129),
        ("causal", Causal(), _SHORT * (_SHORT + 1) // 2),
        ("8 documents", None, _SHORT * _DOCUMENT),
    ):
        half = times(round(_SHORT**2 / (2 * pairs), 1))
        found.append(_Case(way, f"{name}, ideal", mask, pairs, (half, half), _SHORT))
    return found


def rows(place: Place) -> list[Row]:
    """Return the rows of masks: pairs that they forbid ought to cost nothing."""
    found: list[Row] = []
    for trained in (False, True):
        found += [_row(place, case, _DENSE, _dense(case.mask), trained) for case in _LAID_OUT]
        found.append(_row(place, _CAUSAL, "torch", partial(sdpa, is_causal=True), trained))
        found.append(_row(place, _DOCUMENTS, "torch, a batch of 16", _batch, trained))
        masked = (*_MASKED, *(case for way in _WAYS if way != "dot" for case in _ideal(way)))
        found += [_row(place, case, _UNMASKED, _call(place, case, masked=False), trained) for case in masked]
        found.append(_row(place, _GROWTH, f"{_TIMES} calls of {_LONG // _TIMES}", _parts(place), trained))
    found.append(_memory(place))
    return found


def _memory(place: Place) -> Row:
    """What training with a million keys takes beyond its inputs."""

    def inputs(length: int) -> Inputs:
        return lambda place: tuple(place.normal(1, 1, length, _DIM, grad=True) for _ in range(3))

    return Row(
        subject="masks",
        family=f"{_MEMORY.way}, {_MEMORY.name}",
        shape=f"1x1x{_MILLION}x{_DIM}",
        size=_MILLION,
        peer=_DENSE,
        inputs=inputs(_MILLION),
        ours=training(_call(place, _MEMORY)),
        theirs=training(_dense(_MEMORY.mask)),
        targets=(within(_MEBIBYTES),),
        memory=True,
        warm=inputs(_WARM),
        peer_bytes=_MILLION**2,
        same=False,
    )


def _row(place: Place, case: _Case, peer: str, theirs: Function, trained: bool) -> Row:
    """A case beside another call of the same tensors."""
    prepare = training if trained else forward
    length, pairs = case.length, _HEADS * case.pairs
    return Row(
        subject="masks",
        family=f"{case.way}, {case.name} {'forward+backward' if trained else 'forward'}",
        shape=f"1x{_HEADS}x{length}x{_DIM}",
        size=length,
        peer=peer,
        inputs=lambda place: tuple(place.normal(1, _HEADS, length, _DIM, grad=trained) for _ in range(3)),
        ours=prepare(_call(place, case)),
        theirs=prepare(theirs),
        work=_work(case.way, pairs, trained),
        targets=case.targets[trained : trained + 1],
        same=case in (*_LAID_OUT, _CAUSAL, _DOCUMENTS),
        quick=case is _LAID_OUT[0] and not trained,
    )


def _work(way: str, pairs: int, trained: bool) -> Work:
    """What a call computes of so many pairs."""
    if way == "additive":
        return Work(pairs * _DIM, "terms", "multiply", BACKWARD_COST if trained else FORWARD_COST)
    if way == "draws":  # one value is read of a row, and no gradient of it reaches the scores
        return Work(2.0 * pairs * _DIM, "FLOP", "multiply")
    return Work(4.0 * pairs * _DIM * (3 if trained else 1), "FLOP", "multiply")


def _call(place: Place, case: _Case, *, masked: bool = True) -> Function:
    def run(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        mask = (case.mask or _documents(query)) if masked else None
        found: Any = attend(query, key, value, mask=mask, backend=place.backend, **_WAYS[case.way](query))
        output: Tensor = found[0] if isinstance(found, tuple) else found
        return output

    return run


def _documents(query: Tensor) -> Documents:
    ids = torch.arange(query.shape[-2], device=query.device) // _DOCUMENT
    return Documents(ids, ids)


def _dense(mask: Mask | None) -> Function:
    """torch's kernel; the mask is laid out in the first call, which is not measured."""
    laid_out: list[Tensor] = []

    def run(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if not laid_out:
            position = torch.arange(query.shape[-2], device=query.device)
            distance = position - position[:, None]
            assert isinstance(mask, Window)
            laid_out.append((distance >= -(mask.left or 0)) & (distance <= (mask.right or 0)))
        return sdpa(query, key, value, laid_out[0])

    return run


def _batch(*tensors: Tensor) -> Tensor:
    """The documents as a batch, and back."""
    apart = [tensor.unflatten(-2, (-1, _DOCUMENT)).movedim(-3, 0).flatten(0, 1) for tensor in tensors]
    joined: Tensor = sdpa(*apart).unflatten(0, (-1, 1)).movedim(0, -3).flatten(-3, -2)
    return joined


def _parts(place: Place) -> Function:
    """As many calls of a part of the queries and keys."""
    one = _call(place, _GROWTH)

    def run(*tensors: Tensor) -> Tensor:
        parts = zip(*(tensor.split(_LONG // _TIMES, -2) for tensor in tensors), strict=True)
        return torch.cat([one(*part) for part in parts], -2)

    return run
