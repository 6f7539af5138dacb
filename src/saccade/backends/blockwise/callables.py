"""Scores, normalizers and masks of the user's own: one checkpoint a block of rows."""

import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from saccade._call.call import Call, rows
from saccade._definitions.numerics import float32_precision, transforming, valueless
from saccade._definitions.structure import Definition, Grid
from saccade.auxiliary import AuxOutput
from saccade.backends import reference
from saccade.backends.blockwise.engine import Engine
from saccade.errors import ArgumentError

# Shapes that passed `check_rows`, by callable (by object for a method).
CHECKED: WeakKeyDictionary[Any, set[Any]] = WeakKeyDictionary()
# Tolerance between a row alone and among others, relative to its largest entry. Products of one row and of many are
# rounded differently.
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 0.1, torch.bfloat16: 0.1}


def checkpointed(engine: Engine, call: Call) -> tuple[Tensor, AuxOutput]:
    """One non-reentrant checkpoint a block: autograd itself reaches closures."""
    if transforming():
        return reference.run(call)
    call = reference.cleaned(call) if reference.untrusted(call) else call
    call = engine.prepare(call)
    grid, pairs = call.grid(), max(1, math.prod(call.batch) * call.key.shape[-2])
    count = max(1, engine.budget(call) // pairs)

    def evaluated(block: Call, grid: Grid) -> tuple[Tensor, AuxOutput]:
        return engine.read(block, grid, *engine.weigh(block, grid))

    if count >= grid.q_len:
        return evaluated(call, grid)
    if not valueless(call.query):
        check_rows(call, count)
    parts = []
    for start in range(0, grid.q_len, count):
        size = min(count, grid.q_len - start)
        block = rows(call, start, size), grid._replace(start=start, rows=size)
        parts.append(checkpoint(evaluated, *block, use_reentrant=False))
    outputs, aux = zip(*parts, strict=True)
    return torch.cat(outputs, -2), joined(aux)


def joined(parts: Sequence[AuxOutput]) -> AuxOutput:
    whole: dict[str, Any] = {}
    for name, first in vars(parts[0]).items():
        if first is None:
            continue
        pieces = [getattr(part, name) for part in parts]
        if name == "received":
            whole[name] = torch.stack(pieces).sum(0)
        elif name == "top":
            whole[name] = tuple(torch.cat(side, -2) for side in zip(*pieces, strict=True))
        else:
            whole[name] = torch.cat(pieces, -2 if name == "weights" else -1)
    return AuxOutput(**whole)


def check_rows(call: Call, count: int) -> None:
    """Raise `ArgumentError` unless callables compute a row alone as in a block."""
    device, size = call.query.device, min(max(count, 2), call.query.shape[-2])
    for name, function in (("score", call.score), ("normalizer", call.normalizer)):
        if isinstance(function, Definition) and function.is_registered:
            continue
        owner = getattr(function, "__self__", function)  # every access makes a new object of a method
        try:
            checked = CHECKED.setdefault(owner, set())
        except TypeError:  # without a hash, or without weak references
            checked = set()
        shape = getattr(function, "__func__", None), call.query.shape, call.key.shape
        if shape in checked:
            continue
        with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
            part = row_function(name, call, size)
            together = part(0, size)
            for row in range(size - 2, size):
                alone = part(row, 1)
                if alike(alone, together.narrow(-2, row, 1)) or not alike(alone, part(row, 1)):  # or it is random
                    continue
                third = "score(query, key, positions)" if name == "score" else "normalizer(scores, mask, positions)"
                raise ArgumentError(
                    f"{name}: expected a callable whose row i follows from query row i and all keys, got another "
                    f"result for row {row} alone than among {size} rows, and this call goes by blocks of rows. Take "
                    f"positions as a third argument, {third}, or backend='reference', which passes all rows at once."
                )
        checked.add(shape)


def row_function(name: str, call: Call, size: int) -> Callable[[int, int], Tensor]:
    """Result of a callable for `count` rows from `start` on, of the first `size`."""
    grid = call.grid()

    def block(start: int, count: int) -> tuple[Call, Grid]:
        part = grid._replace(start=start, rows=count)
        return reference.positioned(rows(call, start, count), part), part

    if name == "score":
        return lambda start, count: reference.compared(*block(start, count))
    scores, allowed = reference.scored(*block(0, size), reference.PLAIN)
    allowed = None if allowed is None else allowed.expand(scores.shape)

    def weights(start: int, count: int) -> Tensor:
        few = None if allowed is None else allowed.narrow(-2, start, count)
        return reference.normalized(block(start, count)[0], scores.narrow(-2, start, count), few)[0]

    return weights


def alike(row: Tensor, other: Tensor) -> bool:
    rounded = row.dtype == torch.float32 and float32_precision(row.device.type) != "ieee"
    tolerance = TOLERANCE[torch.bfloat16 if rounded else row.dtype]
    largest = torch.where(other.isfinite(), other, 0.0).abs().amax() if other.numel() else 0.0
    return torch.allclose(row, other, rtol=0.0, atol=tolerance * float(largest), equal_nan=True)
