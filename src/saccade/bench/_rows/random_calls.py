"""Random calls of `attend`, each compared with the definition: shapes, strides, broadcasts, masks, biases, reads."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade import attend, biases, masks, normalizers, reads, scores
from saccade.bench.row import Place, Row, Run
from saccade.errors import UnsupportedBackend
from saccade.structure import Definition

_CALLS = 250
_TERMS = 1_000_000  # query-key-feature terms of one call: the definition lays them out


@dataclass(frozen=True)
class _Call:
    """Tensors and options of a call; what is not smooth is in float64, since rounding may choose another key."""

    tensors: tuple[Tensor, Tensor, Tensor]
    options: dict[str, Any]

    def vector(self, backend: str, *, double: bool, trained: bool) -> Tensor:
        """Output, and gradients of the tensors if trained, as one vector."""
        options = {name: _converted(value, double) for name, value in self.options.items()}
        tensors = [_converted(tensor.detach(), double).requires_grad_(trained) for tensor in self.tensors]
        output: Tensor = attend(*tensors, **options, backend=backend)
        if not trained:
            return output.flatten()
        upstream = torch.linspace(-1, 1, output.numel(), dtype=output.dtype, device=output.device)
        total = (output * upstream.view(output.shape)).sum()
        gradients = torch.autograd.grad(total, tensors, allow_unused=True, materialize_grads=True)
        return torch.cat([output.detach().flatten(), *(gradient.flatten() for gradient in gradients)])


def rows(place: Place) -> list[Row]:
    """Return the rows of random calls, by their numbers: a mismatch names the number within the row."""
    return [_row(place, first, trained) for trained in (False, True) for first in range(0, 4 * _CALLS, _CALLS)]


def _row(place: Place, first: int, trained: bool) -> Row:
    def calls() -> list[_Call]:
        drawn = [_drawn(number, place.device) for number in range(first, first + _CALLS)]
        served = [call for call in drawn if place.backend == "auto" or _serves(call, place.backend, trained)]
        return served or drawn  # a backend that serves none refuses the row, with its reason

    def prepare(backend: str, double: bool) -> Callable[[], Run]:
        def side() -> Run:
            drawn = calls()
            return lambda: tuple(call.vector(backend, double=double, trained=trained) for call in drawn)

        return side

    return Row(
        family=f"random calls {'forward+backward' if trained else 'forward'}",
        shape=f"{first} to {first + _CALLS - 1}",
        size=first + 1,
        peer="the definition in float64",
        inputs=lambda place: (),
        ours=prepare(place.backend, double=False),
        theirs=prepare("reference", double=True),
        quick=first == 0,
    )


def _serves(call: _Call, backend: str, trained: bool) -> bool:
    try:
        call.vector(backend, double=False, trained=trained)
    except UnsupportedBackend:
        return False
    return True


def _converted(value: Tensor | Definition, double: bool) -> Any:
    """Floating tensors of an argument in float64, if that is to be."""
    if isinstance(value, Tensor):
        return value.double() if double and value.is_floating_point() else value
    return value.map(lambda tensor, axes: _converted(tensor, double))


def _drawn(number: int, device: torch.device) -> _Call:
    """The call with this number."""
    rng, generator = random.Random(number), torch.Generator().manual_seed(number)
    batch = rng.choice(((), (1,), (3,), (2, 3), (1, 5)))
    queries, keys = (rng.choice((1, 2, rng.randint(3, 40), rng.randint(41, 300), rng.randint(301, 1000))) for _ in "qk")
    dim, width = rng.choice((1, 2, 8, 11, 32)), rng.choice((1, 3, 16, 32))
    while queries * keys * dim * torch.Size(batch).numel() > _TERMS:
        queries, keys = (queries + 1) // 2, (keys + 1) // 2
    smooth = rng.random() < 0.6
    dtype = torch.float32 if smooth and rng.random() < 0.7 else torch.float64

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=dtype).to(device)

    def side(*shape: int) -> Tensor:
        sizes = batch if rng.random() < 0.6 else tuple(rng.choice((1, size)) for size in batch)
        tensor = normal(*sizes, *shape) * rng.choice((0.01, 1.0, 3.0))
        return tensor.mT.contiguous().mT if rng.random() < 0.3 else tensor

    score = rng.choice(
        (
            *(scores.ScaledDot(), scores.ScaledDot(scale=0.3, softcap=2.0), scores.Cosine(beta=2.0)),
            *(scores.Additive(normal(dim)), scores.General(normal(dim, dim)), scores.Gaussian(1.5)),
        )
    )
    options: dict[str, Any] = {"score": score}
    if rng.random() < 0.8:
        options["mask"] = _mask(rng, normal, [1] * len(batch), queries, keys, device)
    if rng.random() < 0.3:
        options["bias"] = rng.choice((normal(queries, keys), biases.RelativePosition(normal(7), align="start")))
    if smooth:
        options["normalizer"] = rng.choice((normalizers.Softmax(), normalizers.Softmax(0.7), normalizers.Sigmoid(-0.5)))
    elif rng.random() < 0.5:
        options["normalizer"] = rng.choice((normalizers.Sparsemax(), normalizers.Entmax(1.5), normalizers.Entmax(1.2)))
    else:
        uniform = torch.rand(*batch, queries, generator=generator, dtype=dtype).clamp(max=0.99).to(device)
        options["read"] = rng.choice((reads.Argmax(), reads.Sample(uniform=uniform), reads.TopK(3)))
    return _Call((side(queries, dim), side(keys, dim), normal(*batch, keys, width)), options)


def _mask(
    rng: random.Random, normal: Callable[..., Tensor], ones: list[int], queries: int, keys: int, device: torch.device
) -> masks.Mask:
    """A mask of any kind, or two of them combined."""

    def simple() -> masks.Mask:
        align, ids = rng.choice(("start", "end", 1)), [torch.arange(n, device=device) // 9 for n in (queries, keys)]
        starts = (normal(queries) * keys / 2).long().sort().values
        return rng.choice(
            (
                *(
                    masks.Dense(normal(*ones, queries, keys) > 0.3),
                    masks.Lengths(torch.tensor(rng.randint(0, keys), device=device)),
                ),
                *(masks.Causal(align=align), masks.Window(rng.choice((None, 2)), 1, align), masks.Documents(*ids)),
                *(masks.Prefix(rng.randint(0, 5)), masks.Intervals(starts, starts + rng.randint(0, 50))),
            )
        )

    first, second = simple(), simple()
    return rng.choice((first, first & second, first | second, ~first))
