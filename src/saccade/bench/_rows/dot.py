"""Dot scores with softmax beside torch's kernels and others, from tiny to large."""

import math
import warnings
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from saccade import attend
from saccade.bench import formulas
from saccade.bench.formulas import PASSES, compiled, flex, joined, work_of
from saccade.bench.row import Prepare, Row, Setup, close_behind, package
from saccade.masks import Causal

_SHAPES = ((1, 1, 4, 8), (2, 4, 16, 16), (64, 16), (2, 4, 128, 32), (4, 8, 512, 64), (1, 8, 2048, 64))
_QUICK = ((2, 4, 16, 16), (4, 8, 512, 64))
_BESIDE_OTHERS = ((2, 4, 128, 32), (4, 8, 512, 64))
_TORCH = ("torch", "torch's math kernel")  # the target holds beside both
_KINDS = ("forward", "causal", "mask", "recorded forward", "forward+backward")


def rows(setup: Setup) -> list[Row]:
    """Return the rows of dot scores; a mask is measured if there are heads."""
    return [
        row
        for kind in _KINDS
        for shape in _SHAPES
        if len(shape) == 4 or kind not in ("causal", "mask")
        for row in _rows(setup, kind, shape)
    ]


def _rows(setup: Setup, kind: str, shape: tuple[int, ...]) -> list[Row]:
    """A call beside torch's two kernels, and at two sizes beside other packages."""
    length, step = shape[-2], kind if kind in PASSES else "forward"
    prepare, causal = PASSES[step], Causal() if kind == "causal" else None

    def inputs(setup: Setup) -> tuple[Tensor, ...]:
        qkv = tuple(setup.normal(*shape, grad=kind in ("recorded forward", "forward+backward")) for _ in range(3))
        return (*qkv, torch.rand(shape[0], 1, length, length, device=setup.device) > 0.3) if kind == "mask" else qkv

    def ours(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return attend(query, key, value, mask=causal if mask is None else mask, backend=setup.backend)

    peers: dict[str, Prepare] = {
        "torch": prepare(lambda q, k, v, mask=None: sdpa(q, k, v, mask, is_causal=kind == "causal")),
        "torch's math kernel": prepare(partial(_math, causal=kind == "causal")),
    }
    if shape in _BESIDE_OTHERS and kind in ("forward", "causal", "forward+backward"):
        peers["x-transformers"] = partial(_x_transformers, prepare, kind == "causal", False)
        peers["x-transformers, flash"] = partial(_x_transformers, prepare, kind == "causal", True)
        if kind != "forward+backward":
            peers["flex_attention"] = partial(flex, prepare, (lambda b, h, i, j: i >= j) if causal else None)
        if kind != "causal":
            peers["torch.compile"] = compiled(formulas.dot, prepare)
    terms = math.prod(shape) * length / (2 if causal else 1)  # half of the pairs are forbidden
    return [
        Row(
            family=f"dot {kind}",
            shape=joined(shape),
            size=length,
            peer=peer,
            inputs=inputs,
            ours=prepare(ours),
            theirs=theirs,
            work=work_of("dot", terms, step),
            targets=(close_behind(),) if peer in _TORCH else (),
            quick=shape in _QUICK and (peer == "torch" or (peer == "x-transformers" and kind == "forward")),
        )
        for peer, theirs in peers.items()
    ]


def _math(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, causal: bool) -> Tensor:
    """Torch's plain kernel by its name, since a choice costs more than a small call."""
    forbidden = None if mask is None else torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, -torch.inf)
    output: Tensor = torch.ops.aten._scaled_dot_product_attention_math(query, key, value, forbidden, 0.0, causal)[0]
    return output


def _x_transformers(prepare: Any, causal: bool, flash: bool, *inputs: Tensor) -> Any:
    """Its own attention; flash is torch's kernel behind its interface."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package and its dependencies about themselves
        attention = package("x_transformers.attend").Attend(causal=causal, flash=flash)
    return prepare(lambda *x: attention(*x)[0])(*inputs)
