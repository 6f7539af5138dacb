"""Batch dimensions folded into the batch and heads of flex_attention."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._call.dot_products import sharing
from saccade._definitions.numerics import wide
from saccade._definitions.structure import Grid, aligned
from saccade.backends.folding import merged

Read = Callable[..., Tensor]


class Fold(NamedTuple):
    """Batch dimensions: the first `split` of them become b, the others h."""

    batch: tuple[int, ...]
    split: int
    groups: int  # the last of h, which share keys
    grid: Grid
    dtype: torch.dtype  # of scores

    def definition(self, tensor: Tensor, axes: int) -> Tensor:
        """A tensor of a mask or bias as `(B or 1, H or 1, *axes)`."""
        return merged(tensor, self.batch, axes, self.split)

    def rows(self, tensor: Tensor) -> Tensor:
        """The query, or another tensor of its batch dimensions, as `(B, H, ...)`."""
        return self.definition(tensor.expand(*self.batch, *tensor.shape[-2:]), 2)

    def keys(self, tensor: Tensor) -> Tensor:
        """Keys or values as `(B, Hkv, Lk, D)`: heads that share them are not copied."""
        batch, matrix = self.batch[: len(self.batch) - self.groups], tensor.shape[-2:]
        tensor = aligned(tensor, ("k", "d"), len(self.batch))
        return merged(
            tensor.reshape(*tensor.shape[: len(batch)], *matrix).expand(*batch, *matrix), batch, 2, self.split
        )

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
        sides = [INDICES[name] for name, size in zip(("b", "h", *axes), folded.shape, strict=True) if size != 1]
        folded = folded.reshape([size for size in folded.shape if size != 1])

        def entry(*point: Tensor) -> Tensor:
            return folded[tuple(point[side] for side in sides)] if sides else folded

        return entry


INDICES = {"b": 0, "h": 1, "q": 2, "k": 3}  # of the arguments of a function of one query and one key


def folding(call: Call) -> Fold:
    """The fold of a call. The kernel is compiled for a number of heads, but any b."""
    batch = call.batch
    groups = sharing(len(batch), call.key, call.value)
    outer = len(batch) - groups
    return Fold(batch, outer - 1 if outer > 1 else outer, groups, call.grid(), wide(call.query).dtype)
