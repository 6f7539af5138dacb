"""One step of an external memory, all of its heads in one pass.

By PyTorch's operations a step of a Neural Turing Machine is some sixty small ones, and as many in the backward, each of
which takes longer to start than to do.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.kernels.rows import TYPES, of_type
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves


class Step(NamedTuple):
    """Table of a step of heads. A block is an entry of the batch."""

    interface: Tensor
    """Readers first, then writers.

    By shifts: key, β, gate, γ and shifts of each head, and of writers erase and add vectors. By links: key, β, free
    gate and three modes of each reader; key, β, allocation gate, write gate, erase and add vectors of the writer.
    """
    memory: Tensor
    reading: Tensor
    writing: Tensor
    usage: Tensor | None  # by links, as the next two
    precedence: Tensor | None
    links: Tensor | None
    new_memory: Tensor
    read: Tensor
    new_reading: Tensor
    new_writing: Tensor
    new_usage: Tensor | None
    new_precedence: Tensor | None
    new_links: Tensor | None
    controls: Tensor  # the interface after its functions: the key's direction, softplus, sigmoid and so on
    key_norms: Tensor  # 1 / ‖key‖ of each head
    kept: Tensor
    """Rows of cells.

    By shifts, of each head: cosines, weights by content, and the weights before they are sharpened. By links, of each
    reader: cosines, weights by content, backward and forward; of the writer: cosines, weights by content, free cells.
    """
    norms: Tensor  # 1 / ‖cell‖ before and after the write
    order: Tensor | None  # by links: the cells in the order of their usage
    cells: int
    size: int
    reads: int
    writes: int
    furthest: int  # the furthest shift


class Backward(NamedTuple):
    """Table of the gradients of a step. The results begin at `interface_grad`."""

    step: Step
    new_memory_grad: Tensor
    read_grad: Tensor
    new_reading_grad: Tensor
    new_writing_grad: Tensor
    new_usage_grad: Tensor | None
    new_precedence_grad: Tensor | None
    new_links_grad: Tensor | None
    interface_grad: Tensor
    memory_grad: Tensor
    reading_grad: Tensor
    writing_grad: Tensor
    usage_grad: Tensor | None
    precedence_grad: Tensor | None
    links_grad: Tensor | None


_shift, _shift_backward = of_type("shift.forward", Step), of_type("shift.backward", Backward)
_links, _links_backward = of_type("links.forward", Step), of_type("links_backward.backward", Backward)
_NO_LINKS = None, None, None


class Heads(NamedTuple):
    """Heads that shift (Neural Turing Machine) or follow links (Graves et al. 2016).

    The tensors of a step are the interface `(batch, features)` (see `Step`), the memory `(batch, cells, cell_dim)`, and
    the weights of readers and writers `(batch, heads, cells)`. By links there are usage and precedence `(batch, cells)`
    and links `(batch, cells, cells)`. The results are the memory, vectors `(batch, reads, cell_dim)`, and the rest
    anew.

    """

    formula: Callable[..., tuple[Tensor, ...]]  # the step by PyTorch's operations, also for second derivatives
    reads: int  # heads that read
    writes: int = 1  # heads that write
    furthest: int | None = None  # the furthest shift, in cells; None by links

    def forward(self, *tensors: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Results of a step by a kernel, and tensors for its backward, results first."""
        interface, memory = tensors[0].contiguous(), _columns(tensors[1])
        state = [part.contiguous() for part in tensors[2:]]
        (batch, cells, size), heads, new = memory.shape, self.reads + self.writes, interface.new_empty
        results = _empty_columns(memory), new(batch, self.reads, size), *map(torch.empty_like, state)
        rows = 4 * self.reads + 3 if self.furthest is None else 3 * heads
        between = [torch.empty_like(interface), new(batch, heads), new(batch, rows, cells), new(batch, 2, cells)]
        if self.furthest is None:
            between.append(new(batch, cells, dtype=torch.int64))
        kept = *results, interface, memory, *state, *between
        kernels = _links if self.furthest is None else _shift
        kernels[interface.dtype](batch, self._table(kept))
        return results, kept

    def backward(self, kept: Sequence[Tensor], grads: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The gradients of the tensors from those of the results, by a kernel."""
        step, by_links = self._table(kept), self.furthest is None
        states = step.reading, step.writing, step.usage, step.precedence, step.links
        absent, state = () if by_links else _NO_LINKS, [part for part in states if part is not None]
        upstream = _columns(grads[0]), *(grad.contiguous() for grad in grads[1:])
        gradients = torch.empty_like(step.interface), _empty_columns(step.memory), *map(torch.empty_like, state)
        kernels = _links_backward if by_links else _shift_backward
        table = Backward._make((step, *upstream, *absent, *gradients, *absent))
        kernels[step.interface.dtype](len(step.memory), table)
        return gradients

    def _table(self, kept: Sequence[Tensor]) -> Step:
        """The table from the results of a step, its inputs, and tensors between them."""
        count = 4 if self.furthest is not None else 7
        absent, order = (_NO_LINKS, (None,)) if self.furthest is not None else ((), ())
        results, inputs, between = kept[:count], kept[count : 2 * count], kept[2 * count :]
        sizes = *inputs[1].shape[1:], self.reads, self.writes, self.furthest or 0
        return Step._make((*inputs, *absent, *results, *absent, *between, *order, *sizes))


def step(heads: Heads, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The results of a step, from the interface and the state before."""
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
