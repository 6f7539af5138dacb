"""What a backend puts into the blocks: how a block's weights are computed, and what is read with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import NamedTuple

from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.structure import Grid
from saccade.auxiliary import AuxOutput
from saccade.backends import reference

Weighed = tuple[Tensor, Tensor | None, reference.Known]
"""Weights `(..., rows, Lk)`, which keys are allowed (broadcastable to them, or None), and what is known of the
weights.
"""


class Whole(NamedTuple):
    """How a backend computes some calls without blocks; None is the answer where it does not.

    Args:
        forward: all results of an aligned call, in their order.
        backward: the gradients of its wanted leaves, from those of the floating results.
    """

    forward: Callable[[Call], list[Tensor] | None]
    backward: Callable[[Call, Sequence[Tensor], Sequence[bool]], list[Tensor] | None]


FAR_PAIRS = 1 << 25
"""Pairs a block off the CPU, where to begin a block costs what a million pairs do: 128 MiB of float32 scores."""


@dataclass(frozen=True, eq=False)
class Engine:
    """How the blocks of a backend are computed; `blockwise` does the rest: slicing, memory, derivatives, operators.

    Args:
        name: of the backend, as `ENGINES` has it.
        prepare: done once for all blocks: what the score keeps of the keys goes to the call's `cache`. The call's other
            tensors may change, their number and order may not.
        weigh: the weights of one block of queries; differentiable by autograd.
        read: output and statistics from the weights; differentiable by autograd.
        pairs: of a query and a key in one block on a CPU, at most.
        whole: what needs no blocks, or None.
    """

    name: str
    prepare: Callable[[Call], Call]
    weigh: Callable[[Call, Grid], Weighed]
    read: Callable[[Call, Grid, Tensor, Tensor | None, reference.Known], tuple[Tensor, AuxOutput]]
    pairs: int
    whole: Whole | None = None

    def budget(self, call: Call) -> int:
        """Pairs of a query and a key in one block of a call, at most."""
        return self.pairs if call.query.device.type == "cpu" else max(self.pairs, FAR_PAIRS)


DEFINITION = Engine("reference", lambda call: call, reference.weigh, reference.read, 1 << 19)
"""The reference's own formulas, block by block: what second derivatives go through."""

ENGINES = {
    "reference": "saccade.backends.blockwise.engine:DEFINITION",
    "chunked": "saccade.backends.chunked:ENGINE",
    "cpu": "saccade.backends.cpu.engine:ENGINE",
    "triton": "saccade.backends.triton:ENGINE",
}
"""Where the engine of each name is: a name is all that an opaque operator can be told."""


def engine_named(name: str) -> Engine:
    """The engine of that name, its module imported when it is first asked for.

    >>> engine_named("chunked").name
    'chunked'
    """
    return _engine_at(ENGINES[name])


@cache
def _engine_at(where: str) -> Engine:
    module, _, name = where.partition(":")
    engine: Engine = getattr(import_module(module), name)
    return engine
