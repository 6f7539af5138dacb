"""The heads of a Neural Turing Machine, which move by shifts: their step by kernels."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.kernels.heads import Formula, columns, empty_columns, kernels
from saccade.kernels.rows import TYPES

__all__ = ["Shift"]

_forward = kernels("shift:forward", "shift_double:forward")
_backward = kernels("shift:backward", "shift_double:backward")
_TINY = {dtype: torch.tensor([torch.finfo(dtype).tiny], dtype=dtype, device="cpu") for dtype in TYPES}


class Shift(NamedTuple):
    """Heads that find cells by content and move from where they were.

    Its tensors are what is asked for, `(batch, features)`: of each reader, then of each writer, key, strength, gate,
    power and shifts, and of a writer erase and add vectors; the memory `(batch, cells, cell_dim)`; and where readers
    and writers were, `(batch, heads, cells)`. It results in the memory, what is read `(batch, reads, cell_dim)`, and
    where they are.

    Args:
        formula: the same by PyTorch's operations.
        reads: heads that read.
        writes: heads that write.
        furthest: the furthest that one moves, in cells.
    """

    formula: Formula
    reads: int
    writes: int
    furthest: int

    def forward(self, *tensors: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """As `Heads` has it."""
        asked, reading, writing = (tensors[place].contiguous() for place in (0, 2, 3))
        memory, heads = columns(tensors[1]), self.reads + self.writes
        batch, cells, size = memory.shape
        said, keys = torch.empty_like(asked), asked.new_empty(batch, heads)
        read = asked.new_empty(batch, self.reads, size)
        found = empty_columns(memory), read, torch.empty_like(reading), torch.empty_like(writing)
        between = asked.new_empty(batch, heads, 3, cells), asked.new_empty(batch, 2, cells), _TINY[asked.dtype]
        given = asked, said, keys, memory, reading, writing
        _forward[asked.dtype](batch, *given, *found, *between, cells, size, *self[1:])
        return found, (*found, *given, *between)

    def backward(self, kept: Sequence[Tensor], grads: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """As `Heads` has it."""
        results, given, between = kept[:4], kept[4:10], kept[10:]
        asked, _, _, memory, reading, writing = given
        batch, cells, size = memory.shape
        found = torch.empty_like(asked), empty_columns(memory), torch.empty_like(reading), torch.empty_like(writing)
        arrived = columns(grads[0]), *(grad.contiguous() for grad in grads[1:])
        _backward[asked.dtype](batch, *given, *results, *between, cells, size, *self[1:], *arrived, *found)
        return found
