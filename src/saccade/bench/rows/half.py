"""What half types cost on a CPU: the same call in bfloat16 or float16 beside float32."""

from typing import Any

import torch
from torch import Tensor

from saccade import attend
from saccade.bench.formulas import forward, training
from saccade.bench.row import Place, Prepare, Row, Run
from saccade.bench.targets import at_most
from saccade.masks import Window
from saccade.normalizers import Sparsemax
from saccade.scores import Additive, Cosine

__all__ = ["rows"]

_SHAPE = (1, 4, 1024, 64)
_CALLS: dict[str, dict[str, Any]] = {
    "dot": {},
    "dot, window": {"mask": Window(128, 0)},
    "additive, window": {"mask": Window(128, 0)},
    "cosine": {"score": Cosine(beta=4.0)},
    "sparsemax": {"normalizer": Sparsemax()},
}
_FEW = ((1, 8, 4096, 64), (8, 8, 1024, 64), (64, 8, 256, 64))
"""Keys of calls with one query, without a memory that would keep them in float32."""
_TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def rows(place: Place) -> list[Row]:
    """Return the rows of half types: none on a GPU, which multiplies them faster than float32."""
    if place.device.type != "cpu":
        return []
    found = [_row(place, call, dtype, train) for call in _CALLS for dtype in _TYPES for train in (False, True)]
    return [*found, *(_row(place, "dot", dtype, False, shape, 1) for shape in _FEW for dtype in _TYPES)]


def _row(
    place: Place, call: str, dtype: str, train: bool, shape: tuple[int, ...] = _SHAPE, queries: int = _SHAPE[-2]
) -> Row:
    def run(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
        score: dict[str, Any] = {"score": Additive(v.detach())} if call.startswith("additive") else {}
        output: Tensor = attend(query, key, value, backend=place.backend, **_CALLS[call], **score)
        return output

    def inputs(place: Place) -> tuple[Tensor, ...]:
        batch, width, size = shape[:-2], *shape[-2:]
        sides = (place.normal(*batch, length, size, grad=train) for length in (queries, width, width))
        return *sides, place.normal(size, scale=size**-0.5)

    make = training(run) if train else forward(run)
    return Row(
        subject="half",
        family=f"{dtype} {'forward+backward' if train else 'forward'}, {call}",
        shape="x".join(map(str, shape)) if queries == shape[-2] else f"{'x'.join(map(str, shape))}, {queries} query",
        size=shape[-2],
        peer="float32",
        inputs=inputs,
        ours=_converted(make, _TYPES[dtype]),
        theirs=make,
        targets=(at_most(1.3),),
        same=False,
        quick=call == "dot, window",
    )


def _converted(make: Prepare, dtype: torch.dtype) -> Prepare:
    """The call prepared from the same tensors in another type."""

    def prepare(*inputs: Tensor) -> Run:
        return make(*(tensor.detach().to(dtype).requires_grad_(tensor.requires_grad) for tensor in inputs))

    return prepare
