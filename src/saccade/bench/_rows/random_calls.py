"""Random calls of `attend`, each compared with the definition."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from saccade import attend, biases, masks, normalizers, reads, scores
from saccade._definitions.structure import Definition
from saccade.bench.row import Row, Run, Setup
from saccade.errors import UnsupportedBackend

_CALLS = 250
_TERMS = 1_000_000  # query-key-feature terms of one call: the definition lays them out

Call = tuple[list[Tensor], dict[str, Any]]


def rows(setup: Setup) -> list[Row]:
    """Return the rows of random calls, by numbers that a mismatch names."""
    return [
        Row(
            family=f"random calls {'forward+backward' if trained else 'forward'}",
            shape=f"{first} to {first + _CALLS - 1}",
            size=first + 1,
            peer="the definition in float64",
            inputs=lambda setup: (),
            ours=partial(_side, setup, first, trained, ours=True),
            theirs=partial(_side, setup, first, trained, ours=False),
            quick=first == 0,
        )
        for trained in (False, True)
        for first in range(0, 4 * _CALLS, _CALLS)
    ]


def _side(setup: Setup, first: int, trained: bool, *, ours: bool) -> Run:
    """Calls of a row that the backend serves, or if none all, for the reason."""
    calls = [drawn(number, setup.device) for number in range(first, first + _CALLS)]
    if setup.backend != "auto":
        calls = [call for call in calls if _serves(call, setup.backend, trained)] or calls
    backend = setup.backend if ours else "reference"
    return lambda: tuple(vector(call, backend, trained, double=not ours) for call in calls)


def _serves(call: Call, backend: str, trained: bool) -> bool:
    try:
        vector(call, backend, trained)
    except UnsupportedBackend:
        return False
    return True


def vector(call: Call, backend: str, trained: bool, *, double: bool = False) -> Tensor:
    """The output, and gradients of the tensors if trained, as one vector."""

    def converted(value: Tensor | Definition) -> Any:
        if isinstance(value, Tensor):
            return value.double() if double and value.is_floating_point() else value
        return value.map(lambda tensor, axes: converted(tensor))

    tensors = [converted(tensor.detach()).requires_grad_(trained) for tensor in call[0]]
    output: Tensor = attend(*tensors, **{name: converted(value) for name, value in call[1].items()}, backend=backend)
    if not trained:
        return output.flatten()
    upstream = torch.linspace(-1, 1, output.numel(), dtype=output.dtype, device=output.device).view(output.shape)
    gradients = torch.autograd.grad(output, tensors, upstream, allow_unused=True, materialize_grads=True)
    return torch.cat([part.detach().flatten() for part in (output, *gradients)])


def drawn(number: int, device: torch.device, *, single: bool = False) -> Call:
    """The call of a number.

    It is in float64 if rounding may choose a key, unless `single`.
    """
    rng, generator = random.Random(number), torch.Generator().manual_seed(number)
    batch = rng.choice(((), (1,), (3,), (2, 3), (1, 5)))
    queries, keys = (rng.choice((1, 2, rng.randint(3, 40), rng.randint(41, 300), rng.randint(301, 1000))) for _ in "qk")
    dim, width = rng.choice((1, 2, 8, 11, 32)), rng.choice((1, 3, 16, 32))
    while queries * keys * dim * torch.Size(batch).numel() > _TERMS:
        queries, keys = (queries + 1) // 2, (keys + 1) // 2
    smooth = rng.random() < 0.6
    dtype = torch.float32 if (smooth and rng.random() < 0.7) or single else torch.float64

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=dtype).to(device)

    def side(*shape: int) -> Tensor:
        sizes = batch if rng.random() < 0.6 else tuple(rng.choice((1, size)) for size in batch)
        tensor = normal(*sizes, *shape) * rng.choice((0.01, 1.0, 3.0))
        return tensor.mT.contiguous().mT if rng.random() < 0.3 else tensor

    choices: tuple[Any, ...] = (scores.ScaledDot(), scores.ScaledDot(scale=0.3, softcap=2.0), scores.Cosine(beta=2.0))
    choices += scores.Additive(normal(dim)), scores.General(normal(dim, dim)), scores.Gaussian(1.5)
    options: dict[str, Any] = {"score": rng.choice(choices)}
    if rng.random() < 0.8:
        first, second = (_mask(rng, partial(normal, *[1] * len(batch)), queries, keys, device) for _ in range(2))
        options["mask"] = rng.choice((first, first & second, first | second, ~first))
    if rng.random() < 0.3:
        options["bias"] = rng.choice((normal(queries, keys), biases.RelativePosition(normal(7), align="start")))
    if smooth:
        options["normalizer"] = rng.choice((normalizers.Softmax(), normalizers.Softmax(0.7), normalizers.Sigmoid(-0.5)))
    elif rng.random() < 0.5:
        options["normalizer"] = rng.choice((normalizers.Sparsemax(), normalizers.Entmax(1.5), normalizers.Entmax(1.2)))
    else:
        uniform = torch.rand(*batch, queries, generator=generator, dtype=dtype).clamp(max=0.99).to(device)
        options["read"] = rng.choice((reads.Argmax(), reads.Sample(uniform=uniform), reads.TopK(3)))
    return [side(queries, dim), side(keys, dim), normal(*batch, keys, width)], options


def _mask(rng: random.Random, normal: Callable[..., Tensor], queries: int, keys: int, device: torch.device) -> Any:
    starts = (normal(queries) * keys / 2).long().flatten().sort().values
    kinds: tuple[masks.Mask, ...] = (
        masks.Dense(normal(queries, keys) > 0.3),
        masks.Lengths(torch.tensor(rng.randint(0, keys), device=device)),
        masks.Causal(align=rng.choice(("start", "end", 1))),
        masks.Window(rng.choice((None, 2)), 1, align="end"),
        masks.Documents(*(torch.arange(length, device=device) // 9 for length in (queries, keys))),
        masks.Prefix(rng.randint(0, 5)),
        masks.Intervals(starts, starts + rng.randint(0, 50)),
    )
    return rng.choice(kinds)
