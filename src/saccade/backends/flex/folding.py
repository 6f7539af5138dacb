"""flex_attention has one batch and one head dimension: any number of ours are folded into the two."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._call.dot_products import sharing
from saccade._definitions.numerics import wide
from saccade._definitions.structure import Grid, aligned

Read = Callable[..., Tensor]


class Fold(NamedTuple):
    """Batch dimensions `batch`: the first `split` become b, the others h, the last `groups` of which share keys.

    `dtype` is that of scores.
    """

    batch: tuple[int, ...]
    split: int
    groups: int
    grid: Grid
    dtype: torch.dtype

    def parts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """From where to where in `batch` what becomes b and h lies."""
        return (0, self.split), (self.split, len(self.batch))

    def definition(self, tensor: Tensor, axes: int) -> Tensor:
        """A tensor of a mask or bias as `(B or 1, H or 1, *axes)`: 1 where it is the same for all, so that nothing is
        copied that need not be.
        """
        rank = len(self.batch)
        tensor = aligned(tensor, ("",) * axes, rank)
        trailing = tensor.shape[rank:]
        for start, end in self.parts():
            if any(size != 1 for size in tensor.shape[start:end]):
                tensor = tensor.expand(*tensor.shape[:start], *self.batch[start:end], *tensor.shape[end:])
        return tensor.reshape(*(math.prod(tensor.shape[start:end]) for start, end in self.parts()), *trailing)

    def rows(self, tensor: Tensor) -> Tensor:
        """The query, or anything of its batch dimensions, as `(B, H, ...)`."""
        first, second = (math.prod(self.batch[start:end]) for start, end in self.parts())
        return tensor.expand(*self.batch, *tensor.shape[-2:]).reshape(first, second, *tensor.shape[-2:])

    def keys(self, tensor: Tensor) -> Tensor:
        """Keys or values as `(B, Hkv, Lk, D)`: heads that share them are not copied."""
        rank = len(self.batch)
        shared = rank - self.groups
        tensor = aligned(tensor, ("k", "d"), rank)
        tensor = tensor.reshape(*tensor.shape[:shared], *tensor.shape[-2:])
        tensor = tensor.expand(*self.batch[:shared], *tensor.shape[-2:])
        first, second = math.prod(self.batch[: self.split]), math.prod(self.batch[self.split : shared])
        return tensor.reshape(first, second, *tensor.shape[-2:])

    def whole(self, value: int) -> Tensor:
        """An integer as a tensor: the kernel is compiled once for all of them, where it would be for each."""
        return torch.full((), value, dtype=torch.int64, device=self.grid.device)

    def real(self, value: float | Tensor) -> Tensor:
        """A number as a tensor in the dtype of scores."""
        if isinstance(value, Tensor):
            return value.to(self.dtype)
        return torch.full((), value, dtype=self.dtype, device=self.grid.device)

    def read(self, tensor: Tensor, *axes: str) -> Read:
        """A function `(b, h, i, j) -> entry` of a tensor with the trailing `axes`, of "q" and "k"; of what has size 1
        there is one entry for all.
        """
        folded = self.definition(tensor, len(axes))
        names = ("b", "h", *axes)
        places = tuple(PLACES[name] for name, size in zip(names, folded.shape, strict=True) if size != 1)
        return entry(folded.reshape([size for size in folded.shape if size != 1]), places)


PLACES = {"b": 0, "h": 1, "q": 2, "k": 3}


def entry(tensor: Tensor, places: tuple[int, ...]) -> Read:
    """A function of `(b, h, i, j)` that reads a tensor at those of them that `places` tells."""

    def read(*point: Tensor) -> Tensor:
        return tensor[tuple(point[place] for place in places)] if places else tensor

    return read


def folding(call: Call) -> Fold:
    """How the call's batch dimensions are folded: groups that share keys become heads, and of two dimensions or more
    before them the last; the kernel is compiled for a number of heads, but for any b.
    """
    batch = call.batch
    groups = sharing(len(batch), call.key, call.value)
    outer = len(batch) - groups
    return Fold(batch, outer - 1 if outer > 1 else outer, groups, call.grid(), wide(call.query).dtype)
