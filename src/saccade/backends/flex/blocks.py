"""Which blocks of 128 queries and 128 keys hold no allowed pair, which hold nothing else, and which hold both.

A mask answers for whole blocks from the first and last position, the smallest and largest entry in each: Kleene's
three-valued logic (Kleene 1952, section 64) with none, all and "some" for unknown. That takes O(Lq · Lk / 128²) steps,
where evaluating the mask at every pair would take O(Lq · Lk). What is said to be none or all is; "some" may be either
in a composition or between unsorted documents, which costs a block that need not have been looked into.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from saccade import masks
from saccade.backends.flex.folding import Fold
from saccade.backends.flex.points import matrix, permitted, reach
from saccade.masks import Mask
from saccade.numerics import wide

BLOCK = 128
"""Queries and keys a block: what torch's kernels are tuned for."""


class Blocks(NamedTuple):
    """For blocks `(B or 1, H or 1, query blocks or 1, key blocks or 1)` whether some pair may be allowed, and whether
    all are.
    """

    some: Tensor
    all: Tensor


class Spans(NamedTuple):
    """The first and last query `(blocks, 1)` and key `(1, blocks)` of each block."""

    fold: Fold
    size: int
    first_query: Tensor
    last_query: Tensor
    first_key: Tensor
    last_key: Tensor


def block_mask(mask: Mask, fold: Fold, size: int = BLOCK) -> BlockMask:
    """The mask as torch's kernels take it."""
    some, full = mapped(mask, fold, size)
    counts, indices = ordered(some & ~full)
    full_counts, full_indices = ordered(full)
    return BlockMask.from_kv_blocks(
        counts,
        indices,
        full_counts,
        full_indices,
        BLOCK_SIZE=size,
        mask_mod=permitted(mask, fold),
        seq_lengths=(fold.grid.q_len, fold.grid.k_len),
    )


def ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many key blocks each query block has `(B, H, blocks)`, and their indices, those first."""
    order = blocks.to(torch.int32).argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(-1, dtype=torch.int32), order.to(torch.int32)


def mapped(mask: Mask, fold: Fold, size: int = BLOCK) -> Blocks:
    """The answers for all blocks; those that end beyond the last query or key are never full."""
    grid = fold.grid
    first_query, last_query = ends(grid.q_len, size, grid.device)
    first_key, last_key = ends(grid.k_len, size, grid.device)
    spans = Spans(fold, size, first_query[:, None], last_query[:, None], first_key, last_key)
    some, full = answered(mask, spans)
    whole = (last_query - first_query == size - 1)[:, None] & (last_key - first_key == size - 1)
    shape = torch.broadcast_shapes(some.shape, full.shape, (1, 1, *whole.shape))
    return Blocks(some.expand(shape), (full & whole).expand(shape))


def ends(length: int, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The first and the last position of each block."""
    first = torch.arange((length + size - 1) // size, device=device) * size
    return first, (first + size - 1).clamp(max=length - 1)


def answered(mask: Mask, spans: Spans) -> Blocks:
    """What a mask says of each block."""
    if isinstance(mask, masks.Not):
        other = answered(mask.other, spans)
        return Blocks(~other.all, ~other.some)
    if isinstance(mask, masks.Both | masks.Either):
        first, second = answered(mask.first, spans), answered(mask.second, spans)
        if isinstance(mask, masks.Both):
            return Blocks(first.some & second.some, first.all & second.all)
        return Blocks(first.some | second.some, first.all | second.all)
    if isinstance(mask, masks.Dense):
        return of_tensor(matrix(mask.allowed), spans)
    if isinstance(mask, masks.Around):
        return of_centers(mask, spans)
    return of_ids(mask, spans) if isinstance(mask, masks.Documents) else of_positions(mask, spans)


def of_positions(mask: Mask, spans: Spans) -> Blocks:
    """Masks that compare positions with numbers."""
    fold = spans.fold
    if isinstance(mask, masks.Lengths | masks.Prefix):
        value = mask.key_lengths if isinstance(mask, masks.Lengths) else mask.length
        length = every(value, fold)
        return Blocks(spans.first_key < length, spans.last_key < length)
    assert isinstance(mask, masks.Causal | masks.Window)
    shift = every(mask.align if isinstance(mask.align, Tensor) else masks.shift(mask.align, fold.grid), fold)
    least, most = spans.first_key - (spans.last_query + shift), spans.last_key - (spans.first_query + shift)
    left, right = (None, 0) if isinstance(mask, masks.Causal) else (mask.left, mask.right)
    some = all_ = torch.ones_like(least, dtype=torch.bool)
    if left is not None:
        some, all_ = some & (most >= -left), all_ & (least >= -left)
    if right is not None:
        some, all_ = some & (least <= right), all_ & (most <= right)
    return Blocks(some, all_)


def every(value: Tensor | int, fold: Fold) -> Tensor:
    """A number, or one a sequence, as `(B or 1, H or 1, 1, 1)`."""
    return fold.definition(value if isinstance(value, Tensor) else fold.whole(value), 0)[..., None, None]


def grouped(tensor: Tensor, dim: int, spans: Spans) -> Tensor:
    """A tensor with its dimension of queries (−2) or keys (−1) in two, blocks and positions.

    The last position fills the last block, which changes neither least nor most.
    """
    if tensor.shape[dim] == 1:
        return tensor.unsqueeze(dim)
    first = spans.first_query[:, 0] if dim == -2 else spans.first_key
    positions = first[:, None] + torch.arange(spans.size, device=tensor.device)
    index = positions.clamp(max=tensor.shape[dim] - 1).flatten()
    chosen = tensor.index_select(dim, index)
    split = dim + tensor.ndim
    return chosen.reshape(*tensor.shape[:split], first.shape[0], spans.size, *tensor.shape[split + 1 :])


def of_centers(mask: masks.Around, spans: Spans) -> Blocks:
    """|j − center| ≤ radius, by the smallest and largest centre; a centre that is NaN allows nothing."""
    center = wide(mask.center) if mask.center.is_floating_point() else mask.center.double()  # integers know no infinity
    centers, radius = spans.fold.definition(center, 1)[..., None], reach(mask)
    missing = centers != centers
    least = grouped(centers.masked_fill(missing, torch.inf), -2, spans).amin(-2)
    most = grouped(centers.masked_fill(missing, -torch.inf), -2, spans).amax(-2)
    known = ~grouped(missing, -2, spans).any(-2)
    some = (spans.last_key - least >= -radius) & (spans.first_key - most <= radius)
    full = (spans.last_key - least <= radius) & (spans.first_key - most >= -radius)
    return Blocks(some, full & known)


def of_ids(mask: masks.Documents, spans: Spans) -> Blocks:
    """Equal ids, by the smallest and largest: exact where documents follow each other."""
    queries = grouped(spans.fold.definition(mask.query_ids, 1)[..., None], -2, spans)
    keys = grouped(spans.fold.definition(mask.key_ids, 1)[..., None, :], -1, spans)
    least, most = queries.amin(-2), queries.amax(-2)
    lowest, highest = keys.amin(-1), keys.amax(-1)
    return Blocks((least <= highest) & (lowest <= most), (least == highest) & (lowest == most))


def of_tensor(allowed: Tensor, spans: Spans) -> Blocks:
    """A tensor, read once."""
    by_keys = grouped(spans.fold.definition(allowed, 2), -1, spans)
    some, full = by_keys.any(-1), by_keys.all(-1)
    return Blocks(grouped(some, -2, spans).any(-2), grouped(full, -2, spans).all(-2))
