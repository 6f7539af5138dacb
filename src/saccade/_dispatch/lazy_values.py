"""Lazy values: a function that computes the values of the keys that are read, and of no others.

A hard read needs one value a query, `reads.TopK(k)` needs k. Which keys these are follows from the weights alone, so a
call whose value is a function runs on any backend without values, with the chosen keys among its statistics, and the
function is asked for these, once and each key once:

    Sample, Argmax      aux.index  ─┐
    TopK                aux.top    ─┴─▶ distinct keys ──▶ function(index) ──▶ output
    Soft and what is "straight_through" take all values: the function is asked for every key that may be attended to
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import autocasting, shares, tracing, transforming, valueless, wide
from saccade.auxiliary import AuxOutput
from saccade.backends import reference
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.reads import Soft, TopK, largest
from saccade.scores import Score

__all__ = ["LazyValue", "ValueFunction", "choosing", "filled", "lazy", "planned", "read"]

ValueFunction = Callable[[tuple[Tensor, ...]], Tensor]
"""`function(index)`: the values `(n, Dv)` of the keys `key[index]`, n of them."""


@dataclass(frozen=True, eq=False)
class LazyValue:
    """The values of keys `(*shape, D)`, as a function of which of them are read.

    Args:
        function: `function(index)`, index a tuple of int64 tensors `(n,)`, one for each of `batch` and one of keys.
        batch: leading dimensions of the keys that the function knows.
        k_len: how many keys there are.
        entries: which entry of that batch, counted in one row, each entry of the call's keys is; None: each itself.
    """

    function: ValueFunction
    batch: tuple[int, ...]
    k_len: int
    entries: Tensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """`(..., Lk)` of the call's keys."""
        return (*(self.batch if self.entries is None else self.entries.shape), self.k_len)

    def placeholder(self, like: Tensor, features: int = 0) -> Tensor:
        """Values of the right shape that take no memory and hold nothing."""
        return like.new_zeros(()).expand(*self.shape, features)

    def select(self, batch_index: Tensor) -> "LazyValue":
        """The values of those entries of the first dimension; what several have in common is still computed once."""
        return replace(self, entries=self._entries(batch_index.device).index_select(0, batch_index))

    def truncate(self, n: int) -> "LazyValue":
        """The values of the first n keys."""
        return replace(self, k_len=n)

    def at(self, places: Tensor, like: Tensor) -> Tensor:
        """The values `(n, Dv)` at places `(n,)`, which count all keys of the function in one row.

        Raises:
            ArgumentError, ShapeError: the function returns something else.
        """
        index: list[Tensor] = []
        for size in reversed((*self.batch, self.k_len)):
            index.insert(0, places % size)
            places = places // size
        return checked(self.function(tuple(index)), places.shape[0], like)

    def gather(self, index: Tensor, batch_rank: int, like: Tensor) -> Tensor:
        """The values that are read, `(*batch, ..., Dv)`, zeros where the index is −1.

        Args:
            index: of keys, `(*batch, ...)`, the batch broadcast with that of the keys.
            batch_rank: how many dimensions the batch has.
            like: the query.
        """
        taken = index >= 0
        places = index.clamp(min=0) + self._first(index, batch_rank)
        if (tracing() or transforming() or valueless(index)) and self.k_len:  # shapes may not follow from what is read
            rows = self.at(places.flatten(), like)
            return torch.where(taken[..., None], rows.view(*index.shape, rows.shape[-1]), 0.0)
        distinct, position = places[taken].unique(return_inverse=True)
        rows = self.at(distinct, like)
        where = torch.full_like(index, rows.shape[0]).masked_scatter(taken, position)
        rows = torch.cat([rows, rows.new_zeros(1, rows.shape[-1])])
        return rows.index_select(0, where.flatten()).view(*index.shape, rows.shape[-1])

    def _first(self, index: Tensor, batch_rank: int) -> Tensor:
        """The place of each batch entry's first key, broadcastable to the index."""
        first = self._entries(index.device) * self.k_len
        ahead, behind = (1,) * (batch_rank - first.ndim), (1,) * (index.ndim - batch_rank)
        return first.view(*ahead, *first.shape, *behind)

    def _entries(self, device: torch.device) -> Tensor:
        """Which entry of the function's batch each of the call's is."""
        if self.entries is not None:
            return self.entries
        return torch.arange(math.prod(self.batch), device=device).view(self.batch)


