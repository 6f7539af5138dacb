"""Law 5: what autograd saves may come back with other strides, or be recomputed, in every autograd function."""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import saccade
from calls import drawn
from interpreter import REASON
from kernels.memories import drawn as drawn_memory
from kernels.memories import memory_of, steps_of
from saccade import AuxRequest, attend, masks, normalizers, reads, remember, scores
from saccade._definitions import simplex
from saccade.backends.blockwise import products
from saccade.backends.chunked.additive import FusedAdditive
from saccade.kernels import (
    additive,
    cells,
    cross_entropy,
    dropout,
    gpu_rows,
    grouped,
    packing,
    statistics,
    unit,
    weights,
)

Member = tuple[Callable[..., Tensor | Sequence[Tensor]], Sequence[Tensor]]

ELSEWHERE = {
    "sums._Gate": "it saves no tensors",
    "grouped._Outer": "it is the derivative of grouped._Product",
    "function.BlockwiseBackward": "it is the derivative of function.Blockwise",
    "function._TwiceDifferentiable": "tests/backends/flex/test_function.py emulates its kernels",
}


def members() -> dict[str, Member]:
    """By the name of its autograd function, something differentiable that goes through it, with its tensors."""
    x, rows, state = drawn(2, 5, 8), drawn(6, 12), drawn(6, 4, seed=1)
    key, value, v = drawn(2, 300, 8, seed=2), drawn(2, 300, 3, seed=3), drawn(8, seed=4)
    linear = nn.Linear(12, 7), nn.Linear(4, 12), nn.Linear(4, 16)
    memories = {kind: memory_of(kind, 3, 2) for kind in ("shift", "links")}
    uniform, target = torch.full((2, 5), 0.3), torch.tensor([0, 1, 2, 0, 1, 2])
    ends = torch.tensor([2, 6], dtype=torch.int32)
    draw = AuxRequest(log_prob=True, entropy=True)

    def near(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        memory = remember(key, value, score=scores.ScaledDot())
        window = masks.Window(4, 0, align=250)
        return memory.read(query, mask=window) + memory.read(query.flip(0), mask=window)

    def step(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
        memory = remember(key, value, score=scores.Additive(v))
        return memory.read(query) + memory.read(query.flip(0))

    def drawing(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        memory = remember(key, value, score=scores.Additive(v))
        output, aux = memory.read(query, read=reads.Sample("straight_through", uniform=uniform), aux=draw)
        return output, aux.log_prob, aux.entropy

    found: dict[str, Member] = {
        "windows._Taken": (near, (x, key, value)),
        "cells._Step": (lambda x: cells.linear_cell(linear[0])(x), (rows,)),
        "cells._Gru": (lambda x, h: cells.gru_of(linear[1])(x, h), (rows, state)),
        "cells._Lstm": (lambda x, h, c: cells.lstm_of(linear[2])(x, h, c), (drawn(6, 16), state, state.flip(0))),
        "statistics._Entropy": (lambda x: statistics.entropy(x.softmax(-1)), (x,)),
        "kernels.additive._Scores": (
            lambda q, k, v: additive.scores(q, k, v, packing.packed(k.detach()), None),
            (x, x.flip(0), v),
        ),
        "unit._Unit": (unit.unit, (x,)),
        "grouped._Product": (lambda a, b: grouped.grouped_product(a, b, ends), (rows, drawn(2, 12, 4))),
        "simplex._EntmaxWeights": (lambda s, a: simplex.entmax(s, a, None), (x, torch.tensor(1.4))),
        "weights._Weights": (lambda s, a: weights.entmax(s, a), (x, torch.tensor(1.4))),
        "heads._Step": (steps_of(memories["shift"])[0], drawn_memory(memories["shift"], 2, 5, 0)),
        "heads._Step links": (steps_of(memories["links"])[0], drawn_memory(memories["links"], 2, 5, 0)),
        "dropout._Dropped": (lambda x: dropout._Dropped.apply(x, 3, 5, 0.5), (x,)),
        "cross_entropy._LinearCrossEntropy": (
            lambda f, w, b: cross_entropy.linear_cross_entropies(f, w, b, target, 0.1)[0],
            (rows, drawn(3, 12), drawn(3)),
        ),
        "derivatives.Recomputed": (lambda q, k, v: attend(q, k, v, backend="sdpa"), (x, key, value)),
        "products._Product": (products.multiplied, (x, drawn(1, 8, 3))),
        "products._Unread": (lambda w, v: products.Unread()(w, v), (x, drawn(2, 8, 3))),
        "function.Blockwise": (
            lambda q, k, v: attend(
                q, k, v, normalizer=normalizers.Entmax(1.4), mask=masks.Causal("end"), backend="cpu"
            ),
            (drawn(1, 130, 8), drawn(1, 9000, 8, seed=1), drawn(1, 9000, 3, seed=2)),
        ),
        "chunked.additive._AdditiveScores": (
            lambda q, k, v: FusedAdditive(v, scores.exponentials(k.detach()))(q, k),
            (x, x.flip(0), v),
        ),
        "step_kernels.Read draws": (drawing, (x, key, value, v)),
        "unmasked._Attention": (
            lambda q, k, v, w: attend(q, k, v, score=scores.Additive(w), backend="cpu"),
            (drawn(2, 40, 8), key, value, v),
        ),
        "step_kernels.Read": (step, (x, key, value, v)),
    }
    if REASON is not None:
        return found
    return found | {"gpu_rows._Entmax": (lambda s: gpu_rows.entmax(s, 1.4, None), (x,))}


def functions() -> set[str]:
    """Module and name of every autograd function of the source."""
    found = set()
    for module in pkgutil.walk_packages(saccade.__path__, "saccade."):
        if "torch.autograd.Function" in Path(module.module_finder.find_spec(module.name).origin).read_text():
            for name, part in vars(importlib.import_module(module.name)).items():
                own = isinstance(part, type) and part.__module__ == module.name
                found |= {f"{module.name}.{name}"} if own and issubclass(part, torch.autograd.Function) else set()
    return found


def apart(saved: Tensor) -> Tensor:
    """The same numbers, of which no two lie side by side."""
    return torch.stack((saved, saved), -1)[..., 0]


def in_one_piece(saved: Tensor) -> Tensor:
    return saved.clone(memory_format=torch.contiguous_format)


def recomputed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *tensors: checkpoint(function, *tensors, use_reentrant=False)


def hooked(unpack: Callable[[Tensor], Tensor], function: Callable[..., Any]) -> Callable[..., Any]:
    def under_hooks(*tensors: Tensor) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(torch.Tensor.detach, unpack):
            return function(*tensors)

    return under_hooks


def differentiated(function: Callable[..., Any], tensors: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], set[str]]:
    """The gradients of a function, and the names of autograd's nodes."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    found = function(*leaves)
    outputs = [part for part in ([found] if isinstance(found, Tensor) else found) if part is not None]
    ramps = (torch.linspace(-1, 2, part.numel()).view(part.shape) for part in outputs)
    total = sum((part * ramp).sum() for part, ramp in zip(outputs, ramps, strict=True))
    nodes, names = [total.grad_fn], set()
    for node in nodes:
        names.add(node.name())
        nodes += [before for before, _ in node.next_functions if before is not None and before not in nodes]
    return torch.autograd.grad(total, leaves), names


WAYS = partial(hooked, in_one_piece), partial(hooked, apart), recomputed


@pytest.mark.parametrize("name", members())
def test_saved_tensors_may_be_laid_out_anew(name):
    function, tensors = members()[name]
    expected, _ = differentiated(function, tensors)
    reached = set()
    for way in WAYS:
        found, names = differentiated(way(function), tensors)
        torch.testing.assert_close(found, expected)
        reached |= names
    assert f"{name.split()[0].split('.')[-1]}Backward" in reached


def test_the_table_has_every_autograd_function():
    known = [name.split()[0] for name in (*members(), *ELSEWHERE)]
    missing = {name for name in functions() if not any(name.endswith(f".{end}") for end in known)}
    assert missing <= (set() if REASON is None else {"saccade.kernels.gpu_rows._Entmax"})
