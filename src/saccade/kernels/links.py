"""The heads of a Differentiable Neural Computer, which go by usage and links: their step by kernels."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.kernels.heads import Formula, columns, empty_columns, kernels

__all__ = ["Links"]

_forward = kernels("links:forward", "links_double:forward")
_backward = kernels("links_backward:backward", "links_double:backward")


class Links(NamedTuple):
    """A writer that finds free cells, and readers that follow the order of writing.

    Its tensors are what is asked for, `(batch, features)`: of each reader key, strength, free gate and three modes,
    then of the writer key, strength, allocation gate, write gate, erase and add vectors; the memory
    `(batch, cells, cell_dim)`; where readers and the writer were `(batch, heads, cells)`; usage and precedence
    `(batch, cells)`; links `(batch, cells, cells)`. It results in the memory, what is read `(batch, reads, cell_dim)`,
    and the rest anew.

    Args:
        formula: the same by PyTorch's operations.
        reads: heads that read.
    """

    formula: Formula
    reads: int

    def forward(self, *tensors: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """As `Heads` has it."""
        asked, memory = tensors[0].contiguous(), columns(tensors[1])
        state = [part.contiguous() for part in tensors[2:]]
        batch, cells, size = memory.shape
        said, keys = torch.empty_like(asked), asked.new_empty(batch, self.reads + 1)
        read = asked.new_empty(batch, self.reads, size)
        found = empty_columns(memory), read, *(torch.empty_like(part) for part in state)
        between = asked.new_empty(batch, 4 * self.reads + 3, cells), asked.new_empty(batch, 2, cells)
        order = torch.empty(batch, cells, dtype=torch.int64, device=asked.device)
        given = asked, said, keys, memory, *state
        _forward[asked.dtype](batch, *given, *found, *between, order, cells, size, self.reads)
        return found, (*found, *given, *between, order)

    def backward(self, kept: Sequence[Tensor], grads: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """As `Heads` has it."""
        results, given, between = kept[:7], kept[7:16], kept[16:]
        asked, memory = given[0], given[3]
        batch, cells, size = memory.shape
        found = torch.empty_like(asked), empty_columns(memory), *(torch.empty_like(part) for part in given[4:])
        arrived = columns(grads[0]), *(grad.contiguous() for grad in grads[1:])
        _backward[asked.dtype](batch, *given, *results, *between, cells, size, self.reads, *arrived, *found)
        return found
