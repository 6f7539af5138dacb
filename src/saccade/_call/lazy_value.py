"""Values as a function of the chosen keys."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from saccade._definitions.numerics import autocasting, tracing, transforming, valueless
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError

ValueFunction = Callable[[tuple[Tensor, ...]], Tensor]
"""`function(index)`: the values `(n, Dv)` of the keys `key[index]`, n of them."""


@dataclass(frozen=True, eq=False)
class LazyValue:
    """The values of keys `(*shape, D)` as a function of their indices."""

    function: ValueFunction  # of a tuple of int64 tensors (n,), one for each of `batch` and one of keys
    batch: tuple[int, ...]  # leading dimensions of the function's keys
    k_len: int
    entries: Tensor | None = None  # index, in that batch flattened, of each entry of the call; None: its own index

    @property
    def shape(self) -> tuple[int, ...]:
        """`(..., Lk)` of the call's keys."""
        return (*(self.batch if self.entries is None else self.entries.shape), self.k_len)

    def placeholder(self, like: Tensor, features: int = 0) -> Tensor:
        """Values of the right shape that take no memory and hold nothing."""
        return like.new_zeros(()).expand(*self.shape, features)

    def select(self, batch_index: Tensor) -> "LazyValue":
        """The values of some entries of the first dimension, computed once each."""
        return replace(self, entries=self._entries(batch_index.device).index_select(0, batch_index))

    def at(self, numbers: Tensor, like: Tensor) -> Tensor:
        """The values `(n, Dv)` of keys `(n,)`, counted over the flattened batch and keys."""
        index: list[Tensor] = []
        for size in reversed((*self.batch, self.k_len)):
            index.insert(0, numbers % size)
            numbers = numbers // size
        result, count = self.function(tuple(index)), numbers.shape[0]
        expected = (
            f"value: expected the function to return floats (n, Dv) with n = {count}, a row for each key asked for"
        )
        if not isinstance(result, Tensor):
            raise ArgumentTypeError(f"{expected}, got {type(result).__name__}")
        if result.layout != torch.strided or result.is_nested:
            got = "a nested one" if result.is_nested else f"layout {result.layout}"
            raise ArgumentTypeError(f"{expected}, in a dense tensor, got {got}")
        if result.ndim != 2 or result.shape[0] != count:
            raise ShapeError(f"{expected}, got shape {tuple(result.shape)}")
        if autocasting(like) and result.is_floating_point() and result.dtype != torch.float64:
            result = result.to(torch.get_autocast_dtype(like.device.type))
        if result.dtype != like.dtype or result.device != like.device:
            got = f"{result.dtype} on {result.device}"
            raise ArgumentError(f"{expected}, in query's {like.dtype} on {like.device}, got {got}")
        return result

    def gather(self, index: Tensor, batch_rank: int, like: Tensor) -> Tensor:
        """Values `(*batch, ..., Dv)` at the index `(*batch, ...)`, zeros where it is −1."""
        taken, first = index >= 0, self._entries(index.device) * self.k_len  # number of each entry's first key
        ahead, behind = (1,) * (batch_rank - first.ndim), (1,) * (index.ndim - batch_rank)
        numbers = index.clamp(min=0) + first.view(*ahead, *first.shape, *behind)
        if (tracing() or transforming() or valueless(index)) and self.k_len:  # shapes may not depend on values
            rows = self.at(numbers.flatten(), like)
            return torch.where(taken[..., None], rows.view(*index.shape, rows.shape[-1]), 0.0)
        distinct, position = numbers[taken].unique(return_inverse=True)
        rows = self.at(distinct, like)
        where = torch.full_like(index, rows.shape[0]).masked_scatter(taken, position)
        rows = torch.cat([rows, rows.new_zeros(1, rows.shape[-1])])
        return rows.index_select(0, where.flatten()).view(*index.shape, rows.shape[-1])

    def _entries(self, device: torch.device) -> Tensor:
        """Index in the function's batch of each entry of the call."""
        if self.entries is not None:
            return self.entries
        return torch.arange(math.prod(self.batch), device=device).view(self.batch)


def lazy(value: Any, key: Any) -> LazyValue | None:
    """A `LazyValue` of a function of keys, None of anything else."""
    if isinstance(value, Tensor):
        return None
    if isinstance(value, LazyValue | None):
        return value
    if not callable(value) or not isinstance(key, Tensor) or key.ndim < 2:
        return None
    if isinstance(value, type):
        raise ArgumentTypeError(f"value: expected a tensor or a function of the index, got the class {value.__name__}")
    return LazyValue(value, tuple(key.shape[:-2]), key.shape[-2])
