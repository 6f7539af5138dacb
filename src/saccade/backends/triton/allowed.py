"""A mask for the kernels: intervals of keys, documents, and bytes of pairs."""

import functools
import math

import torch
from torch import Tensor

from saccade._definitions.numerics import broadcast_shapes
from saccade._definitions.structure import Grid
from saccade.backends.triton.blocks import Allowed
from saccade.masks import Both, Documents, Either, Lengths, Mask, Not, Positioned, shift
from saccade.masks._intervals import intervals
from saccade.masks.base import Contiguous

MANY = 4
"""Most intervals of keys for each query. A mask with more is laid out."""

Interval = tuple[Tensor, Tensor]
"""First keys and ends, int64 `(..., Lq or 1)` within 0 .. Lk."""


def allowed_of(mask: Mask, grid: Grid) -> tuple[Allowed, tuple[int, ...]]:
    """An aligned mask for the kernels, and its batch dimensions."""
    low, high, ends, unions, ids, pairs = None, None, [], [], None, None
    for part in conjuncts(mask):
        if isinstance(part, Positioned) and part.is_registered and not isinstance(part.align, Tensor):
            here = int(shift(part.align, grid))
            if part.left is not None:
                low = max(here - part.left, low if low is not None else -(1 << 62))
            if part.right is not None:
                high = min(here + part.right + 1, high if high is not None else 1 << 62)
        elif type(part) is Lengths:
            ends.append(part.key_lengths)
        elif type(part) is Documents and ids is None:
            ids = part.query_ids, part.key_ids
        elif (union := union_of(part, grid)) is not None:
            unions.append(union)
        else:
            dense = part.dense(grid)
            pairs = dense if pairs is None else pairs & dense
    return combined((low, high), ends, unions, ids, pairs, grid)


def of_lengths(lengths: Tensor) -> tuple[Allowed, tuple[int, ...]]:
    """`allowed_of` Lengths alone, the usual mask."""
    return Allowed(lengths.numel(), end=lengths.reshape(-1).contiguous()), lengths.shape


def conjuncts(mask: Mask) -> list[Mask]:
    """Masks that all have to allow a pair."""
    if type(mask) is Both:
        return [*conjuncts(mask.first), *conjuncts(mask.second)]
    return [mask]


def union_of(mask: Mask, grid: Grid) -> list[Interval] | None:
    """The mask as a union of intervals of keys of each query.

    None if there are more than MANY, or if a part of the mask has no intervals.
    """
    if type(mask) is Both or type(mask) is Either:
        first, second = union_of(mask.first, grid), union_of(mask.second, grid)
        if first is None or second is None:
            return None
        both = first + second if type(mask) is Either else crossed(first, second)
    elif type(mask) is Not:
        other, both = union_of(mask.other, grid), [whole(grid)]
        if other is None:
            return None
        for start, end in other:
            both = crossed(
                both, [(torch.zeros_like(start), start), (end.maximum(start), torch.full_like(end, grid.k_len))]
            )
            if len(both) > MANY:
                return None
    elif isinstance(mask, Contiguous) and mask.is_registered:
        bounds = intervals(mask, grid)
        assert bounds is not None
        both = [bounds]
    else:
        return None
    return both if len(both) <= MANY else None


def whole(grid: Grid) -> Interval:
    zero = torch.zeros(1, dtype=torch.int64, device=grid.device)
    return zero, zero + grid.k_len


def crossed(first: list[Interval], second: list[Interval]) -> list[Interval]:
    """The intersections of two unions."""
    return [(a.maximum(c), b.minimum(d)) for a, b in first for c, d in second]


def combined(
    band: tuple[int | None, int | None],
    ends: list[Tensor],
    unions: list[list[Interval]],
    ids: tuple[Tensor, Tensor] | None,
    pairs: Tensor | None,
    grid: Grid,
) -> tuple[Allowed, tuple[int, ...]]:
    """A mask with its batch dimensions folded into one, and those dimensions."""
    union = unions[0] if unions else []
    for other in unions[1:]:
        union = crossed(union, other)
    batches = [bound.shape[:-1] for interval in union for bound in interval]
    batches += [end.shape for end in ends]
    batches += [] if ids is None else [part.shape[:-1] for part in ids]
    batches += [] if pairs is None else [pairs.shape[:-2]]
    batch = tuple(broadcast_shapes(*batches)) if batches else ()

    def entries(tensor: Tensor, *shape: int) -> Tensor:
        return tensor.expand((*batch, *shape)).reshape(math.prod(batch), *shape)

    named: dict[str, Tensor] = {}
    if len(union) == 1 and all(bound.shape[-1] == 1 for bound in union[0]):
        named["first"], end = (bound[..., 0] for bound in union.pop())
        ends = [*ends, end]
    if ends:
        end = functools.reduce(torch.minimum, ends) if len(ends) > 1 else ends[0]
        first = named.get("first")
        named["end"] = entries(end).to(torch.int32).contiguous()
        if first is not None:
            named["first"] = entries(first).to(torch.int32).contiguous()
    if union:
        sides = ([entries(bound, grid.q_len) for bound in side] for side in zip(*union, strict=True))
        named["starts"], named["ends"] = (torch.stack(side).to(torch.int32) for side in sides)
    if ids is not None:
        named["q_ids"], named["k_ids"] = (entries(part, part.shape[-1]).contiguous() for part in ids)
    if pairs is not None:
        named["pairs"] = entries(pairs.view(torch.uint8), grid.q_len, grid.k_len)
    return Allowed(math.prod(batch), **named, low=band[0], high=band[1]), batch
