"""One step of an external memory, all of its heads in one pass.

By PyTorch's operations a step of a Neural Turing Machine is some sixty small ones, and as many in the backward, each of
which takes longer to start than to do.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor

from saccade.kernels.rows import TYPES, of_type
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves

__all__ = ["Formula", "Heads", "Links", "Shift", "step"]

Formula: TypeAlias = Callable[..., tuple[Tensor, ...]]


class Heads(Protocol):
    """The heads of a memory, and how a step of theirs is computed."""

    @property
    def formula(self) -> Formula:
        """The step by PyTorch's operations, for other tensors and second derivatives."""

    def forward(self, *tensors: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Results of a step by a kernel, and tensors for its backward, results first."""

    def backward(self, kept: Sequence[Tensor], grads: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The gradients of the tensors from those of the results, by a kernel."""


def step(heads: Heads, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The state of a memory after a step.

    Args:
        heads: of the memory.
        tensors: the interface of the heads, `(batch, features)`, and the state before.
    """
    first = tensors[0]
    same = all(tensor.dtype == first.dtype for tensor in tensors)
    # With one feature a cosine is 1 or -1, and its gradient, 0, the difference of two numbers that a kernel rounds.
    single = any(tensor.ndim == 3 and tensor.shape[-1] == 1 for tensor in tensors)
    if not same or single or not first.shape[0] or not serves(*tensors, dtypes=TYPES):
        return heads.formula(*tensors)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        state: tuple[Tensor, ...] = _Step.apply(heads, *tensors)
        return state
    return heads.forward(*tensors)[0]


def _columns(memory: Tensor) -> Tensor:
    """`(batch, cells, features)` with adjacent cells, as kernels take it."""
    return memory.mT.contiguous().mT


def _empty_columns(memory: Tensor) -> Tensor:
    """Room for another such memory."""
    batch, cells, size = memory.shape
    return memory.new_empty_strided((batch, cells, size), (cells * size, 1, cells))


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, heads: Heads, *tensors: Tensor) -> tuple[Tensor, ...]:
        results, kept = heads.forward(*tensors)
        ctx.heads, ctx.count, ctx.strides = heads, len(tensors), [part.stride() for part in kept]
        ctx.save_for_backward(*tensors, *kept)
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        saved = ctx.saved_tensors  # read once: activation checkpointing hands each of them out once
        inputs, kept = saved[: ctx.count], saved[ctx.count :]
        pairs = zip(grads, kept[: len(grads)], strict=True)
        upstream = [torch.zeros_like(part) if grad is None else grad for grad, part in pairs]
        if torch.is_grad_enabled() or not serves(*upstream, dtypes=TYPES):
            return (None, *by_definition(ctx.heads.formula, inputs, ctx.needs_input_grad[1:], upstream))
        return (None, *ctx.heads.backward(list(map(_laid, kept, ctx.strides)), upstream))


def _laid(tensor: Tensor, strides: tuple[int, ...]) -> Tensor:
    """A tensor with these strides. Hooks on saved tensors may have changed them."""
    return tensor if tensor.stride() == strides else tensor.new_empty_strided(tensor.shape, strides).copy_(tensor)


class ShiftStep(NamedTuple):
    """Table of a step of heads that move by shifts. A block is an entry of the batch."""

    interface: Tensor
    """Key, β, gate, γ and shifts of each reader, then writer, with erase and add."""
    memory: Tensor
    reading: Tensor
    writing: Tensor
    new_memory: Tensor
    read: Tensor
    new_reading: Tensor
    new_writing: Tensor
    controls: Tensor  # the interface after its functions: the key's direction, softplus, sigmoid and so on
    key_norms: Tensor  # 1 / ‖key‖ of each head
    kept: Tensor  # of each head the cosines, the weights by content, and the weights before they are sharpened
    norms: Tensor  # 1 / ‖cell‖ before and after the write
    tiny: Tensor  # the smallest normal number
    cells: int
    size: int
    reads: int
    writes: int
    furthest: int  # the furthest shift


class ShiftBackward(NamedTuple):
    """Table of the gradients of such a step. The results are the last four."""

    step: ShiftStep
    new_memory_grad: Tensor
    read_grad: Tensor
    new_reading_grad: Tensor
    new_writing_grad: Tensor
    interface_grad: Tensor
    memory_grad: Tensor
    reading_grad: Tensor
    writing_grad: Tensor


_shift, _shift_backward = of_type("shift.forward", ShiftStep), of_type("shift.backward", ShiftBackward)
_TINY = {dtype: torch.tensor([torch.finfo(dtype).tiny], dtype=dtype, device="cpu") for dtype in TYPES}


class Shift(NamedTuple):
    """Heads of a Neural Turing Machine: cells by content, moves by shifts.

    The tensors of its step are the interface `(batch, features)` (see `ShiftStep`), the memory
    `(batch, cells, cell_dim)`, and the weights of readers and writers `(batch, heads, cells)`. The results are the
    memory, what is read `(batch, reads, cell_dim)`, and both weights.

    Args:
        formula: the step by PyTorch's operations.
        reads: heads that read.
        writes: heads that write.
        furthest: the furthest shift, in cells.
    """

    formula: Formula
    reads: int
    writes: int
    furthest: int

    def _sizes(self, memory: Tensor) -> tuple[int, ...]:
        return (*memory.shape[1:], *self[1:])

    def forward(self, *tensors: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """As `Heads` has it."""
        interface, reading, writing = (tensors[i].contiguous() for i in (0, 2, 3))
        memory, heads = _columns(tensors[1]), self.reads + self.writes
        batch, cells, size = memory.shape
        read = interface.new_empty(batch, self.reads, size)
        results = _empty_columns(memory), read, torch.empty_like(reading), torch.empty_like(writing)
        controls, key_norms = torch.empty_like(interface), interface.new_empty(batch, heads)
        kept, norms = interface.new_empty(batch, heads, 3, cells), interface.new_empty(batch, 2, cells)
        inputs, between = (interface, memory, reading, writing), (controls, key_norms, kept, norms)
        dtype = interface.dtype
        _shift[dtype](batch, ShiftStep._make((*inputs, *results, *between, _TINY[dtype], *self._sizes(memory))))
        return results, (*results, *inputs, *between)

    def backward(self, kept: Sequence[Tensor], grads: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """As `Heads` has it."""
        results, inputs, between = kept[:4], kept[4:8], kept[8:]
        interface, memory, reading, writing = inputs
        gradients = (
            *(torch.empty_like(interface), _empty_columns(memory)),
            *(torch.empty_like(reading), torch.empty_like(writing)),
        )
        upstream, dtype = (_columns(grads[0]), *(grad.contiguous() for grad in grads[1:])), interface.dtype
        step = ShiftStep._make((*inputs, *results, *between, _TINY[dtype], *self._sizes(memory)))
        _shift_backward[dtype](len(memory), ShiftBackward._make((step, *upstream, *gradients)))
        return gradients


class LinksStep(NamedTuple):
    """Table of a step of heads with usage and links. A block is a batch entry."""

    interface: Tensor
    """Interface: readers first, then the writer.

    Each reader: key, β, free gate and three modes. The writer: key, β, allocation gate, write gate, erase and add
    vectors.
    """
    memory: Tensor
    reading: Tensor
    writing: Tensor
    usage: Tensor
    precedence: Tensor
    links: Tensor
    new_memory: Tensor
    read: Tensor
    new_reading: Tensor
    new_writing: Tensor
    new_usage: Tensor
    new_precedence: Tensor
    new_links: Tensor
    controls: Tensor  # the interface after its functions
    key_norms: Tensor  # 1 / ‖key‖ of each head
    kept: Tensor
    """Cosines and weights of a step.

    Each reader: cosines, weights by content, backward and forward. The writer: cosines, weights by content, free cells.
    """
    norms: Tensor  # 1 / ‖cell‖ before and after the write
    order: Tensor  # the cells in the order of their usage
    cells: int
    size: int
    reads: int


class LinksBackward(NamedTuple):
    """Table of the gradients of such a step. The results begin at `interface_grad`."""

    step: LinksStep
    new_memory_grad: Tensor
    read_grad: Tensor
    new_reading_grad: Tensor
    new_writing_grad: Tensor
    new_usage_grad: Tensor
    new_precedence_grad: Tensor
    new_links_grad: Tensor
    interface_grad: Tensor
    memory_grad: Tensor
    reading_grad: Tensor
    writing_grad: Tensor
    usage_grad: Tensor
    precedence_grad: Tensor
    links_grad: Tensor


_links, _links_backward = of_type("links.forward", LinksStep), of_type("links_backward.backward", LinksBackward)


class Links(NamedTuple):
    """Heads of a Differentiable Neural Computer, with free cells and links.

    The tensors of its step are the interface `(batch, features)` (see `LinksStep`), the memory
    `(batch, cells, cell_dim)`, the weights of readers and of the writer `(batch, heads, cells)`, usage and precedence
    `(batch, cells)`, and links `(batch, cells, cells)`. The results are the memory, what is read
    `(batch, reads, cell_dim)`, and the rest anew.

    Args:
        formula: the step by PyTorch's operations.
        reads: heads that read.
    """

    formula: Formula
    reads: int

    def forward(self, *tensors: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """As `Heads` has it."""
        interface, memory = tensors[0].contiguous(), _columns(tensors[1])
        state = [part.contiguous() for part in tensors[2:]]
        batch, cells, size = memory.shape
        read = interface.new_empty(batch, self.reads, size)
        results = _empty_columns(memory), read, *(torch.empty_like(part) for part in state)
        controls, key_norms = torch.empty_like(interface), interface.new_empty(batch, self.reads + 1)
        kept = interface.new_empty(batch, 4 * self.reads + 3, cells)
        norms, order = interface.new_empty(batch, 2, cells), interface.new_empty(batch, cells, dtype=torch.int64)
        inputs, between = (interface, memory, *state), (controls, key_norms, kept, norms, order)
        _links[interface.dtype](batch, LinksStep._make((*inputs, *results, *between, cells, size, self.reads)))
        return results, (*results, *inputs, *between)

    def backward(self, kept: Sequence[Tensor], grads: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """As `Heads` has it."""
        results, inputs, between = kept[:7], kept[7:14], kept[14:]
        interface, memory, *state = inputs
        gradients = torch.empty_like(interface), _empty_columns(memory), *(torch.empty_like(part) for part in state)
        upstream = _columns(grads[0]), *(grad.contiguous() for grad in grads[1:])
        step = LinksStep._make((*inputs, *results, *between, *memory.shape[1:], self.reads))
        _links_backward[interface.dtype](len(memory), LinksBackward._make((step, *upstream, *gradients)))
        return gradients
