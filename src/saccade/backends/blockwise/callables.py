"""Scores, normalizers and masks of the user's own: one checkpoint a block of rows."""

import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from saccade._call.call import Call, rows
from saccade._definitions.numerics import transforming, valueless
from saccade._definitions.structure import Definition, Grid
from saccade.auxiliary import AuxOutput
from saccade.backends import reference
from saccade.backends.blockwise.engine import Engine
from saccade.errors import ArgumentError

SEEN: WeakKeyDictionary[Any, set[Any]] = WeakKeyDictionary()
"""Of each callable (of a method its object) the shapes for which `check_rows` had nothing to say."""

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 0.1, torch.bfloat16: 0.1}
"""How far a row alone may be from the row among others, as a part of the row's largest entry: products of one row are
rounded otherwise than those of many.
"""


def checkpointed(engine: Engine, call: Call) -> tuple[Tensor, AuxOutput]:
    """One non-reentrant checkpoint a block of rows: what the callable closes over gets its gradient from autograd
    itself.
    """
    if transforming():
        return reference.run(call)
    call = reference.cleaned(call) if reference.untrusted(call) else call
    call = engine.prepare(call)
    grid, pairs = call.grid(), max(1, math.prod(call.batch) * call.key.shape[-2])
    count = max(1, engine.budget(call) // pairs)
    if count >= grid.q_len:
        return evaluated(engine, call, grid)
    if not valueless(call.query):
        check_rows(call, count)
    parts = []
    for start in range(0, grid.q_len, count):
        size = min(count, grid.q_len - start)
        block = rows(call, start, size), grid._replace(start=start, rows=size)
        parts.append(checkpoint(evaluated, engine, *block, use_reentrant=False))
    outputs, aux = zip(*parts, strict=True)
    return torch.cat(outputs, -2), joined(aux)


def evaluated(engine: Engine, call: Call, grid: Grid) -> tuple[Tensor, AuxOutput]:
    """Output and statistics of one block."""
    return engine.read(call, grid, *engine.weigh(call, grid))


def joined(parts: Sequence[AuxOutput]) -> AuxOutput:
    """The statistics of consecutive blocks of rows as those of the whole."""
    found: dict[str, Any] = {}
    for name, first in vars(parts[0]).items():
        if first is None:
            continue
        pieces = [getattr(part, name) for part in parts]
        if name == "received":
            found[name] = torch.stack(pieces).sum(0)
        elif name == "top":
            found[name] = tuple(torch.cat(side, -2) for side in zip(*pieces, strict=True))
        else:
            found[name] = torch.cat(pieces, -2 if name == "weights" else -1)
    return AuxOutput(**found)


def check_rows(call: Call, count: int) -> None:
    """Looks, once a shape, whether callables make of a row alone what they make of it in a block.

    Args:
        call: which goes by blocks of rows.
        count: rows in a block.

    Raises:
        ArgumentError: a score or a normalizer whose rows depend on each other, or on their number in the block.
    """
    device, size = call.query.device, min(max(count, 2), call.query.shape[-2])
    for name, function in (("score", call.score), ("normalizer", call.normalizer)):
        if isinstance(function, Definition) and function.known:
            continue
        seen, shape = shapes_seen(function), (getattr(function, "__func__", None), call.query.shape, call.key.shape)
        if shape in seen:
            continue
        with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
            compare_rows(name, parts_of(name, call, size), size)
        seen.add(shape)


def shapes_seen(function: Callable[..., Tensor]) -> set[Any]:
    """What is kept of a callable, nothing where it cannot be known again."""
    owner = getattr(function, "__self__", function)  # a method is another object whenever it is asked for
    try:
        return SEEN.setdefault(owner, set())
    except TypeError:
        return set()


def parts_of(name: str, call: Call, size: int) -> Callable[[int, int], Tensor]:
    """What a callable makes of rows start .. start + count - 1 among the first `size`, as a function of both."""
    grid = call.grid()

    def block(start: int, count: int) -> tuple[Call, Grid]:
        place = grid._replace(start=start, rows=count)
        return reference.told(rows(call, start, count), place), place

    if name == "score":
        return lambda start, count: reference.compared(*block(start, count))
    scores, allowed = reference.scored(*block(0, size), reference.PLAIN)
    allowed = None if allowed is None else allowed.expand(scores.shape)

    def weights(start: int, count: int) -> Tensor:
        few = None if allowed is None else allowed.narrow(-2, start, count)
        return reference.normalized(block(start, count)[0], scores.narrow(-2, start, count), few)[0]

    return weights


def compare_rows(name: str, part: Callable[[int, int], Tensor], size: int) -> None:
    """Raises where one of the last two of `size` rows alone is another row, and the same one when it is asked again,
    which a random one is not.
    """
    together = part(0, size)
    for row in range(size - 2, size):
        alone = part(row, 1)
        if not alike(alone, together.narrow(-2, row, 1)) and alike(alone, part(row, 1)):
            third = "score(query, key, positions)" if name == "score" else "normalizer(scores, mask, positions)"
            raise ArgumentError(
                f"{name}: expected a callable whose row i follows from query row i and all keys, got another result "
                f"for row {row} alone than among {size} rows, and this call goes by blocks of rows; take where they "
                f"stand as a third argument, {third}, or backend='reference', which gives it all rows at once"
            )


def alike(row: Tensor, other: Tensor) -> bool:
    """Whether two rows are the same but for rounding."""
    rounded = torch.get_float32_matmul_precision() != "highest" and row.dtype == torch.float32
    tolerance = TOLERANCE[torch.bfloat16 if rounded else row.dtype]
    largest = torch.where(other.isfinite(), other, 0.0).abs().amax() if other.numel() else 0.0
    same = (row == other) | (row.isnan() & other.isnan()) | ((row - other).abs() <= tolerance * largest)
    return bool(same.all())
