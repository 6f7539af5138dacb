"""torch's map of the blocks of 128 queries and 128 keys that its kernels look into, from `saccade._call.block_map`."""

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from saccade._call import block_map
from saccade._call.block_map import Blocks
from saccade._definitions.numerics import broadcast_shapes
from saccade.backends.flex.folding import Fold
from saccade.backends.flex.points import permitted
from saccade.masks import Mask

BLOCK = 128
"""Queries and keys a block: what torch's kernels are tuned for."""


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
    """The answers for all blocks `(B or 1, H or 1, query blocks, key blocks)`."""
    found = block_map.mapped(mask.map(lambda tensor, axes: fold.definition(tensor, len(axes))), fold.grid, size)
    shape = broadcast_shapes(found.some.shape, (1, 1, 1, 1))
    return Blocks(found.some.expand(shape), found.all.expand(shape))
