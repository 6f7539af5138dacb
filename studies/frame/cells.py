"""Changed reads of trained models: other weights, cells or patches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.auxiliary import AuxRequest

Reweigh: TypeAlias = Callable[[Tensor], Tensor]
"""A function of weights `(..., cells)` with the sum 1."""


def heaviest(count: int) -> Reweigh:
    """Return a function that keeps the largest weights, scaled to a sum of 1.

    >>> heaviest(2)(torch.tensor([0.5, 0.3, 0.2]))
    tensor([0.6250, 0.3750, 0.0000])
    """

    def reweigh(weights: Tensor) -> Tensor:
        largest, index = weights.topk(min(count, weights.shape[-1]), -1)
        kept = torch.zeros_like(weights).scatter(-1, index, largest)
        return F.normalize(kept, p=1, dim=-1)

    return reweigh


def even(weights: Tensor) -> Tensor:
    """Return equal weights.

    >>> even(torch.tensor([0.5, 0.3, 0.2, 0.0]))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return torch.full_like(weights, 1 / weights.shape[-1])


def following(weights: Tensor) -> Tensor:
    """Return each cell's weight on the next cell, the last one's on the first.

    >>> following(torch.tensor([0.5, 0.3, 0.2]))
    tensor([0.2000, 0.5000, 0.3000])
    """
    return weights.roll(1, -1)


def share_read(weights: Tensor) -> Tensor:
    r"""Return the effective number of cells over their number, \(e^{H(w)} / n\).

    >>> share_read(torch.tensor([[0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0]]))
    tensor([1.0000, 0.2500])
    """
    entropy: Tensor = torch.special.entr(weights).sum(-1)
    return entropy.exp() / weights.shape[-1]


@contextmanager
def reading(module: nn.Module, reweigh: Reweigh) -> Iterator[None]:
    """Read by other weights in a block.

    Args:
        module: an `ExternalMemory`, or an `Attention` whose queries read a memory of tensors.
        reweigh: of the weights of every read.
    """

    def hook(module: Any, args: tuple[Any, ...], options: dict[str, Any], output: Any) -> Any:
        if "memory" not in options:  # a state of an `ExternalMemory`
            return output._replace(read=reweigh(output.read_weights) @ output.memory)
        _, aux = module.forward(*args, **options, aux=AuxRequest(weights=True))
        return module.output_projection(reweigh(aux.weights) @ options["memory"].value)

    handle = module.register_forward_hook(hook, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def writing(memory: nn.Module, steps: range, length: int) -> Iterator[None]:
    """Take back what an `ExternalMemory` writes at other steps than these, in a block.

    Args:
        memory: the module.
        steps: numbers of steps, from 0.
        length: steps of each sequence.
    """
    count = 0

    def hook(module: Any, args: tuple[Any, ...], output: Any) -> Any:
        nonlocal count
        step, count = count % length, count + 1
        before = args[1].memory
        return output if step in steps else output._replace(memory=before, read=output.read_weights @ before)

    handle = memory.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def empty_cells(attention: Any, count: int) -> Iterator[None]:
    """Give memories of an `Attention` so many cells in a block; new ones are zeros.

    Sequences of a batch have equal lengths, so their mask is left out.
    """
    remember = attention.remember

    def roomier(key: Tensor, *, mask: Any = None) -> Any:
        return remember(F.pad(key, (0, 0, 0, count - key.shape[-2])))

    attention.remember = roomier
    try:
        yield
    finally:
        del attention.remember


@contextmanager
def beside(retina: nn.Module, pixels: float) -> Iterator[None]:
    """Show patches so many pixels to the right of where they are looked for."""

    def hook(module: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        images, location, *rest = args
        return images, location + location.new_tensor([2 * pixels / images.shape[-1], 0.0]), *rest

    handle = retina.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()
