"""Batch dimensions folded into the batch and heads of flex_attention."""

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
    """Batch dimensions: the first `split` of them become b, the others h.

    The last `groups` of h share keys.

    `dtype` is the dtype of scores.
    """

    batch: tuple[int, ...]
    split: int
    groups: int
    grid: Grid
    dtype: torch.dtype

    def parts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """First and last dimension of `batch` that become b, and h."""
        return (0, self.split), (self.split, len(self.batch))

    def definition(self, tensor: Tensor, axes: int) -> Tensor:
        """A tensor of a mask or bias as `(B or 1, H or 1, *axes)`."""
        rank = len(self.batch)
        tensor = aligned(tensor, ("",) * axes, rank)
        trailing = tensor.shape[rank:]
        for start, end in self.parts():
            if any(size != 1 for size in tensor.shape[start:end]):
                tensor = tensor.expand(*tensor.shape[:start], *self.batch[start:end], *tensor.shape[end:])
        return tensor.reshape(*(math.prod(tensor.shape[start:end]) for start, end in self.parts()), *trailing)

    def rows(self, tensor: Tensor) -> Tensor:
        """The query, or another tensor of its batch dimensions, as `(B, H, ...)`."""
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
        """An integer as a tensor, since the kernel would be compiled for each integer."""
        return torch.full((), value, dtype=torch.int64, device=self.grid.device)

    def real(self, value: float | Tensor) -> Tensor:
        """A number as a tensor in the dtype of scores."""
        if isinstance(value, Tensor):
            return value.to(self.dtype)
        return torch.full((), value, dtype=self.dtype, device=self.grid.device)

    def read(self, tensor: Tensor, *axes: str) -> Read:
        """A function `(b, h, i, j) -> entry` of a tensor with axes "q" or "k"."""
        folded = self.definition(tensor, len(axes))
        names = ("b", "h", *axes)
        indices = tuple(INDICES[name] for name, size in zip(names, folded.shape, strict=True) if size != 1)
        return entry(folded.reshape([size for size in folded.shape if size != 1]), indices)


INDICES = {"b": 0, "h": 1, "q": 2, "k": 3}


def entry(tensor: Tensor, indices: tuple[int, ...]) -> Read:
    """A function of `(b, h, i, j)` that indexes a tensor by some of them."""

    def read(*point: Tensor) -> Tensor:
        return tensor[tuple(point[index] for index in indices)] if indices else tensor

    return read


def folding(call: Call) -> Fold:
    """The fold of a call: of several dimensions before groups the last is of heads.

    The kernel is compiled for a number of heads, but for any b.
    """
    batch = call.batch
    groups = sharing(len(batch), call.key, call.value)
    outer = len(batch) - groups
    return Fold(batch, outer - 1 if outer > 1 else outer, groups, call.grid(), wide(call.query).dtype)
