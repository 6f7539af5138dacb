"""One step of a memory whose heads move by shifts: all of its heads, their writing and reading, in one pass.

By PyTorch's operations a step of a Neural Turing Machine is some sixty small ones, and as many in the backward, each of
which takes longer to start than to do.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.kernels.rows import TYPES, of_type
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves

__all__ = ["Sizes", "step"]

_forward, _backward = of_type("shift:forward"), of_type("shift:backward")
_TINY = {dtype: torch.tensor([torch.finfo(dtype).tiny], dtype=dtype, device="cpu") for dtype in TYPES}

Step = tuple[Tensor, Tensor, Tensor, Tensor]
Formula = Callable[[Tensor, Tensor, Tensor, Tensor], Step]


class Sizes(NamedTuple):
    """Of a memory's heads.

    Args:
        reads: heads that read.
        writes: heads that write.
        furthest: the furthest that one moves, in cells.
    """

    reads: int
    writes: int
    furthest: int


def step(formula: Formula, sizes: Sizes, asked: Tensor, memory: Tensor, reading: Tensor, writing: Tensor) -> Step:
    """The memory after a write, what is read of it, and the weights of reading and writing.

    Args:
        formula: the same of the four tensors by PyTorch's operations, for what kernels do not serve and for second
            derivatives.
        sizes: of the heads.
        asked: what heads ask for, `(batch, features)`: of each reader, then of each writer, key, strength, gate, power
            and shifts, and of a writer erase and add vectors.
        memory: `(batch, cells, cell_dim)`.
        reading, writing: where heads were, `(batch, heads, cells)`.

    Returns:
        Memory, read `(batch, reads, cell_dim)`, and both weights.
    """
    tensors = asked, memory, reading, writing
    same = all(tensor.dtype == asked.dtype for tensor in tensors)
    if not same or not asked.shape[0] or not serves(*tensors, dtypes=TYPES):
        return formula(*tensors)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        found: Step = _Shift.apply(formula, sizes, *tensors)
        return found
    return _run(sizes, *tensors)[0]


def _columns(memory: Tensor) -> Tensor:
    """`(batch, cells, features)` with the cells side by side, as kernels read and write it."""
    return memory.mT.contiguous().mT


def _empty_columns(memory: Tensor) -> Tensor:
    batch, cells, size = memory.shape
    return memory.new_empty_strided((batch, cells, size), (cells * size, 1, cells))


def _run(
    sizes: Sizes, asked: Tensor, memory: Tensor, reading: Tensor, writing: Tensor
) -> tuple[Step, tuple[Tensor, ...]]:
    """The step, and what its backward needs: the inputs as kernels read them, and what was found on the way."""
    (batch, cells, size), heads = memory.shape, sizes.reads + sizes.writes
    asked, reading, writing = asked.contiguous(), reading.contiguous(), writing.contiguous()
    memory = _columns(memory)
    new, read = _empty_columns(memory), memory.new_empty(batch, sizes.reads, size)
    after, written = torch.empty_like(reading), torch.empty_like(writing)
    said, keys = torch.empty_like(asked), asked.new_empty(batch, heads)
    kept, inverses = asked.new_empty(batch, heads, 3, cells), asked.new_empty(batch, 2, cells)
    given, found = (asked, said, keys, memory, reading, writing), (new, read, after, written)
    _forward[asked.dtype](batch, *given, *found, kept, inverses, _TINY[asked.dtype], cells, size, *sizes)
    return found, (*given, *found, kept, inverses)


class _Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, formula: Formula, sizes: Sizes, *tensors: Tensor) -> Step:
        found, kept = _run(sizes, *tensors)
        ctx.formula, ctx.sizes = formula, sizes
        ctx.save_for_backward(*tensors, *kept)
        ctx.set_materialize_grads(False)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        inputs, kept = ctx.saved_tensors[:4], ctx.saved_tensors[4:]
        pairs = zip(grads, kept[6:10], strict=True)
        given = [torch.zeros_like(part) if grad is None else grad for grad, part in pairs]
        if torch.is_grad_enabled() or not serves(*given, dtypes=TYPES):
            return (None, None, *by_definition(ctx.formula, inputs, ctx.needs_input_grad[2:], given))
        memory, (batch, cells, size) = kept[3], kept[3].shape
        found = torch.empty_like(kept[0]), _empty_columns(memory), torch.empty_like(kept[4]), torch.empty_like(kept[5])
        given = [_columns(given[0]), *(grad.contiguous() for grad in given[1:])]
        table = *kept, _TINY[memory.dtype], cells, size, *ctx.sizes, *given, *found
        _backward[memory.dtype](batch, *table)
        return None, None, *found
