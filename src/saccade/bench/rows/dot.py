"""Dot scores with softmax beside torch's kernels and others, from tiny, where `attend` itself costs, to large."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from saccade import attend
from saccade.bench import formulas
from saccade.bench.formulas import compiled, forward, training
from saccade.bench.row import Absent, Place, Prepare, Row, Work, package
from saccade.bench.targets import close_behind
from saccade.masks import Causal

__all__ = ["rows"]

_SHAPES = ((1, 1, 4, 8), (2, 4, 16, 16), (64, 16), (2, 4, 128, 32), (4, 8, 512, 64), (1, 8, 2048, 64))
_QUICK = ((2, 4, 16, 16), (4, 8, 512, 64))
_BESIDE_OTHERS = ((2, 4, 128, 32), (4, 8, 512, 64))
_TORCH = ("torch", "torch's math kernel")  # the target holds beside the best of torch's kernels: beside each
_KINDS = ("forward", "causal", "mask", "recorded forward", "forward+backward")


def rows(place: Place) -> list[Row]:
    """Return the rows of dot scores; a mask is measured where there are heads."""
    return [
        _row(place, kind, shape, peer, theirs)
        for kind in _KINDS
        for shape in _SHAPES
        if len(shape) == 4 or kind not in ("causal", "mask")
        for peer, theirs in _peers(kind, shape).items()
    ]


def _row(place: Place, kind: str, shape: tuple[int, ...], peer: str, theirs: Prepare) -> Row:
    *batch, length, dim = shape
    grad = kind in ("recorded forward", "forward+backward")
    work = 4 * torch.Size(batch).numel() * length**2 * dim * (3 if kind == "forward+backward" else 1)
    return Row(
        subject="dot",
        family=f"dot {kind}",
        shape="x".join(map(str, shape)),
        size=length,
        peer=peer,
        inputs=_inputs(kind, shape, grad),
        ours=_ours(place, kind),
        theirs=theirs,
        # Of a causal mask's pairs half are forbidden, and whoever leaves them out has half the work.
        work=Work(work / (2 if kind == "causal" else 1), "FLOP", "multiply"),
        targets=(close_behind(),) if peer in _TORCH else (),
        quick=shape in _QUICK and (peer == "torch" or (peer == "x-transformers" and kind == "forward")),
    )


def _inputs(kind: str, shape: tuple[int, ...], grad: bool) -> Callable[[Place], tuple[Tensor, ...]]:
    def inputs(place: Place) -> tuple[Tensor, ...]:
        made = tuple(place.normal(*shape, grad=grad) for _ in range(3))
        allowed = torch.rand(shape[0], 1, shape[-2], shape[-2], device=place.device) > 0.3 if kind == "mask" else None
        return made if allowed is None else (*made, allowed)

    return inputs


def _ours(place: Place, kind: str) -> Prepare:
    causal = Causal() if kind == "causal" else None

    def run(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return attend(query, key, value, mask=causal if mask is None else mask, backend=place.backend)

    return training(run) if kind == "forward+backward" else forward(run)


def _peers(kind: str, shape: tuple[int, ...]) -> dict[str, Prepare]:
    """Those that compute this call: torch's choice among its kernels, its plain one, and others at two of the sizes."""
    prepare = training if kind == "forward+backward" else forward
    causal = kind == "causal"
    peers: dict[str, Prepare] = {
        "torch": prepare(lambda q, k, v, mask=None: sdpa(q, k, v, mask, is_causal=causal)),
        "torch's math kernel": prepare(partial(_math, causal=causal)),
    }
    if shape in _BESIDE_OTHERS and kind in ("forward", "causal", "forward+backward"):
        peers |= {
            "x-transformers": _x_transformers(prepare, causal, flash=False),
            "x-transformers, flash": _x_transformers(prepare, causal, flash=True),
        }
        if kind != "forward+backward":
            peers["flex_attention"] = _flex(causal)
        if not causal:
            peers["torch.compile"] = compiled(formulas.dot, prepare)
    return peers


def _math(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, causal: bool) -> Tensor:
    """The plain one among torch's kernels, called by its name: asking for it otherwise costs more than a small call."""
    forbidden = None if mask is None else torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, -torch.inf)
    output: Tensor = torch.ops.aten._scaled_dot_product_attention_math(query, key, value, forbidden, 0.0, causal)[0]
    return output


def _x_transformers(prepare: Callable[[Any], Prepare], causal: bool, *, flash: bool) -> Prepare:
    """Its own attention; flash is torch's kernel behind its interface."""

    def theirs(*inputs: Tensor) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it and its dependencies say of themselves
            attention = package("x_transformers.attend").Attend(causal=causal, flash=flash)
        return prepare(lambda *x: attention(*x)[0])(*inputs)

    return theirs


def _flex(causal: bool) -> Prepare:
    """torch's flex_attention, compiled, a causal mask as its blocks."""

    def theirs(query: Tensor, key: Tensor, value: Tensor) -> Any:
        flex = package("torch.nn.attention.flex_attention")
        length = query.shape[-2]
        try:
            mask = (
                flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device=query.device)
                if causal
                else None
            )
        except RuntimeError as error:
            raise Absent(str(error).splitlines()[0]) from error
        return compiled(lambda q, k, v: flex.flex_attention(q, k, v, block_mask=mask))(query, key, value)

    return theirs
