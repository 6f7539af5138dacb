"""What torch's kernels do with a map of blocks, in plain PyTorch: all but the kernels themselves runs on a CPU."""

import functools
import math

import pytest
import torch
from torch._higher_order_ops.flex_attention import math_attention

from saccade.backends import flex
from saccade.backends.flex import function

SIZE = 2
"""Queries and keys a block, so few that a law at a handful of queries sees blocks of every kind, and remainders."""


def listed(counts, indices):
    """Blocks `(B, H, blocks, blocks)` from how many there are in each row, and which."""
    dense = torch.zeros(*indices.shape, dtype=torch.bool)
    first = torch.arange(indices.shape[-1]) < counts[..., None]
    return dense.scatter(-1, indices.long(), first)


def emulated(query, key, value, score, mask, grouped, lse):
    """flex_attention: blocks that are not listed are not looked at, in full ones the mask is not asked."""
    assert grouped == (query.shape[1] != key.shape[1]) or query.shape[1] == key.shape[1]
    shape = (*query.shape[:2], -1, -1)

    def everywhere(b, h, i, j):
        return (b >= 0) & (h >= 0) & (i >= 0) & (j >= 0)

    if mask is None:
        allowed = everywhere
    else:
        assert mask.seq_lengths == (query.shape[-2], key.shape[-2])
        some = listed(mask.kv_num_blocks, mask.kv_indices).expand(shape)
        full = listed(mask.full_kv_num_blocks, mask.full_kv_indices).expand(shape)
        q_size, k_size = mask.BLOCK_SIZE

        def allowed(b, h, i, j):
            place = (b, h, i // q_size, j // k_size)
            return full[place] | (some[place] & mask.mask_mod(b, h, i, j))

    output, found, _ = math_attention(query, key, value, score, (allowed,), 1.0, {})
    return output, found * math.log(2) if lse else output.new_empty(0)


@pytest.fixture
def kernels(monkeypatch):
    """flex_attention emulated, and served wherever its kernels would know the call on CUDA, float64 included."""
    monkeypatch.setattr(function, "kernel", lambda: emulated)
    monkeypatch.setattr(function, "block_mask", functools.partial(function.block_mask, size=SIZE))
    monkeypatch.setattr(flex, "unsupported", flex.unserved)
    return emulated