def lazy(value: Any, key: Any) -> LazyValue | None:
    """What was given as value, if it is a function of keys; None of a tensor and of what is neither."""
    if isinstance(value, LazyValue | None):
        return value
    if isinstance(value, Tensor) or not callable(value) or not isinstance(key, Tensor) or key.ndim < 2:
        return None
    if isinstance(value, type):
        raise ArgumentTypeError(f"value: expected a tensor or a function of the index, got the class {value.__name__}")
    return LazyValue(value, tuple(key.shape[:-2]), key.shape[-2])


def choosing(call: Call) -> Call:
    """The call without values that finds out which keys a read takes; its read is one of a few values."""
    if not isinstance(call.read, TopK):
        return replace(call, aux=replace(call.aux, index=True))
    if call.dropout_p > 0:  # which are the largest is decided behind it
        return replace(call, read=Soft(), dropout_p=0.0, aux=replace(call.aux, weights=True))
    return replace(call, read=Soft(), aux=replace(call.aux, top=max(call.read.k, call.aux.top)))


def read(call: Call, values: LazyValue, found: AuxOutput) -> tuple[Tensor, AuxOutput]:
    """Output and statistics of a call, from the statistics of its `choosing` one.

    A key of weight 0 is not among those that TopK reads.
    """
    rank, aux = len(call.batch), call.aux
    if not isinstance(call.read, TopK):
        assert found.index is not None
        return values.gather(found.index, rank, call.query), replace(found, index=found.index if aux.index else None)
    weights, index = _dropped(call, found) if call.dropout_p > 0 else _top(call, found)
    taken = values.gather(index, rank, call.query)
    share = shares(weights)
    output = (share[..., None, :] @ wide(taken))[..., 0, :].to(taken.dtype)
    return output, replace(found, weights=found.weights if aux.weights else None, top=_asked(call, found))


def _top(call: Call, found: AuxOutput) -> tuple[Tensor, Tensor]:
    """The k largest weights and their keys."""
    assert isinstance(call.read, TopK)
    assert found.top is not None
    weights, index = found.top
    return weights[..., : call.read.k], index[..., : call.read.k]


def _dropped(call: Call, found: AuxOutput) -> tuple[Tensor, Tensor]:
    """The k largest weights of those that dropout leaves, and their keys."""
    assert isinstance(call.read, TopK)
    assert found.weights is not None
    weights, allowed = found.weights, None
    if not isinstance(call.score, Score):
        allowed = weights.detach() != 0  # it may have forbidden some
    elif call.mask is not None or call.bias is not None:
        allowed = reference.allowed_keys(call, call.grid()).expand(weights.shape)
    weights, index = largest(reference.dropout(call.with_randomness(), weights), call.read.k, allowed)
    return weights, index.masked_fill(weights.detach() == 0, -1)


def _asked(call: Call, found: AuxOutput) -> tuple[Tensor, Tensor] | None:
    """As many of the largest weights as the call's own request has."""
    if not call.aux.top or found.top is None:
        return None
    values, indices = found.top
    return values[..., : call.aux.top], indices[..., : call.aux.top]


def filled(call: Call, values: LazyValue) -> Call:
    """The call with the values of all keys, for a read that takes all: zeros where nobody may attend."""
    index = torch.arange(values.k_len, device=call.query.device).expand(values.shape)
    if call.mask is not None or call.bias is not None:
        index = index.masked_fill(~reference.shared(reference.participants(call)[0], call.value), -1)
    elif values.entries is None:
        rows = values.at(torch.arange(index.numel(), device=index.device), call.query)
        return replace(call, value=rows.view(*values.shape, rows.shape[-1]))
    return replace(call, value=values.gather(index, len(values.shape) - 1, call.query))


def planned(call: Call, values: LazyValue) -> str:
    """What is done about the values, for `explain`."""
    total = math.prod(values.shape)
    if not call.read.sparse:
        return f"of all {total:,} keys, by one call of the function: {type(call.read).__name__} reads them all"
    count = call.read.k if isinstance(call.read, TopK) else 1
    most = min(total, math.prod(call.batch) * call.query.shape[-2] * count)
    return f"of the keys that are read alone, at most {most:,} of {total:,}, by one call of the function"


def checked(result: Tensor, count: int, like: Tensor) -> Tensor:
    """Raises unless a function returned `(count, Dv)` in the query's dtype, or what autocast makes of it."""
    expected = f"value: expected the function to return floats (n, Dv) with n = {count}, a row for each key asked for"
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
        raise ArgumentError(
            f"{expected}, in query's {like.dtype} on {like.device}, got {result.dtype} on {result.device}"
        )
    return result
