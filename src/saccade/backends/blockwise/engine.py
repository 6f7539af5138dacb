"""Engines: how a backend computes the weights of a block and reads values by them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.structure import Grid
from saccade.auxiliary import AuxOutput
from saccade.backends import reference

# Weights `(..., rows, Lk)`, the allowed keys or None, and statistics.
Weighed = tuple[Tensor, Tensor | None, reference.Statistics]


Kind: TypeAlias = tuple[tuple[int, ...], torch.dtype]
"""Shape and dtype of a result."""


class Whole(NamedTuple):
    """A way to compute some calls without blocks; it returns None for the others."""

    forward: Callable[[Call], list[Tensor] | None]  # all results of an aligned call, in their order, then residuals
    # Gradients of the leaves that need one, from those of the floating results (None: no gradient) and, with
    # residuals, all that `forward` returned.
    backward: Callable[[Call, Sequence[Tensor | None], Sequence[bool], Sequence[Tensor]], list[Tensor] | None]
    # Further tensors that the backward reads, `(*batch, ...)`, beside the results; None: it reads none of them.
    residuals: Callable[[Call], list[Kind]] | None = None


FAR_PAIRS = 1 << 25  # pairs a block off the CPU: 128 MiB of float32 scores, to repay a block's start


@dataclass(frozen=True, eq=False)
class Engine:
    """The formulas of a backend's blocks; `blockwise` adds everything else.

    `prepare` is run once for all blocks: the score's work on the keys goes to the call's `cache`. It may change other
    tensors of the call, but neither their number nor their order. Autograd differentiates `weigh` and `read`.
    """

    name: str  # a key of `ENGINES`
    prepare: Callable[[Call], Call]
    weigh: Callable[[Call, Grid], Weighed]
    read: Callable[[Call, Grid, Tensor, Tensor | None, reference.Statistics], tuple[Tensor, AuxOutput]]
    pairs: int  # largest number of pairs of a query and a key in one block on a CPU
    whole: Whole | None = None

    @property
    def keeps(self) -> bool:
        """Whether the backward reads results and residuals of the forward."""
        return self.whole is not None and self.whole.residuals is not None

    def residuals(self, call: Call) -> list[Kind]:
        """Shapes and dtypes of the tensors kept for the backward of an aligned call."""
        return [] if self.whole is None or self.whole.residuals is None else self.whole.residuals(call)

    def budget(self, call: Call) -> int:
        """Largest number of pairs of a query and a key in one block of a call."""
        return self.pairs if call.query.device.type == "cpu" else max(self.pairs, FAR_PAIRS)


# The reference's formulas, block by block: second derivatives go through it.
DEFINITION = Engine("reference", lambda call: call, reference.weigh, reference.read, 1 << 19)
# Module and name of each engine: an opaque operator can take no more than a name.
ENGINES = {
    "reference": "saccade.backends.blockwise.engine:DEFINITION",
    "chunked": "saccade.backends.chunked:ENGINE",
    "cpu": "saccade.backends.cpu.engine:ENGINE",
    "triton": "saccade.backends.triton:ENGINE",
}


@cache
def engine_named(name: str) -> Engine:
    engine: Engine = resolve_name(ENGINES[name])
    return engine
