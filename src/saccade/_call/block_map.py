"""Blocks of queries and keys: empty of allowed pairs, full of them, or mixed.

A mask answers for whole blocks from the first and last position, the smallest and largest entry in each: Kleene's
three-valued logic (Kleene 1952, pages 332 to 335) with none, all and "some" for unknown. That takes O(Lq · Lk / size²)
steps instead of O(Lq · Lk). None and all are exact. "some" may be either, for example in a composition or between
unsorted documents, and costs an unnecessary block. A function (`masks.Where`) alone is evaluated at every pair, some at
a time, of the blocks that the masks beside it leave open.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from saccade import masks
from saccade._definitions.functions import functions
from saccade._definitions.numerics import broadcast_shapes, wide
from saccade._definitions.structure import Grid
from saccade.masks import Mask
from saccade.masks._intervals import intervals
from saccade.masks.base import Contiguous, between


class Blocks(NamedTuple):
    """Some pair and all pairs allowed, `(..., query blocks or 1, key blocks or 1)`."""

    some: Tensor
    all: Tensor


class Spans(NamedTuple):
    """The first and last query `(blocks, 1)` and key `(blocks,)` of each block."""

    grid: Grid
    size: int
    first_query: Tensor
    last_query: Tensor
    first_key: Tensor
    last_key: Tensor
    asking: bool = True  # whether functions are evaluated; else they may allow anything

    @classmethod
    def of(cls, grid: Grid, size: int, *, asking: bool = True) -> "Spans":
        query, key = (torch.arange(0, length, size, device=grid.device) for length in (grid.q_len, grid.k_len))
        last_query, last_key = (query + size - 1).clamp(max=grid.q_len - 1), (key + size - 1).clamp(max=grid.k_len - 1)
        return cls(grid, size, query[:, None], last_query[:, None], key, last_key, asking)

    def part(self, queries: slice, keys: slice) -> "Spans":
        first, last = self.first_query[queries], self.last_query[queries]
        return Spans(self.grid, self.size, first, last, self.first_key[keys], self.last_key[keys], self.asking)


PAIRS = 1 << 20
"""Pairs of one evaluation of a function."""

COARSE = 16
"""Side of coarse blocks in small ones. Coarse blocks come first if there are many."""


def mapped(mask: Mask, grid: Grid, size: int) -> Blocks:
    """The blocks of an aligned built-in mask. Short last blocks are never full."""
    return part_of(mask, Spans.of(grid, size))


def possible(mask: Mask, grid: Grid, size: int, limit: int = 1 << 20, *, asking: bool = True) -> Tensor:
    """Whether some pair of each block may be allowed, as in `mapped`, from `stripes`."""
    counts = -(-grid.q_len // size), -(-grid.k_len // size)
    some = torch.zeros(counts, dtype=torch.bool, device=grid.device)
    for number, (queries, keys, blocks) in enumerate(stripes(mask, grid, size, limit, asking=asking)):
        if blocks.some.shape[-2:] == counts:
            return blocks.some
        if not number:
            some = some.new_zeros(*blocks.some.shape[:-2], *counts)
        some[..., queries, keys] = blocks.some
    return some


def stripes(
    mask: Mask, grid: Grid, size: int, limit: int = 1 << 20, *, asking: bool = True
) -> Iterator[tuple[slice, slice, Blocks]]:
    """Blocks of queries in turn, the blocks of keys that they reach, and the answers.

    Up to `limit` blocks are one stripe. Otherwise, blocks of 16 times as many queries and keys come first. A stripe
    spans those with a possible pair, from the first to the last, so that a window costs its own pairs. Outside of all
    stripes no pair is allowed. A function is evaluated in the small blocks alone.
    """
    spans = Spans.of(grid, size, asking=asking)
    counts = spans.first_query.shape[0], spans.first_key.shape[0]
    if counts[0] * counts[1] <= limit:
        yield slice(0, counts[0]), slice(0, counts[1]), part_of(mask, spans)
        return
    reached = possible(mask, grid, COARSE * size, limit, asking=False)[None].flatten(0, -3).any(0)
    for row in reached.any(-1).nonzero()[:, 0].tolist():
        columns = reached[row].nonzero()[:, 0]
        queries = slice(COARSE * row, COARSE * (row + 1))
        keys = slice(COARSE * int(columns[0]), COARSE * (int(columns[-1]) + 1))
        yield queries, keys, part_of(mask, spans.part(queries, keys))


def part_of(mask: Mask, spans: Spans) -> Blocks:
    """The answers for some blocks."""
    some, full = answered(mask, spans)
    rows, keys = spans.last_query - spans.first_query, spans.last_key - spans.first_key
    whole = (rows == spans.size - 1) & (keys == spans.size - 1)
    shape = broadcast_shapes(some.shape, full.shape, whole.shape)
    return Blocks(some.expand(shape), (full & whole).expand(shape))


def answered(mask: Mask, spans: Spans, needed: Tensor | None = None) -> Blocks:
    """Answers of a mask for each block. Those outside of `needed` are ignored."""
    if isinstance(mask, masks.Not):
        other = answered(mask.other, spans, needed)
        return Blocks(~other.all, ~other.some)
    if isinstance(mask, masks.Both | masks.Either):
        return of_two(mask, spans, needed)
    if isinstance(mask, masks.Where):
        return of_function(mask, spans, needed)
    if isinstance(mask, masks.Dense):
        allowed = mask.allowed[(None,) * max(2 - mask.allowed.ndim, 0)].view(torch.uint8)
        by_queries = grouped(allowed, -2, spans)  # bytes, and queries first, are 100 times as fast
        limit, least = grouped(by_queries.amax(-2), -1, spans), grouped(by_queries.amin(-2), -1, spans)
        return Blocks(limit.amax(-1).bool(), least.amin(-1).bool())
    if isinstance(mask, masks.Around):
        return of_centers(mask, spans)
    if isinstance(mask, Contiguous):
        if not mask.rises:
            return of_intervals(mask, spans)
        first, last = (mask.interval(spans.grid, queries) for queries in (spans.first_query, spans.last_query))
        some = between(spans.last_key, spans.first_key, (first[0], last[1]))
        return Blocks(some, between(spans.first_key, spans.last_key, (last[0], first[1])))
    assert isinstance(mask, masks.Documents)
    return of_ids(mask, spans)


def of_two(mask: masks.Both | masks.Either, spans: Spans, needed: Tensor | None) -> Blocks:
    """Two masks. A function comes last, and only where the other mask leaves it open."""
    parts = sorted((mask.first, mask.second), key=lambda part: bool(functions(part)))
    both = isinstance(mask, masks.Both)
    first = answered(parts[0], spans, needed)
    undecided = first.some if both else ~first.all
    second = answered(parts[1], spans, undecided if needed is None else undecided & needed)
    if both:
        return Blocks(first.some & second.some, first.all & second.all)
    return Blocks(first.some | second.some, first.all | second.all)


def grouped(tensor: Tensor, dim: int, spans: Spans) -> Tensor:
    """A tensor with its dimension of queries (−2) or keys (−1) split into blocks.

    The last position fills the last block, which changes neither least nor most.
    """
    if tensor.shape[dim] == 1:
        return tensor.unsqueeze(dim)
    index = positions(spans, dim)
    chosen = tensor.index_select(dim, index.flatten())
    split = dim + tensor.ndim
    return chosen.reshape(*tensor.shape[:split], *index.shape, *tensor.shape[split + 1 :])


def positions(spans: Spans, dim: int) -> Tensor:
    """Positions of the queries (−2) or keys (−1) of each block, `(blocks, size)`."""
    first = spans.first_query[:, 0] if dim == -2 else spans.first_key
    length = spans.grid.q_len if dim == -2 else spans.grid.k_len
    return (first[:, None] + torch.arange(spans.size, device=first.device)).clamp(max=length - 1)


def of_centers(mask: masks.Around, spans: Spans) -> Blocks:
    """|j − center| ≤ radius, by the smallest and largest center. NaN allows nothing.

    Distances in integers are compared with the radius in float32, which may be more or less than it is.
    """
    center = wide(mask.center) if mask.center.is_floating_point() else mask.center.double()  # integers know no infinity
    centers, rounded = center[..., None], float(torch.tensor(mask.radius, dtype=torch.float32))
    inner, outer = min(mask.radius, rounded), max(mask.radius, rounded)
    missing = centers != centers
    least = grouped(centers.masked_fill(missing, torch.inf), -2, spans).amin(-2)
    limit = grouped(centers.masked_fill(missing, -torch.inf), -2, spans).amax(-2)
    numeric = ~grouped(missing, -2, spans).any(-2)
    some = (spans.last_key - least >= -outer) & (spans.first_key - limit <= outer)
    full = (spans.last_key - least <= inner) & (spans.first_key - limit >= -inner)
    return Blocks(some, full & numeric)


def of_intervals(mask: Contiguous, spans: Spans) -> Blocks:
    """start ≤ j < end, by counts of queries that reach or fill a block of keys."""
    size, blocks, k_len = spans.size, spans.first_key.shape[0], spans.grid.k_len
    bounds = intervals(mask, spans.grid)
    assert bounds is not None
    start, end = (grouped(bound[..., None], -2, spans)[..., 0] for bound in bounds)
    base = spans.first_key[0] // size if blocks else 0
    touched = covered(start // size - base, torch.where(start < end, -(-end // size), 0) - base, blocks)
    last = torch.where(end == k_len, -(-k_len // size), end // size)  # the last block may be a short one
    filled = covered(-(-start // size) - base, last - base, blocks)
    return Blocks(touched > 0, filled == max(start.shape[-1], end.shape[-1]))


def covered(first: Tensor, end: Tensor, blocks: int) -> Tensor:
    """Counts of the ranges first .. end − 1 `(..., n, size)` that hold each block."""
    first, end = torch.broadcast_tensors(first.clamp(0, blocks), end.clamp(0, blocks))
    change = torch.zeros(*first.shape[:-1], blocks + 1, dtype=torch.int32, device=first.device)
    step = (first < end).int()
    change.scatter_add_(-1, first, step).scatter_add_(-1, end, -step)
    return change.cumsum(-1)[..., :blocks]


def of_function(mask: masks.Where, spans: Spans, needed: Tensor | None) -> Blocks:
    """A function at every pair of the `needed` blocks, `PAIRS` of them at a time."""
    counts, device = (spans.first_query.shape[0], spans.first_key.shape[0]), spans.grid.device
    if not spans.asking:
        some = torch.ones(counts, dtype=torch.bool, device=device)
        return Blocks(some, ~some)
    rows, keys = positions(spans, -2)[:, :, None], positions(spans, -1)[:, None]
    batch = mask.batch(device) if all(counts) else ()
    needed = torch.ones(1, 1, dtype=torch.bool, device=device) if needed is None else needed
    chosen = needed[(None,) * max(3 - needed.ndim, 0)].flatten(0, -3).any(0).expand(counts).nonzero()
    some, full = (torch.zeros(*batch, *counts, dtype=torch.bool, device=device) for _ in range(2))
    together = max(1, PAIRS // (spans.size**2 * max(1, math.prod(batch))))
    for blocks in chosen.split(together) if len(chosen) else ():
        row, column = blocks.unbind(-1)
        allowed = mask.tiled(rows[row], keys[column]).view(torch.uint8)
        some[..., row, column] = allowed.amax((-2, -1)).bool()
        full[..., row, column] = allowed.amin((-2, -1)).bool()
    return Blocks(some, full)


def of_ids(mask: masks.Documents, spans: Spans) -> Blocks:
    """Equal ids, by the smallest and largest: exact where documents follow each other."""
    queries = grouped(mask.query_ids[..., None], -2, spans)
    keys = grouped(mask.key_ids[..., None, :], -1, spans)
    least, limit = queries.amin(-2), queries.amax(-2)
    lowest, highest = keys.amin(-1), keys.amax(-1)
    return Blocks((least <= highest) & (lowest <= limit), (least == highest) & (lowest == limit))
