"""Scores, normalizers and masks of the user's own: one checkpoint a block of rows."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from saccade.auxiliary import AuxOutput
from saccade.backends import reference
from saccade.backends.blockwise.engine import Engine
from saccade.call import Call, rows
from saccade.numerics import transforming
from saccade.structure import Grid


def checkpointed(engine: Engine, call: Call) -> tuple[Tensor, AuxOutput]:
    """One non-reentrant checkpoint a block of rows: what the callable closes over gets its gradient from autograd
    itself.
    """
    if transforming():
        return reference.run(call)
    call = reference.cleaned(call) if reference.untrusted(call) else call
    call = engine.prepare(call)
    grid, pairs = call.grid(), max(1, math.prod(call.batch) * call.key.shape[-2])
    count = max(1, engine.pairs // pairs)
    if count >= grid.q_len:
        return evaluated(engine, call, grid)
    parts = []
    for start in range(0, grid.q_len, count):
        size = min(count, grid.q_len - start)
        block = rows(call, start, size), grid._replace(start=start, rows=size)
        parts.append(checkpoint(evaluated, engine, *block, use_reentrant=False))
    outputs, aux = zip(*parts, strict=True)
    return torch.cat(outputs, -2), joined(aux)


def evaluated(engine: Engine, call: Call, grid: Grid) -> tuple[Tensor, AuxOutput]:
    """Output and statistics of one block."""
    return engine.read(call, *engine.weigh(call, grid))


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
